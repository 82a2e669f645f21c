package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// A heap of less than smallHeap is not collected while it is only just being filled: that takes a quarter of a short command's time and
// frees next to nothing. With less than that in use it may grow by the headroom between two collections; a larger one doubles, as is
// usual. Both are in bytes.
const (
	smallHeap = 64 << 20
	headroom  = 32 << 20
)

// leastHeap is the heap size at which the runtime collects for the first time at 100 %.
const leastHeap = 4 << 20

// collectLater sets how much the heap grows between two collections, unless GOGC says that.
func collectLater() {
	runtime.MemProfileRate = 0 // nothing asks for a profile of memory, which takes a megabyte
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * smallHeap / leastHeap)
	go useHugePages() // done before much lies in the heap, and after a short command has ended
	afterCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		size := max(live[0].Value.Uint64(), leastHeap)
		growth := size
		if size < smallHeap {
			growth = max(headroom, smallHeap-size)
		}
		debug.SetGCPercent(int(100 * growth / size))
	})
}

// afterCollection calls f soon after each collection: a finalizer runs then, and makes the next object that has one.
func afterCollection(f func()) {
	type sentinel struct{ _ *byte }
	runtime.SetFinalizer(&sentinel{new(byte)}, func(*sentinel) {
		f()
		afterCollection(f)
	})
}
