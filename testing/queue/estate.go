//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// member is a root module of a large estate: it calls a module, and most read the outputs of another one.
const member = `terraform {
  backend "postgres" {
    schema_name = "r%05[1]d"
  }
}
module "object" {
  source = "../../modules/object"
  name   = "r%05[1]d"
}
output "id" { value = module.object.id }
`

const reader = `data "terraform_remote_state" "base" {
  backend = "postgres"
  config  = { schema_name = "r%05d" }
}
resource "terraform_data" "reader" {
  input = data.terraform_remote_state.base.outputs.id
}
`

// writeLarge writes an estate of many root modules with a git repository, whose last commit changes some of them.
func (t *trial) writeLarge(n, changed int) error {
	top := filepath.Join(t.dir, "large")
	write := func(name, text string) error {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	err := write("modules/object/main.tf", "variable \"name\" {}\nresource \"terraform_data\" \"object\" {\n  input = var.name\n}\n"+
		"output \"id\" {\n  value = terraform_data.object.id\n}\n")
	for i := 0; i < n && err == nil; i++ {
		text := fmt.Sprintf(member, i)
		if i%10 > 0 {
			text += fmt.Sprintf(reader, i-i%10)
		}
		err = write(fmt.Sprintf("team%03d/r%05d/main.tf", i/100, i), text)
	}
	if err != nil {
		return err
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Dir = top
		if out, gitErr := cmd.CombinedOutput(); gitErr != nil && err == nil {
			err = fmt.Errorf("git %s: %w\n%s", args[0], gitErr, out)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "estate")
	for i := range changed {
		at := i * n / changed / 10 * 10 // one that others read
		name := fmt.Sprintf("team%03d/r%05d/main.tf", at/100, at)
		if err == nil {
			err = write(name, fmt.Sprintf(member, at)+"output \"more\" {\n  value = 1\n}\n")
		}
	}
	git("commit", "-qam", "change")
	return err
}

// large measures plans of one commit in a large estate, without and with what an earlier command has read.
func (t *trial) large(queue string) error {
	began := time.Now()
	if err := t.writeLarge(t.estate, 1); err != nil {
		return err
	}
	fmt.Printf("%d root modules were written in %.1f s\n", t.estate, time.Since(began).Seconds())
	if err := t.start(queue); err != nil {
		return err
	}
	for _, step := range []struct{ name, args string }{
		{"list, nothing known", "roots list -changed=HEAD~1"},
		{"list", "roots list -changed=HEAD~1"},
		{"init", "roots init -changed=HEAD~1"},
		{"plan in one process", "roots plan -changed=HEAD~1"},
		{"plan over a worker", "roots plan -changed=HEAD~1 " + queue},
	} {
		took, cpu, out, err := t.timed(filepath.Join(t.dir, "large"), strings.Fields(step.args)...)
		if err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		fmt.Printf("%s: %.1f s, of which %.1f s on a processor; %q\n", step.name, took.Seconds(), cpu.Seconds(), lines[len(lines)-1])
	}
	return nil
}

// timed runs the program in a directory, and measures it.
func (t *trial) timed(dir string, args ...string) (took, cpu time.Duration, out string, err error) {
	cmd := exec.Command(t.bin, args...)
	cmd.Dir, cmd.Env = dir, t.env
	began := time.Now()
	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args[:2], " "), err, text)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return time.Since(began), cpu, string(text), err
}
