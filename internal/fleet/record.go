package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"tofu/internal/filelock"
	"tofu/internal/limits"
	"tofu/internal/tfdiags"
)

// Record records which root modules of an archive have been applied. It is a file beside the
// archive. Each run appends lines, so even after a run is killed, the record shows everything that
// it started. A run locks the file until it ends, so that no other one applies the archive meanwhile.
type Record struct {
	mu   sync.Mutex
	file *os.File
	done map[string]step // latest step of each root module
	// begins is called before a root module is changed; nil if the file is enough.
	begins func() error
}

// step is a step in applying a root module.
type step string

const (
	stepStarted step = "started"
	stepDone    step = "done"
	stepFailed  step = "failed"
	stepStale   step = "stale" // not started, because the plan can no longer be applied
)

// recordLine is a line of the file.
type recordLine struct {
	Archive string `json:"archive,omitempty"` // ID of the archive; only in the first line
	Root    string `json:"root,omitempty"`
	Step    step   `json:"step,omitempty"`
}

// RecordPath returns the path of the record of an archive.
func RecordPath(archive string) string { return archive + ".run" }

// NoRecord returns a record without a file. It is for an archive that no other run can apply.
func NoRecord() *Record { return &Record{done: make(map[string]step)} }

// advice says how to go on after a run that could not finish what an earlier one began.
func (rec *Record) advice() string {
	if rec.file == nil {
		return "Make a new plan to continue."
	}
	return "Use -resume again."
}

// Begin creates the record for the first run that applies an archive. It returns an error if an
// earlier run has begun to apply the archive.
func Begin(s *Saved) (*Record, error) {
	rec, err := openRecord(s, os.O_CREATE|os.O_RDWR)
	if err != nil {
		return nil, err
	}
	if len(rec.done) > 0 {
		rec.Close()
		const summary = "The plan was applied before"
		if !rec.resumable(s.Roots) {
			return nil, tfdiags.Errorf(summary, "%s records what an earlier run did. Nothing is left of the plan that "+
				"could still be applied. Make a new plan.", RecordPath(s.path))
		}
		return nil, tfdiags.Errorf(summary, "%s records what an earlier run did. To apply what is left of the plan, "+
			"use -resume=%s.", RecordPath(s.path), s.path)
	}
	return rec, nil
}

// Resume opens the record of an archive, to apply the remaining root modules. It returns an error
// if there is no record.
func Resume(s *Saved) (*Record, error) {
	rec, err := openRecord(s, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, tfdiags.Errorf("Nothing to resume",
			"There is no %s, so the plan has not been applied yet. Apply it without -resume.", RecordPath(s.path))
	}
	return rec, err
}

func openRecord(s *Saved, flag int) (*Record, error) {
	path := RecordPath(s.path)
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return nil, notARecord(path)
	}
	file, err := os.OpenFile(path, flag|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the record of the run: %w", err)
	}
	if errors.Is(filelock.Lock(file), filelock.ErrHeld) { // there may be no locks
		file.Close()
		return nil, tfdiags.Errorf("The plan is being applied",
			"Another run is applying %s. Wait until it ends.", s.path)
	}
	text, err := limits.ReadAll(file, maxRecord, path)
	if begin := bytes.TrimSpace(text); err == nil && len(begin) > 0 && !bytes.HasPrefix(begin, []byte(firstLine)) {
		err = notARecord(path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	rec := &Record{file: file, done: make(map[string]step)}
	id := ""
	for text := range bytes.Lines(text) {
		var line recordLine
		if json.Unmarshal(text, &line) != nil {
			continue // incomplete: the run that wrote it was killed
		}
		if line.Archive != "" {
			id = line.Archive
		} else {
			rec.done[line.Root] = line.Step
		}
	}
	if id != s.ID { // the record belongs to an earlier plan with the same file name
		rec.done = make(map[string]step)
		err = errors.Join(file.Truncate(0), rec.append(recordLine{Archive: s.ID}))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return rec, nil
}

// maxRecord is the maximum size of a record. A root module takes about 100 bytes.
const maxRecord = 64 << 20

// firstLine is the beginning of every record.
const firstLine = `{"archive":`

// notARecord returns the error about a file that would be overwritten.
func notARecord(path string) error {
	return tfdiags.Errorf("No record of a run", "%s is where runs record which root modules they have applied, but it is "+
		"another file or a link. Nothing was changed. Move it away, or give the plan another name.", path)
}

// resumable reports whether any of the plans, which are in the order of their dependencies, may
// still be applied.
func (r *Record) resumable(planned []*Planned) bool {
	stuck := make(map[string]bool)
	for _, p := range planned {
		isStuck := func(name string) bool { return stuck[name] }
		switch {
		case r.done[p.Name] == stepDone || len(p.Waits) > 0:
		case r.done[p.Name] == stepStale || slices.ContainsFunc(p.Needs, isStuck):
			stuck[p.Name] = true
		case p.Changes || p.Records:
			return true
		}
	}
	return false
}

// isStale reports whether an error says that a plan can no longer be applied.
func isStale(err error) bool {
	return slices.ContainsFunc(tfdiags.FromError(err), func(d tfdiags.Diagnostic) bool {
		_, is := d.Extra.(tfdiags.StalePlan)
		return is
	})
}

// stale returns an error for which isStale returns true.
func stale(summary, format string, args ...any) error {
	d := tfdiags.Errorf(summary, format, args...)
	d.Extra = tfdiags.StalePlan{}
	return d
}

// last returns the latest step of a root module, or "" if the root module was not started.
func (r *Record) last(root string) step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[root]
}

// begun reports whether a run has begun to change a root module, and has not finished it.
func (r *Record) begun(root string) bool {
	last := r.last(root)
	return last == stepStarted || last == stepFailed
}

// set records a step of a root module. The step is in the file when set returns.
func (r *Record) set(root string, s step) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s == stepStarted && r.begins != nil {
		if err := r.begins(); err != nil {
			return err
		}
	}
	r.done[root] = s
	return r.append(recordLine{Root: root, Step: s})
}

func (r *Record) append(line recordLine) error {
	if r.file == nil {
		return nil
	}
	text, err := json.Marshal(line)
	if err == nil {
		// a killed run may have left an incomplete line
		_, err = fmt.Fprintf(r.file, "\n%s\n", text)
	}
	if err != nil {
		return fmt.Errorf("writing the record of the run: %w", err)
	}
	return nil
}

// Close closes the file.
func (r *Record) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Unfinished reports whether a run has started to apply a root module.
func (r *Record) Unfinished() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.done) > 0
}
