//go:build !unix

package plugin

import "os/exec"

// inGroup does nothing: this system has no process groups that can be ended.
func inGroup(*exec.Cmd) {}

func killGroup(*exec.Cmd) {}
