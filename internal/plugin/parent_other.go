//go:build !linux

package plugin

import "os/exec"

// startChild starts a command. This system requires no particular thread for it.
func startChild(cmd *exec.Cmd) error { return cmd.Start() }
