// Package version says which version this program is, for everybody who writes it into a file, a request or onto a screen.
//
// Invariants: constants only.
package version

const (
	// String is the version of the language, the file formats and the command line that this program is compatible with. It is
	// what required_version is checked against and what state files and lock information name as their writer.
	String = "1.12.6"

	// Own is the version of the program itself.
	Own = "0.1.0-dev"
)
