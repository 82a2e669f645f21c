//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// peakMemory returns 0, because peak memory is unknown on this system.
func peakMemory(*os.ProcessState) int64 { return 0 }

func killTogether(*exec.Cmd) {}
