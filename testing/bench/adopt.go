package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// adoptConfig only names the provider of the objects that are adopted.
const adoptConfig = `terraform {
  required_providers {
    files = { source = "example.com/tofu/files", version = "1.0.0" }
  }
}
`

// The root module that is split: splitBlocks resources with splitCount objects each. Each resource needs the
// one before it, except for the first one of each of splitParts chains.
const (
	splitParts  = 10
	splitBlocks = 300
	splitCount  = 10
)

// adoptRoots are the root modules that share an account: their names, and the folders that they adopt.
var adoptRoots = [][2]string{{"a", "0"}, {"b", "1"}, {"c", ""}}

// adopting measures the adoption of an account with as many objects as the last size, once by one root module
// and once by three that share it, and the division of a root module. It returns an error unless all objects
// are adopted once, and plans afterwards are empty.
func adopting(o *options, out io.Writer) error {
	n := o.sizes[len(o.sizes)-1]
	fmt.Fprintln(out, "seconds; CPU seconds of the program itself")
	for _, part := range []func(*measured, int) error{(*measured).alone, (*measured).shared, (*measured).split} {
		top, err := os.MkdirTemp("", "adopting")
		if err != nil {
			return err
		}
		defer os.RemoveAll(top)
		b, err := newBench(o, o.bin, top, o.mirror)
		if err != nil {
			return err
		}
		account := filepath.Join(top, "account")
		b.env = append(b.env, "FILES_ROOT="+account)
		for i := range n {
			text := fmt.Sprintf("object %d\n", i)
			if i%10 == 0 {
				text = "the same\n"
			}
			if err := writeFile(text, account, fmt.Sprint(i%3), fmt.Sprintf("f%05d.txt", i)); err != nil {
				return err
			}
		}
		if err := part(&measured{b, out}, n); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(text string, path ...string) error {
	name := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// measured runs commands, and prints their costs.
type measured struct {
	*bench
	out io.Writer
}

// all runs commands, each of which is given as one text.
func (m *measured) all(commands ...string) error {
	for _, command := range commands {
		c, err := m.run(strings.Fields(command)...)
		if err != nil {
			return err
		}
		fmt.Fprintf(m.out, "%8s %8s  %s\n", seconds(c.wall), seconds(c.own.cpu), command)
	}
	return nil
}

// adopted runs adopt, and returns an error unless it imports so many objects and changes none.
func (m *measured) adopted(command string, want int) error {
	if err := m.all(command); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(m.dir, "..", m.log))
	if err != nil {
		return err
	}
	var report struct{ Import, Change int }
	if err := json.Unmarshal(text, &report); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	if report.Import != want || report.Change != 0 {
		return fmt.Errorf("%s imports %d objects and changes %d, want %d and 0", command, report.Import, report.Change, want)
	}
	return nil
}

func (m *measured) alone(n int) error {
	fmt.Fprintf(m.out, "\none root module, %d objects\n", n)
	if err := writeFile(adoptConfig, m.dir, "main.tf"); err != nil {
		return err
	}
	if err := m.all("init"); err != nil {
		return err
	}
	if err := m.adopted("adopt -json files_file", n); err != nil {
		return err
	}
	return m.all("apply -auto-approve", "plan -detailed-exitcode")
}

func (m *measured) shared(n int) error {
	fmt.Fprintf(m.out, "\n%d root modules, %d objects\n", len(adoptRoots), n)
	if err := writeFile("", m.dir, "roots.tofu.hcl"); err != nil {
		return err
	}
	top, rest := m.dir, n
	for _, root := range adoptRoots {
		if err := writeFile(adoptConfig, top, root[0], "main.tf"); err != nil {
			return err
		}
	}
	if err := m.all("roots init"); err != nil {
		return err
	}
	defer func() { m.dir, m.log = top, "log" }()
	for i, root := range adoptRoots {
		m.dir, m.log = filepath.Join(top, root[0]), "../log"
		filter, want := "", rest
		if root[1] != "" {
			filter, want = " -filter=folder="+root[1], (n+len(adoptRoots)-1-i)/len(adoptRoots)
		}
		rest -= want
		if err := m.adopted("adopt -json"+filter+" files_file", want); err != nil {
			return err
		}
		if err := m.all("apply -auto-approve"); err != nil {
			return err
		}
	}
	for _, root := range adoptRoots {
		m.dir = filepath.Join(top, root[0])
		if err := m.adopted("adopt -json files_file", 0); err != nil {
			return err
		}
	}
	m.dir, m.log = top, "log"
	return m.all("roots plan -detailed-exitcode")
}

func (m *measured) split(int) error {
	fmt.Fprintf(m.out, "\na root module with %d objects becomes %d\n", splitBlocks*splitCount, splitParts)
	var b strings.Builder
	for i := range splitBlocks {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  count = %d\n", i, splitCount)
		if i%(splitBlocks/splitParts) > 0 {
			fmt.Fprintf(&b, "  input = terraform_data.r%d[count.index].id\n", i-1)
		}
		b.WriteString("}\n")
	}
	if err := writeFile(b.String(), m.dir, "big", "main.tf"); err != nil {
		return err
	}
	if err := m.all("roots init", "roots apply -auto-approve", fmt.Sprintf("roots split -write -parts=%d big", splitParts),
		"roots move", "roots plan -detailed-exitcode"); err != nil {
		return err
	}
	found, err := filepath.Glob(filepath.Join(m.dir, "*", "terraform.tfstate"))
	if err == nil && len(found) != splitParts {
		err = fmt.Errorf("there are %d root modules after the division, want %d", len(found), splitParts)
	}
	return err
}
