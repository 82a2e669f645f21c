//go:build memprof

package main

import (
	"os"
	"runtime"
	"runtime/pprof"
)

func init() {
	runtime.MemProfileRate = 8192
	writeHeap = func() {
		f, _ := os.Create(os.Getenv("MEMPROF"))
		pprof.Lookup("allocs").WriteTo(f, 0)
		f.Close()
	}
}
