//go:build !linux

package plugin

import "os/exec"

// startChild starts a command.
func startChild(cmd *exec.Cmd) error { return cmd.Start() }
