package configs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

func ExampleLoadRoot() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	source := "variable \"size\" {}\nresource \"lab_thing\" \"a\" {\n  size = var.size\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(source), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	warn := func(warnings ...tfdiags.Diagnostic) { fmt.Println(warnings) }
	cfg, err := configs.LoadRoot(context.Background(), dir, nil, warn)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, addr := range cfg.Module.SortedResources() {
		fmt.Println(addr, "of", cfg.Module.Resources[addr].ProviderAddr)
	}
	// Output: lab_thing.a of registry.opentofu.org/hashicorp/lab
}
