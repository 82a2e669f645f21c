// Package version holds the version of this program and the OpenTofu version with which it is
// compatible.
package version

const (
	// String is the OpenTofu version with which this program is compatible: its language, file
	// formats and command line. required_version is compared with String, and state files and lock
	// information name String as the version of their writer.
	String = "1.13.0"

	// Own is the version of the program itself.
	Own = "0.1.0-dev"
)
