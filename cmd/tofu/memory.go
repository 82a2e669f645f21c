package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// headroom is the least by which the heap may grow between two collections. Those of a heap that is only just being filled take a
// quarter of a short command's time and free next to nothing. A large heap may double as usual, less the headroom, so that
// one of middle size takes no more memory than it would without all this.
const headroom = 32 << 20

// leastHeap is the heap size at which the runtime collects for the first time at 100 %.
const leastHeap = 4 << 20

// collectLater has garbage collected when the heap has grown by the headroom, or has nearly doubled, unless GOGC says when.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * headroom / leastHeap)
	go useHugePages() // done before much lies in the heap, and after a short command has ended
	afterCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		size := max(live[0].Value.Uint64(), leastHeap)
		growth := max(headroom, size-min(size, headroom))
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
