// Package version says which program this is, and with which version of OpenTofu it is compatible.
package version

import (
	"fmt"
	"runtime/debug"
	"strings"
)

const (
	// String is the OpenTofu version with which this program is compatible: its language, file
	// formats and command line. required_version is compared with String, and state files and lock
	// information name String as the version of their writer.
	String = "1.13.0"

	// Name is the name of the program. It stays the same if the binary is installed under another
	// name.
	Name = "tofu"

	// Own is the version of the program itself. Between releases it is that of the next one, with "-pre".
	Own = "0.2.0-pre"
)

// commit is the commit from which the program was built. The linker sets it with
// -X tofu/internal/version.commit=COMMIT. It ends in "-dirty" if files differed from the commit.
var commit string

// unknown stands for the commit of a program that was built without git.
const unknown = "unknown"

// Info identifies a build of the program. States, plans and JSON documents contain it.
type Info struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Commit  string `json:"commit"` // "unknown" if the program was built without git
}

// Engine identifies this build.
func Engine() Info { return Info{Name: Name, Version: Own, Commit: Commit()} }

// Commit returns the commit from which the program was built, or "unknown".
func Commit() string {
	if commit != "" {
		return commit
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return commitOf(build.Settings)
}

// commitOf returns the commit that "go build" and "go install" record.
func commitOf(settings []debug.BuildSetting) string {
	revision, dirty := unknown, ""
	for _, s := range settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == unknown {
		return unknown
	}
	return revision + dirty
}

// Build names this build in a few words, for people.
func Build() string { return Engine().String() }

// String names a build in a few words, with the first digits of the commit.
func (i Info) String() string {
	digits, dirty := strings.CutSuffix(i.Commit, "-dirty")
	digits = digits[:min(len(digits), 12)]
	if dirty {
		digits += "-dirty"
	}
	return fmt.Sprintf("%s %s (commit %s)", i.Name, i.Version, digits)
}
