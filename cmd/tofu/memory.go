package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Sizes of the live heap, in bytes, at which the pace of the garbage collector changes.
const (
	// Below smallHeap nothing is collected while the heap first fills: collecting takes a quarter of a
	// short command's time and frees next to nothing.
	smallHeap = 64 << 20
	// headroom is the least growth between two collections.
	headroom = 32 << 20
	// Above largeHeap the heap grows by half between two collections instead of doubling: memory, not
	// time, limits a run over a million instances.
	largeHeap = 2 << 30
)

// leastHeap is the heap size at which the runtime collects for the first time at 100 %.
const leastHeap = 4 << 20

// growthOf returns how much a heap with size live bytes may grow before the next collection.
func growthOf(size uint64) uint64 {
	switch {
	case size < smallHeap:
		return max(headroom, smallHeap-size)
	case size < largeHeap:
		return size
	default:
		return max(largeHeap, size/2)
	}
}

// collectLater sets how much the heap grows between two collections, unless GOGC does.
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
		debug.SetGCPercent(int(100 * growthOf(size) / size))
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
