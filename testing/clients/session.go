package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// step is one configuration of a session. The steps follow one another in one directory, and after
// each of them the plan is applied.
type step struct {
	name, config string
	plan         []string // more options of the plan
	fails        bool     // the plan fails, so nothing is applied
}

// The session needs no provider but the one that is part of both programs.
var steps = []step{
	{name: "create", config: `
resource "terraform_data" "a" { input = { text = "x", list = [1, 2] } }
resource "terraform_data" "b" {
  for_each = toset(["k", "l m"])
  input    = each.key
}
module "m" { source = "./m" }
output "o" { value = terraform_data.a.output }
output "s" {
  value     = "hidden"
  sensitive = true
}`},
	{name: "unchanged"},
	{name: "change", config: `
resource "terraform_data" "a" { input = { text = "y", list = [1, 3] } }
resource "terraform_data" "b" {
  for_each         = toset(["k"])
  input            = each.key
  triggers_replace = "now"
}
resource "terraform_data" "moved" { input = "in module" }
moved {
  from = module.m.terraform_data.in
  to   = terraform_data.moved
}
output "o" { value = terraform_data.a.output }`},
	{name: "warning", config: `
resource "terraform_data" "a" { input = { text = "y", list = [1, 3] } }
import {
  to = terraform_data.imported
  id = "imported"
}
resource "terraform_data" "imported" {}
check "c" {
  assert {
    condition     = terraform_data.a.id == ""
    error_message = "not so"
  }
}`},
	{name: "error", fails: true, config: `
resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = terraform.workspace == "never"
      error_message = "never"
    }
  }
}`},
	{name: "invalid", fails: true, config: `resource "terraform_data" "a" { nope = 1 }`},
	{name: "forget", config: `
removed {
  from = terraform_data.a
  lifecycle { destroy = false }
}`},
	{name: "destroy", config: `resource "terraform_data" "a" {}`, plan: []string{"-destroy"}},
}

const child = `resource "terraform_data" "in" { input = "in module" }`

// session is a directory in which one program runs.
type session struct {
	bin, dir string
	env      []string // more variables of the environment
}

// newSession makes a directory in which the program has all the names by which clients look for it.
// The caller removes it.
func newSession(bin string) (*session, error) {
	dir, err := os.MkdirTemp("", "clients")
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"tofu", "terraform", "tofu-bin"} {
		err = errors.Join(err, os.Symlink(bin, filepath.Join(dir, name)))
	}
	return &session{bin: bin, dir: dir}, err
}

// close removes the directory.
func (s *session) close() { os.RemoveAll(s.dir) }

// write writes a file and the directories that it needs.
func (s *session) write(name, text string) error {
	path := filepath.Join(s.dir, name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666))
}

// run runs a command and returns its standard output, even if it fails.
func (s *session) run(name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = s.environment()
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("%s %v: %w: %s", filepath.Base(name), args, err, problem.Bytes())
	}
	return out.Bytes(), nil
}

// environment returns variables with which clients find the program under test, and with which it
// takes no settings from elsewhere.
func (s *session) environment() []string {
	return append(append(os.Environ(), "TF_CLI_CONFIG_FILE="+os.DevNull, "TF_IN_AUTOMATION=1",
		"CHECKPOINT_DISABLE=1", "PATH="+s.dir+string(filepath.ListSeparator)+os.Getenv("PATH")), s.env...)
}

// each initializes the directory, calls visit for each step after its configuration was written, and then applies the plan
// that visit has saved in the file "plan".
func (s *session) each(visit func(step) error) error {
	err := errors.Join(s.write("m/main.tf", child), s.write("main.tf", steps[0].config))
	if err == nil {
		_, err = s.run(s.bin, "init", "-input=false")
	}
	if err != nil {
		return err
	}
	for _, st := range steps {
		if st.config != "" {
			if err := s.write("main.tf", st.config); err != nil {
				return err
			}
		}
		if err := visit(st); err != nil {
			return fmt.Errorf("step %s: %w", st.name, err)
		}
		if st.fails {
			continue
		}
		if _, err := s.run(s.bin, "apply", "-input=false", "plan"); err != nil {
			return fmt.Errorf("step %s: %w", st.name, err)
		}
	}
	return nil
}

// planArgs returns the command line of a plan.
func (st step) planArgs(more ...string) []string {
	return append(append([]string{"plan", "-input=false", "-no-color", "-out=plan"}, st.plan...), more...)
}
