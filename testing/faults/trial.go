//go:build unix

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// configuration has two halves, so that some files depend on others. Existing files are
// overwritten: if the engine was killed, it can't know whether the file that it was creating
// exists.
const configuration = `
terraform {
  required_providers {
    files = { source = "example.com/tofu/files" }
  }
}
variable "text" {
  default = "first"
}
resource "files_file" "a" {
  count     = %[1]d
  path      = "a${count.index}"
  content   = var.text
  overwrite = true
}
resource "files_file" "b" {
  count     = %[1]d
  path      = "b-${files_file.a[count.index].id}"
  content   = var.text
  overwrite = true
}
`

// trial runs a program in a separate directory. The managed files are outside of that directory.
type trial struct {
	bin, top, work, files string
	env                   []string
	objects               int
}

// newTrial creates a trial and runs init in it. objects is the number of files in the
// configuration.
func (o *options) newTrial(objects int) (*trial, error) {
	top, err := os.MkdirTemp("", "faults")
	if err != nil {
		return nil, err
	}
	t := &trial{bin: o.bin, top: top, work: filepath.Join(top, "w"), files: filepath.Join(top, "files"),
		objects: objects / 2 * 2}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") && !strings.HasPrefix(v, "TOFU_") && !strings.HasPrefix(v, "FILES_") {
			t.env = append(t.env, v)
		}
	}
	rc := filepath.Join(top, "rc")
	t.env = append(t.env, "TF_CLI_CONFIG_FILE="+rc, "TF_DATA_DIR="+filepath.Join(top, "data"), "TF_IN_AUTOMATION=1",
		"NO_COLOR=1", "HOME="+top,
		"FILES_ROOT="+t.files, "FILES_LOG="+filepath.Join(top, "calls"))
	return t, errors.Join(
		os.Mkdir(t.files, 0o755), os.Mkdir(t.work, 0o755),
		os.WriteFile(filepath.Join(t.work, "main.tf"), fmt.Appendf(nil, configuration, t.objects/2), 0o644),
		os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
			o.mirror), 0o644),
		t.must("init", "-input=false"),
	)
}

// names returns the names of the configured files. Files that others depend on come first.
func (t *trial) names() []string {
	var out []string
	for _, half := range []string{"a%d", "b-a%d"} {
		for i := range t.objects / 2 {
			out = append(out, fmt.Sprintf(half, i))
		}
	}
	return out
}

func (t *trial) command(args ...string) *exec.Cmd {
	cmd := exec.Command(t.bin, args...)
	cmd.Dir, cmd.Env = t.work, t.env
	return cmd
}

// with returns a copy of the trial with additional environment variables.
func (t *trial) with(env ...string) *trial {
	c := *t
	c.env = append(slices.Clip(t.env), env...)
	return &c
}

// must runs a command and returns an error if the command fails.
func (t *trial) must(args ...string) error {
	if out, err := t.command(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, out[max(0, len(out)-300):])
	}
	return nil
}

// operation is an operation during which faults occur.
type operation struct {
	name         string             // name in the provider's log
	before, args []string           // commands that prepare and perform the operation
	left         func(t *trial) int // returns the expected number of files afterwards
}

var (
	create     = []string{"apply", "-auto-approve", "-input=false"}
	update     = []string{"apply", "-auto-approve", "-input=false", "-var", "text=second"}
	remove     = []string{"destroy", "-auto-approve", "-input=false"}
	all        = func(t *trial) int { return t.objects }
	none       = func(*trial) int { return 0 }
	operations = []operation{{"create", nil, create, all}, {"update", create, update, all},
		{"delete", create, remove, none}}
)

// finish repeats the interrupted operation, which must now succeed, and returns its output.
func (t *trial) finish(op operation, sum *tally) string {
	out, err := t.command(op.args...).CombinedOutput()
	if err != nil {
		sum.problem("the next run fails: %v: %s", err, out[max(0, len(out)-300):])
	} else if n := len(t.onDisk()); n != op.left(t) {
		sum.problem("%d files after the next run, want %d", n, op.left(t))
	}
	return strings.ReplaceAll(string(out), "\n", " ")
}

// judge compares the state with the files on disk that were written up to limit. It counts ghosts
// only if ghosts is set.
func (t *trial) judge(sum *tally, limit time.Time, ghosts bool) {
	known, err := t.known()
	if err != nil {
		sum.problem("the state cannot be read: %v", err)
	}
	files := t.onDisk()
	sum.existed += len(files)
	for name, f := range files {
		if !f.written.After(limit) && known[name] != f.sha256 {
			sum.lost++
		}
	}
	for name := range known {
		if _, ok := files[name]; !ok && ghosts {
			sum.ghosts++
		}
	}
}

// known returns the checksums of the files in the state, by file name.
func (t *trial) known() (map[string]string, error) {
	out, err := t.command("show", "-json").Output()
	if err != nil {
		return nil, err
	}
	var doc struct {
		Values struct {
			Root struct {
				Resources []struct {
					Values struct {
						ID     string `json:"id"`
						SHA256 string `json:"sha256"`
					} `json:"values"`
				} `json:"resources"`
			} `json:"root_module"`
		} `json:"values"`
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return nil, err
	}
	known := map[string]string{}
	for _, r := range doc.Values.Root.Resources {
		if r.Values.ID != "" {
			known[r.Values.ID] = r.Values.SHA256
		}
	}
	return known, nil
}

// file describes a file on disk.
type file struct {
	sha256  string
	written time.Time
}

func (t *trial) onDisk() map[string]file {
	files := map[string]file{}
	entries, err := os.ReadDir(t.files)
	if err != nil {
		return files
	}
	for _, e := range entries {
		info, err1 := e.Info()
		data, err2 := os.ReadFile(filepath.Join(t.files, e.Name()))
		if err1 != nil || err2 != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		sum := sha256.Sum256(data)
		files[e.Name()] = file{hex.EncodeToString(sum[:]), info.ModTime()}
	}
	return files
}
