package statemgr

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// A destination is where the state of a workspace is kept. There are two implementations: snapshots
// keeps whole states in a store, and parts keeps the parts of a state in a ledger. Methods that do
// I/O run one at a time.
type destination interface {
	// read returns the state, including the changes that killed runs recorded, and warns about
	// those runs.
	read(ctx context.Context, warn tfdiags.Sink) (*Snapshot, error)
	// create writes an empty state. It returns backend.ErrChanged if a state already exists.
	create(ctx context.Context) (*Snapshot, error)
	// begin starts recording an operation. start is the state that Read returned or that was saved
	// since.
	begin(ctx context.Context, start *states.State, run *Run) (recorder, error)
	// save ends the recording, if there is one, and writes the final state. before is the state
	// that was last read or saved.
	save(ctx context.Context, before, final *states.State) error
	// push replaces the state; see Manager.Push.
	push(ctx context.Context, f *statefile.File, force bool) error
	// abandon ends the recording, if there is one, without saving. The records are kept. The error
	// says that a run of a ledger could not be ended.
	abandon() error
}

// A recorder records the steps of an operation. Once a method has returned, its record survives a
// crash of this process. There are two recorders, one for each destination.
type recorder interface {
	// started records that a provider is about to be called.
	started(op *Operation)
	// ended records that a step has ended, unless stored has already recorded that.
	ended(id ObjectID)
	// stored records the new content of an object.
	stored(o ObjectChange)
	// moved records that an object was deposed or restored. It writes a single record, so a crash
	// neither loses nor duplicates the object.
	moved(o ObjectChange, from addrs.DeposedKey)
}

// stored is the last known content of a destination.
type stored struct {
	exists  bool
	empty   bool // there is only a file without content
	serial  uint64
	lineage string
	version string // version of the program that wrote it
	state   *states.State
	migrate bool   // the state must be written even if nothing changed
	written string // version of the stored data, if the store is a backend.Swapper
	// revision is the revision that was read from a ledger. Changes by this process don't advance
	// it.
	revision uint64
	doubts   []Operation // the steps in doubt that the stored state lists
}

func (s *stored) snapshot() *Snapshot {
	return &Snapshot{State: s.state, Exists: s.exists, Serial: s.serial, Lineage: s.lineage, Version: s.version,
		Revision: s.revision}
}

// file returns the content as a state file.
func (s *stored) file() *statefile.File {
	return &statefile.File{Serial: s.serial, Lineage: s.lineage, State: s.state, InDoubt: encodeSteps(s.doubts)}
}

// has reports whether the content is equal to a state with a sorted list of steps in doubt.
func (s *stored) has(state *states.State, doubts []Operation) bool {
	return sameSteps(doubts, s.doubts) && statefile.Equal(state, s.state) && statefile.SameProviders(state, s.state)
}

// successor returns the content that Push writes for a file, or an error if the push must be
// refused. unchanged reports whether the store already has this content, so that there is nothing
// to write.
func (s *stored) successor(f *statefile.File, force bool) (next *stored, unchanged bool, err error) {
	same := s.exists && statefile.Equal(f.State, s.state) && statefile.SameProviders(f.State, s.state)
	if s.exists && !force && f.Lineage != "" && s.lineage != "" {
		switch {
		case f.Lineage != s.lineage:
			return nil, false, pushRefused("The states have different lineages, %q and %q, so they describe "+
				"different infrastructure. The current state would be lost.", f.Lineage, s.lineage)
		case f.Serial < s.serial:
			return nil, false, pushRefused("The current state has serial %d, which is newer than serial %d of the "+
				"state that would replace it.", s.serial, f.Serial)
		case f.Serial == s.serial && !same:
			return nil, false, pushRefused("The current state has the same serial, %d, but different content.",
				f.Serial)
		}
	}
	after := *s
	if same && f.Serial == s.serial && f.Lineage == s.lineage && !s.migrate {
		return &after, true, nil
	}
	after.exists, after.migrate, after.serial, after.lineage, after.state = true, false, f.Serial, f.Lineage, f.State
	if after.lineage == "" {
		after.lineage = s.lineage
		if s.exists && !force && !same { // plans for the current state must not apply to this one
			after.serial = max(after.serial, s.serial+1)
		}
	}
	return &after, false, nil
}

func pushRefused(format string, args ...any) error {
	format += " To replace it anyway, use -force."
	return tfdiags.Errorf("Cannot replace the state", format, args...)
}

// workspace holds what both destinations share: the options, and the files that belong to the state
// but are not in its store.
type workspace struct {
	store backend.Store
	name  string
	opts  Options
	log   *slog.Logger
	// doubts are the steps of earlier runs that are in doubt.
	doubts doubts
}

// file returns the path of the state if it is a local file.
func (w *workspace) file() (path string, ok bool) {
	filer, ok := w.store.(backend.Filer)
	if !ok {
		return "", false
	}
	return filer.File(w.name), true
}

func (w *workspace) noWorkspaces() error {
	return tfdiags.Errorf("No such workspace", "This backend supports only the workspace \"default\", so there is no "+
		"workspace %q. Select the default one, or unset TF_WORKSPACE if it names another one.", w.name)
}

// journalPath returns the path of the journal.
func (w *workspace) journalPath() string {
	if file, ok := w.file(); ok {
		return file + ".journal"
	}
	// Workspace names may be too long for a file name, or differ only in case.
	id := sha256.Sum256([]byte(w.opts.StoreID + "\x00" + w.name))
	return filepath.Join(w.opts.DataDir, "journal", hex.EncodeToString(id[:16]))
}

// openJournal creates this state's journal.
func (w *workspace) openJournal(fail func(error), first []*entry) (*journal, error) {
	path := w.journalPath()
	if _, beside := w.file(); !beside {
		if err := atomicfile.CheckBelow(w.opts.DataDir, filepath.Dir(path)); err != nil {
			return nil, fmt.Errorf("%w: remove the link", err)
		}
	}
	return openJournal(path, w.opts.Codec, fail, first)
}

// erroredPath returns the path for a state that can't be written to its store. It is always a new
// file, as an existing one may be the only record of another run.
func (w *workspace) erroredPath() string {
	return freeName(func(n int) string {
		if n == 1 {
			return filepath.Join(w.opts.WorkDir, "errored.tfstate")
		}
		return filepath.Join(w.opts.WorkDir, fmt.Sprintf("errored.%d.tfstate", n))
	})
}

// freeName returns the first name that no file has. A name that can't be checked is treated as
// free. Writing the file then fails with an error that says why.
func freeName(name func(n int) string) string {
	for n := 1; ; n++ {
		if _, err := os.Lstat(name(n)); err != nil {
			return name(n)
		}
	}
}

// erroredFiles returns the existing files with names that erroredPath may return.
func (w *workspace) erroredFiles() []string {
	entries, _ := os.ReadDir(cmp.Or(w.opts.WorkDir, ".")) // the files are optional, so errors are ignored
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "errored.") && strings.HasSuffix(e.Name(), ".tfstate") {
			paths = append(paths, filepath.Join(w.opts.WorkDir, e.Name()))
		}
	}
	return paths
}

// warnUnsaved warns about states in the files of erroredPath that are newer than the stored state, or
// that may belong to a workspace without a state. It says nothing if the journal brings the same
// state.
func (w *workspace) warnUnsaved(ctx context.Context, read *Snapshot, present *stored, warn tfdiags.Sink) {
	for _, path := range w.erroredFiles() {
		data, err := atomicfile.Read(path)
		if err != nil {
			warn(tfdiags.Warningf("An unsaved state can't be read", "%s", tfdiags.Sentence(err)))
			continue
		}
		f := w.source(ctx, path, data).file
		switch {
		case f == nil || f.State == nil || statefile.Equal(f.State, read.State):
		case !present.exists:
			warn(tfdiags.Warningf("There is an unsaved state", "The workspace %q has no state, but an earlier run could "+
				"not save one and wrote it to %s (serial %d). If it belongs to this workspace, run \"tofu state push %s\" "+
				"before anything else: its objects would be created again. Otherwise, move the file away.",
				w.name, path, f.Serial, path))
		case f.Lineage == present.lineage && f.Serial > present.serial:
			warn(tfdiags.Warningf("There is an unsaved state", "An earlier run could not save its state and wrote it to %s. "+
				"Its serial, %d, is higher than that of the present state, %d, which may lack objects of that run. Compare "+
				"the two: to use the unsaved one, run \"tofu state push %s\"; otherwise, move the file away.",
				path, f.Serial, present.serial, path))
		}
	}
}

// writeTimeout limits one attempt to write the state, including retries of the driver.
const writeTimeout = 5 * time.Minute

// abortTimeout limits all attempts together after an abort.
const abortTimeout = 10 * time.Second

// retryDelays are the delays between attempts to write to a remote store.
var retryDelays = []time.Duration{time.Second, 3 * time.Second}

// persist calls the function write. After an error, it waits and tries again a few times, unless
// the store is a local file or the error is backend.ErrChanged.
func (w *workspace) persist(ctx context.Context, write func(context.Context) error) error {
	_, isFile := w.file()
	ctx, end := w.withDeadline(ctx)
	defer end()
	for i := 0; ; i++ {
		attempt, cancel := context.WithTimeout(ctx, writeTimeout)
		err := write(attempt)
		cancel()
		if err == nil || isFile || errors.Is(err, backend.ErrChanged) || i == len(retryDelays) {
			return err
		}
		w.log.Warn("could not save the state; trying again", "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryDelays[i]):
		}
	}
}

// withDeadline returns a context that is canceled when abortTimeout has passed after an abort.
func (w *workspace) withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-w.opts.Abort:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(abortTimeout):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// encode encodes a state in the form that the store keeps. enc may be nil.
func (w *workspace) encode(enc *statefile.Encoder, file *statefile.File) ([]byte, error) {
	if enc == nil {
		enc = new(statefile.Encoder)
	}
	_, indent := w.file()
	data, err := enc.Encode(file, &statefile.Options{Indent: indent && w.opts.Codec == nil})
	if err != nil {
		return nil, err
	}
	return w.seal(data, indent)
}

// seal encrypts a state and, if indent is set, indents the result. Without a codec, it returns data
// unchanged.
func (w *workspace) seal(data []byte, indent bool) ([]byte, error) {
	if w.opts.Codec == nil {
		return data, nil
	}
	data, err := w.opts.Codec.Encrypt(data)
	if err != nil {
		return nil, fmt.Errorf("encrypting the state: %w", err)
	}
	if !indent {
		return data, nil
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		return nil, fmt.Errorf("encrypting the state: %w", err)
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), nil
}

// Unsaved is the Extra field of a diagnostic if the state could not be saved to any file. Data is
// the state file, to be printed as a last resort.
type Unsaved struct{ Data []byte }

// emergency saves a state to a local file and returns an error that says so. j is the journal with
// the changes of the run; nil if none exists.
func (w *workspace) emergency(enc *statefile.Encoder, file *statefile.File, j *journal, cause error) error {
	if file.Lineage == "" {
		file.Lineage = uuid.NewString()
	}
	path := w.erroredPath()
	data, err := w.encode(enc, file)
	if err == nil {
		err = atomicfile.WriteSynced(path, data, 0o600)
	}
	intact := j != nil && j.complete()
	d := tfdiags.Errorf("Failed to save the state", "%s.", strings.TrimSuffix(cause.Error(), "."))
	if err == nil {
		d.Detail += fmt.Sprintf("\n\nThe state was written to %s instead. After solving the problem, run\n\n    "+
			"tofu state push %s", path, path)
		switch {
		case errors.Is(cause, backend.ErrChanged):
			d.Detail += "\n\nCompare the two states first: each may have objects that the other lacks."
			if intact {
				d.Detail += fmt.Sprintf(" The changes of this run are also in the journal, %s.", j.path)
			}
		case intact:
			d.Detail += fmt.Sprintf("\n\nor any other command: the changes of this run are also in the journal, %s, "+
				"and the next command reads them from it.", j.path)
		}
		return d
	}
	d.Detail += fmt.Sprintf("\n\nWriting it to %s failed too: %s.", path, err)
	if intact {
		d.Detail += fmt.Sprintf(" Nothing is lost: the changes of this run are in the journal, %s. Keep that file. "+
			"After you have solved the problem, the next command in this directory reads them from it.", j.path)
	} else if data != nil {
		d.Detail += " Keep the text of the state below: it is the only record of the changes of this run."
		d.Extra = Unsaved{Data: data}
	}
	return d
}

func loadFailed(err error) error {
	d := tfdiags.Errorf("Failed to load state", "%s", tfdiags.Sentence(err))
	if errors.As(err, new(statefile.DamagedError)) {
		d.Detail += " To list its readable parts, run \"tofu state repair\"."
	}
	return d
}
