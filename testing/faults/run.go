//go:build unix

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// signals by name. PIPE is not sent: the reader of the output goes away.
var signals = map[string]syscall.Signal{
	"KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP, "PIPE": 0,
}

// configuration has two halves, so that some files wait for others. They are
// overwritten where a killed engine could not know that they are there.
const configuration = `
terraform {
  required_providers {
    files = { source = "example.com/tofu/files" }
  }
}
variable "text" {
  default = "first"
}
provider "files" {
  root = "files"
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

// trial is one program at work in a folder of its own.
type trial struct {
	bin, top, work string
	env            []string
	objects        int
}

func (o *options) newTrial() (*trial, error) {
	top, err := os.MkdirTemp("", "faults")
	if err != nil {
		return nil, err
	}
	t := &trial{bin: o.bin, top: top, work: filepath.Join(top, "w"), objects: o.objects / 2 * 2}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TF_") && !strings.HasPrefix(v, "TOFU_") && !strings.HasPrefix(v, "FILES_") {
			t.env = append(t.env, v)
		}
	}
	rc := filepath.Join(top, "rc")
	t.env = append(t.env, "TF_CLI_CONFIG_FILE="+rc, "TF_IN_AUTOMATION=1", "NO_COLOR=1", "HOME="+top,
		"FILES_DELAY_MS=60", "FILES_LOG="+filepath.Join(top, "calls"))
	return t, errors.Join(
		os.MkdirAll(filepath.Join(t.work, "files"), 0o755),
		os.WriteFile(filepath.Join(t.work, "main.tf"), fmt.Appendf(nil, configuration, t.objects/2), 0o644),
		os.WriteFile(rc, fmt.Appendf(nil, "provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n", o.mirror), 0o644),
	)
}

func (t *trial) command(args ...string) *exec.Cmd {
	cmd := exec.Command(t.bin, args...)
	cmd.Dir, cmd.Env = t.work, t.env
	return cmd
}

// must runs a command that has to succeed.
func (t *trial) must(args ...string) error {
	if out, err := t.command(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", args[0], err, out[max(0, len(out)-300):])
	}
	return nil
}

var apply = []string{"apply", "-auto-approve", "-input=false"}

// once is one run. An error means that the run could not be made at all.
func (o *options) once(op, sig string, sum *tally) error {
	t, err := o.newTrial()
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.top)
	args := apply
	if err := t.must("init", "-input=false"); err != nil {
		return err
	}
	if op != "create" {
		if err := t.must(apply...); err != nil {
			return err
		}
		if args = append(apply[:len(apply):len(apply)], "-var", "text=second"); op == "delete" {
			args = []string{"destroy", "-auto-approve", "-input=false"}
		}
	}
	killed, err := t.interrupt(op, signals[sig], t.calls(op)+1+o.random.IntN(t.objects*3/4), args)
	if err != nil {
		sum.problems = append(sum.problems, err.Error())
	}
	limit := time.Now()
	if sig == "KILL" {
		limit = killed.Add(-100 * time.Millisecond)
	}
	t.judge(sum, limit, sig != "KILL")

	if err := t.must(apply...); err != nil {
		sum.problems = append(sum.problems, "the next apply fails: "+err.Error())
	} else if err := t.must("plan", "-input=false", "-detailed-exitcode"); err != nil {
		sum.problems = append(sum.problems, "something is left to do after the next apply: "+err.Error())
	} else if n := len(t.onDisk()); n != t.objects {
		sum.problems = append(sum.problems, fmt.Sprintf("%d files after the next apply, not %d", n, t.objects))
	}
	return nil
}

// calls counts how often the provider began an operation.
func (t *trial) calls(op string) int {
	log, err := os.ReadFile(filepath.Join(t.top, "calls"))
	if err != nil {
		return 0 // not begun yet
	}
	return bytes.Count(log, []byte("begin "+op+" "))
}

// interrupt runs a command and interrupts it once the provider began that many
// calls. It returns when that was.
func (t *trial) interrupt(op string, sig syscall.Signal, calls int, args []string) (at time.Time, err error) {
	cmd := t.command(args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return at, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return at, err
	}
	go io.Copy(io.Discard, output)
	ended := make(chan struct{})
	go func() {
		_, _ = cmd.Process.Wait() // not cmd.Wait, which would close the pipe: only a PIPE run may
		close(ended)
	}()
	deadline := time.Now().Add(60 * time.Second)
	for running := true; running && t.calls(op) < calls && time.Now().Before(deadline); {
		select {
		case <-ended:
			running = false
		case <-time.After(10 * time.Millisecond):
		}
	}
	at = time.Now()
	if sig == 0 {
		output.Close()
	} else {
		_ = syscall.Kill(cmd.Process.Pid, sig) // it may have ended by itself
	}
	select {
	case <-ended:
	case <-time.After(90 * time.Second):
		err = errors.New("the program did not end in 90 s")
		_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	time.Sleep(400 * time.Millisecond) // plugins that are left finish what they were doing
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	output.Close()
	return at, err
}

// judge compares what the engine knows with what there is.
func (t *trial) judge(sum *tally, limit time.Time, ghosts bool) {
	known, err := t.known()
	if err != nil {
		sum.problems = append(sum.problems, "the state cannot be read: "+err.Error())
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

// known is what the engine says there is: sums by path.
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

// file is what there is under one path.
type file struct {
	sha256  string
	written time.Time
}

func (t *trial) onDisk() map[string]file {
	files := map[string]file{}
	entries, err := os.ReadDir(filepath.Join(t.work, "files"))
	if err != nil {
		return files
	}
	for _, e := range entries {
		info, err1 := e.Info()
		data, err2 := os.ReadFile(filepath.Join(t.work, "files", e.Name()))
		if err1 != nil || err2 != nil || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		sum := sha256.Sum256(data)
		files[e.Name()] = file{hex.EncodeToString(sum[:]), info.ModTime()}
	}
	return files
}
