package session

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"

	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/tfdiags"
)

// Workspace returns the name of the selected workspace. The preset and TF_WORKSPACE override the
// selection. An invalid name in TF_WORKSPACE is an error.
func (s *Session) Workspace() (string, error) {
	if name := s.Preset.Workspace; name != "" {
		if !ValidWorkspaceName(name) {
			return "", invalidWorkspace(name, "in "+s.Preset.From)
		}
		return name, nil
	}
	if name := s.Env("TF_WORKSPACE"); name != "" {
		if !ValidWorkspaceName(name) {
			return "", invalidWorkspace(name, "by TF_WORKSPACE")
		}
		return name, nil
	}
	return s.selectedWorkspace()
}

// selectedWorkspace returns the name of the workspace that SelectWorkspace has selected, or of the
// default workspace if none is selected.
func (d *Dirs) selectedWorkspace() (string, error) {
	text, err := atomicfile.Read(filepath.Join(d.DataDir, selectionFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading which workspace is selected: %w", err)
	}
	if name := strings.TrimSpace(string(text)); name != "" {
		return name, nil
	}
	return backend.DefaultWorkspace, nil
}

func invalidWorkspace(name, set string) error {
	return tfdiags.Errorf("Invalid workspace name", "The workspace name %q, set %s, is not allowed: %s.", name, set,
		WorkspaceNameRule)
}

// selectionFile is the file in the data directory that contains the name of the selected workspace.
const selectionFile = "environment"

// SelectWorkspace selects a workspace. Behind a symbolic link, it doesn't replace a file of another
// kind.
func (d *Dirs) SelectWorkspace(name string) error {
	old, _ := atomicfile.Read(filepath.Join(d.DataDir, selectionFile))
	if len(old) > 0 && !ValidWorkspaceName(string(old)) && atomicfile.ThroughLink(d.DataDir) {
		return fmt.Errorf("%s is behind a symbolic link, and its file %q, which would be replaced, doesn't contain the "+
			"name of a workspace: remove the link or move the file away", d.DataDir, selectionFile)
	}
	return d.WriteDataFile(selectionFile, []byte(name), 0o644)
}

const WorkspaceNameRule = "a name must be usable as a part of a URL without escaping, so it must not be empty " +
	"and must not contain characters such as spaces and slashes"

// ValidWorkspaceName reports whether a workspace may have the name. Names become part of paths and
// URLs, so they must not contain characters that need escaping there.
func ValidWorkspaceName(name string) bool { return name != "" && url.PathEscape(name) == name }
