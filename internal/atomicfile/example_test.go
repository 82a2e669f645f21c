package atomicfile_test

import (
	"fmt"
	"os"
	"path/filepath"

	"tofu/internal/atomicfile"
)

// A directory becomes visible with all of its files at once.
func ExampleTempDir() {
	parent, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(parent)

	tmp, err := atomicfile.TempDir(parent)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(tmp)
	module := filepath.Join(tmp, "module")
	if err := os.Mkdir(module, 0o755); err != nil {
		fmt.Println(err)
		return
	}
	if err := atomicfile.Write(filepath.Join(module, "main.tf"), []byte("locals {}\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	final := filepath.Join(parent, "network")
	if err := os.Rename(module, final); err != nil {
		fmt.Println(err)
		return
	}
	text, err := os.ReadFile(filepath.Join(final, "main.tf"))
	fmt.Print(string(text), err)
	// Output:
	// locals {}
	// <nil>
}
