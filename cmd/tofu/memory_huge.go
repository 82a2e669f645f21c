//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"math"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// hugeHeap is the maximum size in bytes of the part of the heap in huge pages. It is enough for
// about forty thousand resources.
const hugeHeap = 1 << 30

// useHugePages requests huge pages for the future growth of the heap. Without them, a large plan
// spends a sixth of its CPU time on getting small pages from the kernel. useHugePages makes the
// runtime reserve a range of addresses, advises the kernel to use huge pages for it, and releases
// the range unused. The kernel remembers the advice. This takes only 2 MB, for the runtime's
// tables.
func useHugePages() {
	var system unix.Sysinfo_t
	if !advisable() || unix.Sysinfo(&system) != nil {
		return
	}
	size := min(hugeHeap, system.Totalram*uint64(system.Unit)/16)
	percent := debug.SetGCPercent(-1)
	_ = unix.Madvise(make([]byte, size), unix.MADV_HUGEPAGE) // if this fails, pages stay small
	debug.SetGCPercent(percent)
	debug.FreeOSMemory()
}

// advisable reports whether requesting huge pages is useful: their size is 2 MB, the kernel uses
// them only on request, and reserving addresses costs nothing.
func advisable() bool {
	if os.Getpagesize() != 4096 {
		return false
	}
	enabled, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !bytes.Contains(enabled, []byte("[madvise]")) {
		return false
	}
	commit, err := os.ReadFile("/proc/sys/vm/overcommit_memory")
	if err != nil || bytes.HasPrefix(commit, []byte("2")) {
		return false
	}
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_AS, &limit) == nil && limit.Cur >= math.MaxInt64
}
