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
	"tofu/internal/tfdiags"
)

// FileName is the name of the lock file in the root module's directory.
const FileName = ".terraform.lock.hcl"

const header = `# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.
`

// Bytes returns the content of the lock file.
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

// Save writes the lock file atomically.
func (l *Locks) Save(path string) error { return save(path, l.Bytes()) }

// save replaces a lock file atomically. If the path is a symbolic link to a file of the same name,
// that file is replaced. Any other link is itself replaced, because a repository may contain links
// to files that must not be overwritten.
func save(path string, content []byte) error {
	target, err := atomicfile.Resolve(path)
	if err == nil && target != path {
		if info, gone := os.Stat(target); gone != nil || !info.Mode().IsRegular() ||
			filepath.Base(target) != filepath.Base(path) {
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

// Differs reports whether saving would change the entries of the lock file, constraints included.
// It ignores comments and layout. If the file can't be read, it returns true.
func (l *Locks) Differs(path string) bool {
	old, err := Load(path, tfdiags.Drop) // the caller has already loaded the file and reported its warnings
	if err != nil {
		return true
	}
	if _, err := os.Stat(path); err != nil && !l.Empty() {
		return true
	}
	return !bytes.Equal(old.Bytes(), l.Bytes())
}

// SaveIfChanged saves the locks if the file differs or doesn't exist. It reports whether it did.
func (l *Locks) SaveIfChanged(path string) (bool, error) {
	if _, err := os.Stat(path); err == nil && !l.Differs(path) {
		return false, nil
	}
	return true, l.Save(path)
}
