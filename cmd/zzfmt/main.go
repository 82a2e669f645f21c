package main

import (
	"fmt"
	"io"
	"os"

	"tofu/internal/hclfmt"
)

func main() {
	src, _ := io.ReadAll(os.Stdin)
	out, diags := hclfmt.Format(src, "<stdin>")
	if diags.HasErrors() {
		fmt.Fprintln(os.Stderr, diags.Err())
		os.Exit(2)
	}
	os.Stdout.Write(out)
}
