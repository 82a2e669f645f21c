//go:build !unix

package plugin

import "os/exec"

// inGroup does nothing, because the system has no process groups.
func inGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
