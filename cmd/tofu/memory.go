package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// headroom is how much memory the heap may have above what is usual. The collections of a heap that is only just being filled take a
// quarter of a short command's time and free next to nothing; a large heap hardly notices.
const headroom = 8 << 20

// leastHeap is the heap size at which the runtime collects for the first time at 100 %.
const leastHeap = 4 << 20

// collectLater has garbage collected when the heap is twice what is live and the headroom, unless GOGC says when.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * 2 * headroom / leastHeap)
	afterCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		debug.SetGCPercent(100 + int(2*100*headroom/max(live[0].Value.Uint64(), leastHeap)))
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
