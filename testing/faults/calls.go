//go:build unix

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// moments lists the two points during a call at which the engine is killed: after the call has
// reached the provider but before it has an effect, and after it has taken effect but before the
// response. The strings are suffixes of the operations in fault rules.
var moments = []string{"", "-done"}

// atEveryCall kills the engine at each provider call in turn. Calls are sequential, so the expected
// state is known exactly: it contains all files, except possibly the file of the current call,
// which must be reported as interrupted.
func (o *options) atEveryCall(report func(string, *tally)) error {
	for _, op := range o.operations() {
		base, err := o.newTrial(o.objects)
		if err != nil {
			return err
		}
		defer os.RemoveAll(base.top)
		if op.before != nil {
			if err := base.must(op.before...); err != nil {
				return err
			}
		}
		saved, err := base.save()
		if err != nil {
			return err
		}
		sum := &tally{}
		for i, name := range base.names() {
			for j, moment := range moments {
				if !o.chosen(2*i + j) {
					continue
				}
				if err := saved.restore(); err != nil {
					return err
				}
				base.killedAt(op, moment, name, sum)
			}
		}
		report("calls of "+op.name, sum)
	}
	return nil
}

// killedAt performs one run and kills the engine at the call for the given file.
func (t *trial) killedAt(op operation, moment, name string, sum *tally) {
	sum.runs++
	deadly := t.with("FILES_RUN="+op.name+moment+":"+name, "FILES_COMMAND=kill -9 $ENGINE_PID; kill -9 $PPID")
	out, err := deadly.command(append(slices.Clip(op.args), "-parallelism=1")...).CombinedOutput()
	if err == nil {
		sum.problem("%s%s %s: the engine was not killed: %s", op.name, moment, name, out[max(0, len(out)-300):])
		return
	}
	known, err := t.known()
	if err != nil {
		sum.problem("%s%s %s: the state cannot be read: %v", op.name, moment, name, err)
		return
	}
	files := t.onDisk()
	sum.existed += len(files)
	for file, f := range files {
		if file != name && known[file] != f.sha256 {
			sum.lost++
		}
	}
	for file := range known {
		if _, ok := files[file]; !ok && file != name {
			sum.ghosts++
		}
	}
	output := t.finish(op, sum)
	if !strings.Contains(output, "Interrupted operations") || !strings.Contains(output, t.address(name)+":") {
		sum.problem("%s%s %s: the next run doesn't report the interrupted operation: %s", op.name, moment, name,
			output[max(0, len(output)-300):])
	}
}

// address returns the address of the resource instance that manages a file.
func (t *trial) address(name string) string {
	if i, ok := strings.CutPrefix(name, "b-a"); ok {
		return fmt.Sprintf("files_file.b[%s]", i)
	}
	return fmt.Sprintf("files_file.a[%s]", strings.TrimPrefix(name, "a"))
}

// saved is a copy of a trial's working directory and files.
type saved struct {
	dirs []string
	old  string
}

// save copies the working directory and the managed files.
func (t *trial) save() (*saved, error) {
	s := &saved{[]string{t.work, t.files}, t.top + "/saved"}
	for _, dir := range s.dirs {
		if err := os.CopyFS(s.old+dir, os.DirFS(dir)); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// restore restores the content of the directories. It doesn't replace the directories themselves,
// because one of them may be a mount point.
func (s *saved) restore() error {
	for _, dir := range s.dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := os.RemoveAll(dir + "/" + e.Name()); err != nil {
				return err
			}
		}
		if err := os.CopyFS(dir, os.DirFS(s.old+dir)); err != nil {
			return err
		}
	}
	return nil
}

// ended checks the result of a run that was not killed. The state must match the files, and a run
// that has failed must have printed an error message.
func (t *trial) ended(what string, out []byte, err error, sum *tally) {
	sum.runs++
	before := *sum
	t.judge(sum, time.Now(), true)
	text := strings.ReplaceAll(string(out), "\n", " ")
	if err != nil && !strings.Contains(text, "Error: ") {
		sum.problem("%s: the run failed without an error message: %s", what, out[max(0, len(out)-300):])
	}
	if sum.lost > before.lost || sum.ghosts > before.ghosts {
		sum.problem("%s: objects were lost: %s", what, out[max(0, len(out)-600):])
	}
	sum.problems = slices.Compact(sum.problems)
}
