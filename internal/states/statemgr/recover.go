package statemgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// A recovery is the result of replaying the journal of a killed run.
type recovery struct {
	path        string
	header      header
	state       *states.State // the snapshot after replaying the journal
	serial      uint64        // the serial for writing state
	changed     int           // number of objects in the journal that differ from the snapshot
	interrupted []Operation
	// settled has the objects that the run created, and those whose earlier steps are no longer in
	// doubt at their addresses.
	settled []ObjectID
	damaged int
	// diverged reports that another run has written the state since the killed run. The journal's
	// changes can't be replayed over that state.
	diverged bool
	missing  bool // the run had a state, which no longer exists; diverged is set, too
}

// recover reads the journal of a killed run. It returns nil if there is no journal, or if its run
// is still in progress.
func (s *snapshots) recover(ctx context.Context, present *stored, warn tfdiags.Sink) (*recovery, error) {
	path := s.journalPath()
	if err := atomicfile.CheckRegular(path); err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && info.Size() == 0:
		warn(tfdiags.Warningf("The journal is empty", "%s has no content. A journal has entries from its beginning, so "+
			"something has emptied it: objects that a killed run has created may be missing from the state. Look for "+
			"them, and restore the journal or delete it. The next command that changes objects renames it.", path))
		return nil, nil
	}
	if live, err := inUse(path, s.opts.Codec); live || err != nil {
		return nil, err
	}
	entries, damaged, err := readJournal(ctx, path, s.opts.Codec)
	if errors.Is(err, fs.ErrNotExist) { // the run ended in the meantime
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the journal: %w", err)
	}
	if len(entries) == 0 || entries[0].Kind != beginEntry ||
		entries[0].Header == nil || entries[0].Header.Journal != journalVersion {
		return nil, fmt.Errorf("%s is not a journal that this version can read; it may be encrypted, or "+
			"written by a newer version. It records the changes of an interrupted run. Run the command with the "+
			"version and the encryption settings of that run, or delete the file if the changes don't matter", path)
	}
	rec := &recovery{path: path, header: *entries[0].Header, damaged: damaged}
	if err := rec.replay(entries, present); err != nil {
		return nil, err
	}
	rec.diverged = (rec.changed > 0 || len(rec.interrupted) > 0) && !belongs(entries, present)
	rec.missing = rec.diverged && !present.exists
	return rec, nil
}

// belongs reports whether the snapshot in the store is the one that the run started from or one
// that it wrote.
func belongs(entries []*entry, present *stored) bool {
	begin := entries[0]
	if !present.exists {
		return !begin.Header.Exists
	}
	if present.lineage != begin.Header.Lineage {
		return false
	}
	return slices.ContainsFunc(entries, func(e *entry) bool {
		return (e.Kind == snapshotEntry || e.Kind == beginEntry && begin.Header.Exists) && e.Serial == present.serial
	})
}

// replay applies the entries to the snapshot and collects the interrupted steps.
func (rec *recovery) replay(entries []*entry, present *stored) error {
	rec.state, rec.serial = present.state.Clone(), present.serial+1
	final := make(map[ObjectID]*entry)
	// A step is below one that started later for the same object: an earlier creation stays in doubt
	// until one succeeds.
	running := make(map[ObjectID][]*Operation)
	for _, e := range entries {
		switch e.Kind {
		case startEntry:
			op, err := e.operation()
			if err != nil {
				return fmt.Errorf("reading the journal: %s: %w", e.Addr, err)
			}
			running[op.id()] = append(running[op.id()], op)
		case storeEntry, endEntry:
			addr, err := e.instance()
			if err != nil {
				return fmt.Errorf("reading the journal: %s: %w", e.Addr, err)
			}
			id := ObjectID{addr, e.Deposed}
			rec.end(running, id, e)
			if e.Kind == storeEntry {
				final[id] = e
			}
			if e.From != nil {
				final[ObjectID{addr, *e.From}] = &entry{
					Kind:    storeEntry,
					Addr:    e.Addr,
					Deposed: *e.From,
					Object:  json.RawMessage("null"),
				}
			}
		}
	}
	for id, e := range final {
		_, obj, provider, err := e.object()
		if err != nil {
			return fmt.Errorf("reading the journal: %s: %w", e.Addr, err)
		}
		if !statefile.SameObject(find(rec.state, id), obj) {
			rec.changed++
		}
		set(rec.state, id, obj, provider)
	}
	rec.state.Prune()
	for _, ops := range running {
		if len(ops) > 0 {
			rec.interrupted = append(rec.interrupted, *ops[len(ops)-1])
		}
	}
	slices.SortFunc(rec.interrupted, compareSteps)
	return nil
}

// end removes the step of an object that an entry ends. An end entry without such a step says that an
// earlier step of the object is no longer in doubt.
func (rec *recovery) end(running map[ObjectID][]*Operation, id ObjectID, e *entry) {
	ops := running[id]
	switch {
	case len(ops) == 0:
		if e.Kind == endEntry {
			rec.settled = append(rec.settled, id)
		}
		return
	case e.From != nil || e.Kind == storeEntry && (string(e.Object) == "null") != ops[len(ops)-1].deletes():
		return
	}
	last := len(ops) - 1
	if e.Kind == storeEntry && ops[last].Action == plans.Create {
		rec.settled = append(rec.settled, id)
		last = 0
	}
	running[id] = ops[:last]
}

// set sets an object. Removing an object keeps the provider of the instance's other objects.
func set(s *states.State, id ObjectID, obj *states.Object, provider addrs.ProviderInstance) {
	if obj == nil {
		if s.Instance(id.Addr) == nil {
			return
		}
		provider = providerOf(s, id.Addr)
	}
	s.SetObject(id.Addr, id.Deposed, obj, provider)
}

func find(s *states.State, id ObjectID) *states.Object { return s.Object(id.Addr, id.Deposed) }

// report describes the recovery to the user.
func (rec *recovery) report(warn tfdiags.Sink) {
	run := fmt.Sprintf("A run of %s (process %d) was interrupted", rec.header.Who, rec.header.PID)
	if rec.missing {
		warn(tfdiags.Warningf("The state is missing",
			"%s. Its journal, %s, shows that there was a state, which no longer exists: everything in the configuration "+
				"would be created again. %s", run, rec.path, rec.wayOut()))
	} else if rec.diverged {
		warn(tfdiags.Warningf("An interrupted run can't be recovered",
			"%s. Its journal, %s, has changes to %s "+
				"that the state does not have. The journal was not applied, because another run has written "+
				"the state since. "+
				"Compare the two: objects that the interrupted run created may be missing from the state. The "+
				"next command "+
				"that writes the state renames the journal.", run, rec.path, objects(rec.changed)))
	} else if rec.changed > 0 {
		warn(tfdiags.Warningf("Recovered an interrupted run",
			"%s. Its changes to %s were read from its "+
				"journal, %s. The next command that writes the state saves them and removes the journal.",
			run, objects(rec.changed), rec.path))
	}
	if rec.damaged > 0 {
		warn(tfdiags.Warningf("Damaged journal",
			"%s, and some entries of its journal, %s, can't be read (%d). Objects that the run changed may be missing "+
				"from the state or out of date.", run, rec.path, rec.damaged))
	}
	reportSteps(warn, run+" during these operations", rec.interrupted)
}

// wayOut says what to do if the state is missing.
func (rec *recovery) wayOut() string {
	return fmt.Sprintf("Restore the state, or replace it with a copy, such as errored.tfstate, by \"tofu state push\". "+
		"To start without a state, move %s away.", rec.path)
}

// checkMissing returns an error if a killed run had a state, which no longer exists. A new state
// would hide that its objects are lost.
func (s *snapshots) checkMissing() error {
	if rec := s.killed; rec != nil && rec.missing {
		return tfdiags.Errorf("The state is missing", "The journal of an interrupted run, %s, shows that there was a "+
			"state, which no longer exists. Nothing was changed. %s", rec.path, rec.wayOut())
	}
	return nil
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// describe returns a line about an interrupted operation, with its known planned values. Sensitive
// values are hidden.
func (op *Operation) describe() string {
	text := op.Addr.String()
	switch {
	case op.From != "":
		text += " (" + op.From + ")"
	case op.Deposed != addrs.NotDeposed:
		text += " (deposed object " + string(op.Deposed) + ")"
	}
	text += ": " + op.Action.String()
	if !op.Started.IsZero() {
		text += ", started " + op.Started.Format(time.RFC3339)
	}
	if values := op.values(); values != nil {
		text += ", planned " + marshal(values)
	}
	return text
}

// values returns the known planned values as JSON. Sensitive values are hidden.
func (op *Operation) values() map[string]json.RawMessage {
	planned, _ := op.Planned.Unmark()
	if planned.IsNull() || !planned.IsKnown() || !planned.Type().IsObjectType() {
		return nil
	}
	var shown map[string]json.RawMessage
	show := func(name string, text json.RawMessage) {
		if shown == nil {
			shown = make(map[string]json.RawMessage)
		}
		shown[name] = text
	}
	for name, v := range planned.AsValueMap() {
		if marks.Contains(v, marks.Sensitive) {
			show(name, json.RawMessage(`"(sensitive)"`))
			continue
		}
		v, _ = v.UnmarkDeep()
		if v.IsNull() || !v.IsWhollyKnown() {
			continue
		}
		if raw, err := ctyjson.Marshal(v, v.Type()); err == nil {
			show(name, raw)
		}
	}
	return shown
}

func marshal(values map[string]json.RawMessage) string {
	text, _ := json.Marshal(values) // can't fail: the values are valid JSON
	return string(text)
}

// setAside renames a journal that can't be replayed, so that other commands ignore it.
func setAside(path string) error {
	return os.Rename(path, freeName(func(n int) string { return fmt.Sprintf("%s.unused-%d", path, n) }))
}
