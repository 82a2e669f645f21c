package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Sizes of the live heap, in bytes, which determine how often garbage is collected.
const (
	// smallHeap is the heap size at the first collection. In short commands, earlier collections
	// would take a quarter of the time and free almost no memory.
	smallHeap = 64 << 20
	// headroom is the minimum growth of the heap between two collections.
	headroom = 32 << 20
	// largeHeap is the size up to which the heap may double between two collections. Above it, the
	// allowed growth is steadyGrowth, and then a quarter of the heap. Runs with a million instances are
	// limited by memory rather than time.
	largeHeap    = 1 << 30
	steadyGrowth = 1 << 29
)

// shortCommand is the run time after which huge pages are requested. The request takes two
// megabytes, which shorter commands save.
const shortCommand = 20 * time.Millisecond

// leastHeap is the heap size at which the Go runtime first collects garbage with GOGC=100.
const leastHeap = 4 << 20

// growthOf returns the number of bytes by which a heap may grow before the next collection. size is
// its number of live bytes.
func growthOf(size uint64) uint64 {
	switch {
	case size < smallHeap:
		return max(headroom, smallHeap-size)
	case size < largeHeap:
		return size
	default:
		return max(steadyGrowth, size/4)
	}
}

// collectLater makes garbage collections less frequent, unless GOGC is set.
func collectLater() {
	runtime.MemProfileRate = 0 // memory profiles are not used, and would take a megabyte
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * smallHeap / leastHeap)
	time.AfterFunc(shortCommand, useHugePages) // the heap is still small then
	afterCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		size := max(live[0].Value.Uint64(), leastHeap)
		debug.SetGCPercent(int(100 * growthOf(size) / size))
	})
}

// afterCollection calls f after each garbage collection. It uses the finalizer of an object that is
// never reachable. The finalizer creates the next such object.
func afterCollection(f func()) {
	type sentinel struct{ _ *byte }
	runtime.SetFinalizer(&sentinel{new(byte)}, func(*sentinel) {
		f()
		afterCollection(f)
	})
}
