package command

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/backend"
)

// workspace gives the name of the selected workspace; TF_WORKSPACE, which overrides the selection, is checked.
func (a *App) workspace() (string, error) {
	if name := a.Env("TF_WORKSPACE"); name != "" {
		if !validWorkspaceName(name) {
			return "", fmt.Errorf("the workspace name %q, set by TF_WORKSPACE, is not allowed: %s", name, workspaceNameRule)
		}
		return name, nil
	}
	text, err := os.ReadFile(a.environmentPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("reading which workspace is selected: %w", err)
	}
	if name := strings.TrimSpace(string(text)); name != "" {
		return name, nil
	}
	return backend.DefaultWorkspace, nil
}

func (a *App) environmentPath() string { return filepath.Join(a.DataDir, "environment") }

// selectWorkspace makes a workspace the selected one.
func (a *App) selectWorkspace(name string) error {
	return a.writeDataFile("environment", []byte(name), 0o644)
}

const workspaceNameRule = "a name must be usable as a part of a URL without escaping, so it may not have spaces or slashes"

func validWorkspaceName(name string) bool { return name != "" && url.PathEscape(name) == name }
