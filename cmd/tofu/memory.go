package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Sizes of the live heap, in bytes, at which the pace of garbage collection changes.
const (
	// smallHeap is the size of the first collection. In a short command collections would take a
	// quarter of the time and free next to nothing.
	smallHeap = 64 << 20
	// headroom is the minimum growth between two collections.
	headroom = 32 << 20
	// Above largeHeap the heap grows by a constant and then by a third between two collections
	// instead of doubling: a run over a million instances is limited by memory, not by time.
	largeHeap = 3 << 29
)

// shortCommand is the longest duration of a command without huge pages. Requesting them takes two
// megabytes.
const shortCommand = 20 * time.Millisecond

// leastHeap is the heap size of the runtime's first collection at 100 percent.
const leastHeap = 4 << 20

// growthOf returns how much a heap with size live bytes may grow before the next collection.
func growthOf(size uint64) uint64 {
	switch {
	case size < smallHeap:
		return max(headroom, smallHeap-size)
	case size < largeHeap:
		return size
	default:
		return max(largeHeap, size/3)
	}
}

// collectLater sets the growth of the heap between two collections, unless GOGC is set.
func collectLater() {
	runtime.MemProfileRate = 0 // memory profiles are not used and would take a megabyte
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(100 * smallHeap / leastHeap)
	time.AfterFunc(shortCommand, useHugePages) // completes before the heap is large
	afterCollection(func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		size := max(live[0].Value.Uint64(), leastHeap)
		debug.SetGCPercent(int(100 * growthOf(size) / size))
	})
}

// afterCollection calls f after each collection, from the finalizer of an object that becomes
// unreachable immediately. The finalizer creates the next such object.
func afterCollection(f func()) {
	type sentinel struct{ _ *byte }
	runtime.SetFinalizer(&sentinel{new(byte)}, func(*sentinel) {
		f()
		afterCollection(f)
	})
}
