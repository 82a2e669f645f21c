package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// watch waits until a process ends. It doesn't reap the process, which the caller does. It returns
// the cost of the process without its children. It reads the memory use repeatedly, because the
// kernel doesn't report it after the end of the process.
func watch(pid int) own {
	var o own
	ended := make(chan struct{})
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		for {
			o.peak = max(o.peak, ownPeak(pid))
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	var info unix.Siginfo
	for unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	close(ended)
	<-looked
	o.cpu = ownCPU(pid)
	return o
}

// ownPeak returns the maximum resident set size of a running process so far, in bytes.
func ownPeak(pid int) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	if fields := bytes.Fields(rest); len(fields) > 0 {
		kib, _ := strconv.ParseInt(string(fields[0]), 10, 64)
		return kib << 10
	}
	return 0
}

// ownCPU returns the sum of user and system time of a process, without its children. The kernel
// reports it in hundredths of a second.
func ownCPU(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // fields after the name, which may contain anything
	fields := bytes.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(string(fields[11]))
	system, _ := strconv.Atoi(string(fields[12]))
	return time.Duration(user+system) * 10 * time.Millisecond
}
