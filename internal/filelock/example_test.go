package filelock_test

import (
	"fmt"
	"os"
	"path/filepath"

	"tofu/internal/filelock"
)

func Example() {
	dir, _ := os.MkdirTemp("", "filelock")
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "lock")
	first, _ := os.Create(path)
	fmt.Println(filelock.Lock(first))
	second, _ := os.Open(path)
	defer second.Close()
	fmt.Println(filelock.LockShared(second))
	first.Close() // releases the lock
	fmt.Println(filelock.LockShared(second))
	// Output:
	// <nil>
	// locked by another process
	// <nil>
}
