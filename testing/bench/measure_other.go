//go:build !unix

package main

import (
	"os"
	"os/exec"
)

// peakMemory returns 0: on this system, peak memory is unknown.
func peakMemory(*os.ProcessState) int64 { return 0 }

func killTogether(*exec.Cmd) {}
