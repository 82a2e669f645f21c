package depsfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
)

// FileName is the lock file's name in the root module's folder.
const FileName = ".terraform.lock.hcl"

const header = `# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.
`

// Bytes is the lock file's content.
func (l *Locks) Bytes() []byte {
	var out strings.Builder
	out.WriteString(header)
	for _, p := range l.Providers() {
		lock, _ := l.Provider(p)
		writeProvider(&out, p, lock)
	}
	return []byte(out.String())
}

func writeProvider(out *strings.Builder, p addrs.Provider, lock Lock) {
	fmt.Fprintf(out, "\nprovider %s {\n", quoted(p.String()))
	if c := ConstraintsString(lock.Constraints); c != "" {
		fmt.Fprintf(out, "  version     = %q\n  constraints = %q\n", lock.Version.String(), c)
	} else {
		fmt.Fprintf(out, "  version = %q\n", lock.Version.String())
	}
	if hashes := Union(lock.Hashes); len(hashes) > 0 {
		out.WriteString("  hashes = [\n")
		for _, h := range hashes {
			fmt.Fprintf(out, "    %s,\n", quoted(string(h)))
		}
		out.WriteString("  ]\n")
	}
	out.WriteString("}\n")
}

func quoted(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

// Save writes the lock file, so that a reader sees the old one or the new one.
func (l *Locks) Save(path string) error { return save(path, l.Bytes()) }

// save replaces a lock file. A symbolic link to another lock file, one of the same name, is followed; any other is replaced, for
// a repository can hold links to files that nobody wants to see overwritten.
func save(path string, content []byte) error {
	target, err := atomicfile.Resolve(path)
	if err == nil && target != path {
		if info, gone := os.Stat(target); gone != nil || !info.Mode().IsRegular() || filepath.Base(target) != filepath.Base(path) {
			err = atomicfile.RemoveLink(path)
		}
	}
	if err == nil {
		err = atomicfile.Rewrite(path, content)
	}
	if err != nil {
		return fmt.Errorf("writing the lock file: %w", err)
	}
	return nil
}

// Differs tells whether a lock file would change: in its entries, constraints included. Comments and layout are its own.
func (l *Locks) Differs(path string) bool {
	old, diags := Load(path)
	if diags.HasErrors() {
		return true
	}
	if _, err := os.Stat(path); err != nil && !l.Empty() {
		return true
	}
	return !bytes.Equal(old.Bytes(), l.Bytes())
}

// SaveIfChanged is Save for a file that differs or isn't there yet.
func (l *Locks) SaveIfChanged(path string) (bool, error) {
	if _, err := os.Stat(path); err == nil && !l.Differs(path) {
		return false, nil
	}
	return true, l.Save(path)
}
