//go:build !unix

package pgtest

import "os/exec"

// AsOrdinaryUser does nothing on this system.
func AsOrdinaryUser(*exec.Cmd, string) error { return nil }
