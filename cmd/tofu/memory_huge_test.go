//go:build linux && (amd64 || arm64)

package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"
)

// TestHugePages checks that memory allocated after useHugePages is in a range for which the kernel
// uses huge pages.
func TestHugePages(t *testing.T) {
	if !advisable() {
		t.Skip("huge pages make no difference on this machine, or might do harm")
	}
	useHugePages()
	kept := make([]byte, 16<<20) // the start of the slice may be in free memory below the range
	at := uintptr(unsafe.Pointer(&kept[len(kept)/2]))

	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer smaps.Close()
	inside := false
	for lines := bufio.NewScanner(smaps); lines.Scan(); {
		line := lines.Text()
		var from, to uintptr
		if _, err := fmt.Sscanf(line, "%x-%x ", &from, &to); err == nil {
			inside = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			if !strings.Contains(flags+" ", " hg ") {
				t.Errorf("the flags of the range are%s", flags)
			}
			return
		}
	}
	t.Errorf("the heap at %#x lies nowhere", at)
}
