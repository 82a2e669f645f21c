// Command reference writes what packages contain besides the program: manual pages and completion
// scripts.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"tofu/internal/command"
	"tofu/internal/version"
)

func main() {
	to := flag.String("to", "build/reference", "write into this `directory`: manual pages into man, and a completion "+
		"script for each shell into completion")
	flag.Parse()
	if err := write(*to); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if err := command.WriteManual(filepath.Join(dir, "man")); err != nil {
		return err
	}
	scripts := filepath.Join(dir, "completion")
	if err := os.MkdirAll(scripts, 0o755); err != nil {
		return err
	}
	for shell, text := range command.CompletionScripts(version.Name) {
		if err := os.WriteFile(filepath.Join(scripts, shell), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
