package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv"
	"tofu/internal/testenv/pgtest"
	"tofu/internal/tfdiags"
)

// fill writes a state with n objects of lab_object.a.
func fill(t testing.TB, m *statemgr.Manager, n int) *states.State {
	t.Helper()
	read(t, m)
	st := states.New()
	for i := range n {
		st.SetCurrent(addr("a", i), object(fmt.Sprint("first ", i)), provider)
	}
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	return st
}

// footprintOf returns the footprint of a plan that writes existing objects.
func footprintOf(snap *statemgr.Snapshot, writes ...addrs.AbsInstance) *plans.Footprint {
	f := &plans.Footprint{Revision: snap.Revision}
	for _, addr := range writes {
		f.Writes = append(f.Writes, plans.Write{Addr: addr, Existed: snap.State.Instance(addr) != nil})
	}
	return f
}

// TestCost checks that an apply writes only the rows and bytes that it changes.
func TestCost(t *testing.T) {
	c := config(t)
	const size = 10_000
	st := fill(t, manager(t, open(t, c)), size)
	m := manager(t, open(t, c))
	snap := read(t, m)
	if !statefile.Equal(snap.State, st) {
		t.Fatal("the state was read differently")
	}
	changed := []addrs.AbsInstance{addr("a", 1), addr("a", 2), addr("a", 3)}
	written := func() int64 {
		n, err := strconv.ParseInt(query(t, c, "SELECT pg_current_wal_insert_lsn() - '0/0'"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := written()
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, changed...)}); err != nil {
		t.Fatal(err)
	}
	final := snap.State.Clone()
	for _, at := range changed {
		m.Started(statemgr.Operation{Addr: at, Action: plans.Update, Provider: provider})
		obj := object("second")
		m.Stored(at, addrs.NotDeposed, obj, provider)
		m.Ended(at, addrs.NotDeposed)
		final.SetCurrent(at, obj, provider)
	}
	if err := m.Save(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	if err := m.Unlock(); err != nil {
		t.Fatal(err)
	}
	bytes := written() - before
	t.Logf("%d bytes of write-ahead log for 3 of %d objects", bytes, size)
	if bytes > 100_000 {
		t.Errorf("an apply of 3 objects wrote %d bytes", bytes)
	}
	for sql, want := range map[string]string{
		"SELECT count(*) FROM object WHERE since > 1":          "3",
		"SELECT count(*) FROM object_history":                  "3",
		"SELECT count(*) FROM revision":                        "4", // the first state, and one for each object
		"SELECT count(*) FROM claim":                           "0",
		"SELECT count(*) FROM operation":                       "0",
		"SELECT count(*) FROM run WHERE outcome = 'done'":      "2",
		"SELECT count(*) FROM key_set WHERE since > 1":         "0",
		"SELECT count(*) FROM object WHERE attributes IS NULL": "0",
	} {
		if got := query(t, c, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
}

// TestConflicts checks which runs exclude one another.
func TestConflicts(t *testing.T) {
	a0, a1, b0 := addr("a", 0), addr("a", 1), addr("b", 0)
	for _, test := range []struct {
		name          string
		first, second func(*statemgr.Snapshot) *plans.Footprint
		locked        bool // the second run can't begin while the first one runs
		stale         bool // the second plan is stale after the first run
	}{
		{"different objects", writes(a0), writes(a1), false, false},
		{"the same object", writes(a0), writes(a0), true, true},
		{"a read object", writes(a0), reads(b0, a0), true, true},
		{"an object beside a read one", writes(a1), reads(b0, a0), false, false},
		{"a resource that is read as a whole", writes(a1), wholes(b0, a0), true, true},
		{"another resource", writes(b0), wholes(addr("c", 0), a0), false, false},
		{"two readers", reads(a0, b0), reads(a1, b0), false, false},
		{"a new instance of a resource that is read", writes(addr("a", 9)), wholes(b0, a0), true, true},
		{"two new instances", writes(addr("a", 8)), writes(addr("a", 9)), false, false},
		{"the same output", outputs(a0, "o"), outputs(a1, "o"), true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(t)
			m := manager(t, open(t, c))
			st := fill(t, m, 3)
			st = st.Clone()
			st.SetCurrent(b0, object("b"), provider)
			if err := m.Save(t.Context(), st); err != nil {
				t.Fatal(err)
			}
			first, second := manager(t, open(t, c)), manager(t, open(t, c))
			before := read(t, first)
			read(t, second)
			f := test.first(before)
			if err := first.Begin(t.Context(), &statemgr.Run{State: before.State, Footprint: f}); err != nil {
				t.Fatal(err)
			}
			err := second.Begin(t.Context(), &statemgr.Run{State: before.State, Footprint: test.second(before)})
			if held := lockedBy(err); (held != nil) != test.locked || err != nil && held == nil {
				t.Errorf("while the other one runs: %v", err)
			}
			if err := second.Unlock(); err != nil {
				t.Error(err)
			}
			final := before.State.Clone()
			for _, w := range f.Writes {
				obj := object("changed")
				first.Stored(w.Addr, addrs.NotDeposed, obj, provider)
				final.SetCurrent(w.Addr, obj, provider)
			}
			for _, name := range f.Outputs {
				final.SetOutput(name, &states.Output{Value: cty.NumberIntVal(1)})
			}
			if err := first.Save(t.Context(), final); err != nil {
				t.Fatal(err)
			}
			if err := first.Unlock(); err != nil {
				t.Fatal(err)
			}
			third := manager(t, open(t, c))
			read(t, third)
			err = third.Begin(t.Context(), &statemgr.Run{State: before.State, Footprint: test.second(before)})
			if changed := changedBy(err); (changed != nil) != test.stale || err != nil && changed == nil {
				t.Errorf("after the other one: %v", err)
			} else if changed != nil && (changed.Run == "" || changed.Who == "" || changed.At.IsZero()) {
				t.Errorf("the error doesn't say who changed it: %+v", changed)
			}
			if err := third.Unlock(); err != nil {
				t.Error(err)
			}
		})
	}
}

func writes(addr addrs.AbsInstance) func(*statemgr.Snapshot) *plans.Footprint {
	return func(s *statemgr.Snapshot) *plans.Footprint { return footprintOf(s, addr) }
}

func reads(write, read addrs.AbsInstance) func(*statemgr.Snapshot) *plans.Footprint {
	return func(s *statemgr.Snapshot) *plans.Footprint {
		f := footprintOf(s, write)
		f.Reads = []addrs.AbsInstance{read}
		return f
	}
}

func wholes(write, of addrs.AbsInstance) func(*statemgr.Snapshot) *plans.Footprint {
	return func(s *statemgr.Snapshot) *plans.Footprint {
		f := footprintOf(s, write)
		f.Wholes = []addrs.ConfigResource{of.Config()}
		return f
	}
}

func outputs(write addrs.AbsInstance, name string) func(*statemgr.Snapshot) *plans.Footprint {
	return func(s *statemgr.Snapshot) *plans.Footprint {
		f := footprintOf(s, write)
		f.Outputs = []string{name}
		return f
	}
}

func lockedBy(err error) *backend.LockInfo {
	for _, d := range tfdiags.FromError(err) {
		if info, ok := d.Extra.(*backend.LockInfo); ok {
			return info
		}
	}
	return nil
}

func changedBy(err error) *statemgr.ChangedError {
	for _, d := range tfdiags.FromError(err) {
		if changed, ok := d.Extra.(*statemgr.ChangedError); ok {
			return changed
		}
	}
	return nil
}

// TestNewDependent checks that an object isn't destroyed if another run has created one that
// depends on it.
func TestNewDependent(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 1)
	destroyer, creator := manager(t, open(t, c)), manager(t, open(t, c))
	before := read(t, destroyer)
	st := read(t, creator).State.Clone()
	st.SetCurrent(addr("b", 0), object("b", "a"), provider)
	if err := creator.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	f := footprintOf(before, addr("a", 0))
	f.Writes[0].Destroys = true
	err := destroyer.Begin(t.Context(), &statemgr.Run{State: before.State, Footprint: f})
	if changed := changedBy(err); changed == nil || !strings.Contains(changed.What, "lab_object.b[0], which depends on") {
		t.Errorf("%v", err)
	}
}

// TestInstanceSet checks the error of a plan that has read all instances of a resource when another
// run has removed one of them.
func TestInstanceSet(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 2)
	reader, remover := manager(t, open(t, c)), manager(t, open(t, c))
	before := read(t, reader)
	st := read(t, remover).State.Clone()
	st.SetCurrent(addr("a", 1), nil, provider)
	if err := remover.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	f := footprintOf(before, addr("b", 0))
	f.Wholes = append(f.Wholes, addr("a", 0).Config())
	err := reader.Begin(t.Context(), &statemgr.Run{State: before.State, Footprint: f})
	if err == nil || !strings.Contains(err.Error(), "the set of instances of lab_object.a was changed by ") {
		t.Errorf("%v", err)
	}
}

// TestLostLease checks that a run that another process has ended can't write, and that its started
// steps are reported until another run succeeds.
func TestLostLease(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 2)
	sleeper := statemgr.Open(open(t, c), ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir(),
		Fail: func(error) {}}) // the error that Save returns shows the failure
	if err := sleeper.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
		t.Fatal(err)
	}
	snap := read(t, sleeper)
	at := addr("a", 0)
	if err := sleeper.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, at)}); err != nil {
		t.Fatal(err)
	}
	sleeper.Started(statemgr.Operation{Addr: at, Action: plans.Update, Provider: provider})
	execute(t, "UPDATE "+table(c, "run")+" SET lease = now() - interval '1 second' WHERE ended IS NULL")
	next := manager(t, open(t, c))
	var warnings tfdiags.Diagnostics
	after, err := next.Read(t.Context(), warnings.Add)
	if err != nil || len(after.Interrupted) != 1 || !strings.Contains(fmt.Sprint(warnings), "lab_object.a[0]: update") {
		t.Errorf("the lost run is not reported: %v, %v, %v", after.Interrupted, warnings, err)
	}
	if err := next.Begin(t.Context(), &statemgr.Run{State: after.State, Footprint: footprintOf(after, at)}); err != nil {
		t.Fatalf("the next run: %v", err)
	}
	sleeper.Stored(at, addrs.NotDeposed, object("too late"), provider)
	final := snap.State.Clone()
	final.SetCurrent(at, object("too late"), provider)
	restore := postgres.SetRetry(0)
	err = sleeper.Save(t.Context(), final)
	restore()
	if err == nil || !strings.Contains(err.Error(), "has lost its lease") || !strings.Contains(err.Error(), "errored.tfstate") {
		t.Errorf("saving: %v", err)
	}
	final = after.State.Clone()
	final.SetCurrent(at, object("in time"), provider)
	if err := next.Save(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	if err := next.Unlock(); err != nil {
		t.Fatal(err)
	}
	last := read(t, manager(t, open(t, c)))
	if text := string(last.State.Instance(at).Current.Attrs); !strings.Contains(text, "in time") || len(last.Interrupted) != 0 {
		t.Errorf("the object is %s, and %v", text, last.Interrupted)
	}
}

// TestFence checks that a run can't write if its row has a newer fencing number, even if the row
// says that the run is in progress.
func TestFence(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 1)
	s, at := open(t, c), addr("a", 0)
	f := &plans.Footprint{Revision: 1, Writes: []plans.Write{{Addr: at, Existed: true}}}
	operation := func() []*statemgr.Operation {
		return []*statemgr.Operation{{Addr: at, Action: plans.Update, Provider: provider}}
	}
	change := func() *statemgr.Change {
		return &statemgr.Change{Base: 1, Objects: []statemgr.ObjectChange{{ObjectID: statemgr.ObjectID{Addr: at},
			Object: object("second"), Provider: provider, Existed: true}}}
	}
	run := s.NewRun(ws, nil, statemgr.NewLockInfo("apply"))
	if err := run.Claim(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	execute(t, "UPDATE "+table(c, "run")+" SET fence = fence + 1, lease = now() + interval '1 hour' WHERE ended IS NULL")
	_, _, wrote := run.Write(t.Context(), change)
	for what, err := range map[string]error{
		"start": run.Start(t.Context(), operation), "write": wrote, "claim": run.Claim(t.Context(), f),
	} {
		if err == nil || !strings.Contains(err.Error(), "has lost its lease") {
			t.Errorf("%s with an older number: %v", what, err)
		}
	}
	if got := query(t, c, "SELECT count(*) FROM object_history"); got != "0" {
		t.Errorf("%s versions were replaced", got)
	}
	if err := run.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := query(t, c, "SELECT count(*) FROM claim"); got != "2" {
		t.Errorf("closing ended the run with the newer number: %s claims are left", got)
	}
	execute(t, "UPDATE "+table(c, "run")+" SET lease = now() WHERE ended IS NULL")

	// A run without claims gets a new number for each change, unless it was ended by another
	// process.
	single := s.NewRun(ws, nil, statemgr.NewLockInfo("state mv"))
	for range 2 {
		if _, _, err := single.Write(t.Context(), change); err != nil {
			t.Fatal(err)
		}
	}
	if got := query(t, c, "SELECT fence FROM workspace"); got != "4" {
		t.Errorf("the latest number is %s", got)
	}
	execute(t, "UPDATE "+table(c, "run")+" SET outcome = 'lost'")
	if _, _, err := single.Write(t.Context(), change); err == nil || !strings.Contains(err.Error(), "has lost its lease") {
		t.Errorf("a write of an ended run: %v", err)
	}
}

// TestFirstRun checks that a first run that was killed before it wrote anything leaves only the
// step that it had started, and no state.
func TestFirstRun(t *testing.T) {
	c := config(t)
	m := manager(t, open(t, c))
	snap := read(t, m)
	at := addr("a", 0)
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, at)}); err != nil {
		t.Fatal(err)
	}
	m.Started(statemgr.Operation{Addr: at, Action: plans.Create, Provider: provider})
	execute(t, "UPDATE "+table(c, "run")+" SET lease = now() - interval '1 second'")
	s := open(t, c)
	if data, err := s.Get(t.Context(), ws); data != nil || err != nil {
		t.Errorf("there is a state: %q, %v", data, err)
	}
	if names, err := s.List(t.Context()); len(names) != 0 || err != nil {
		t.Errorf("workspaces: %q, %v", names, err)
	}
	if after := read(t, manager(t, s)); after.Exists || after.Lineage != "" || len(after.Interrupted) != 1 {
		t.Errorf("%+v", after)
	}
	_ = m.Unlock()
}

// table returns the quoted name of a table.
func table(c *postgres.Config, name string) string {
	return `"` + strings.ReplaceAll(c.Schema, `"`, `""`) + `".` + name
}

// TestForceUnlock checks that a run can be ended by its ID.
func TestForceUnlock(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 1)
	m, other := manager(t, open(t, c)), manager(t, open(t, c))
	if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
		t.Fatal(err)
	}
	snap := read(t, m)
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, addr("a", 0))}); err != nil {
		t.Fatal(err)
	}
	if err := open(t, c).Delete(t.Context(), ws); !errors.As(err, new(*backend.LockedError)) {
		t.Errorf("deleting a workspace with a run: %v", err)
	}
	if err := other.ForceUnlock(t.Context(), "another"); err == nil {
		t.Error("a wrong ID ends a run")
	}
	if err := other.ForceUnlock(t.Context(), m.LockID()); err != nil {
		t.Fatal(err)
	}
	if err := open(t, c).Delete(t.Context(), ws); err != nil {
		t.Error(err)
	}
	_ = m.Unlock()
}

// TestFailedEnd checks that Unlock reports a run that it can't end, once.
func TestFailedEnd(t *testing.T) {
	c := config(t)
	fill(t, manager(t, open(t, c)), 1)
	m := manager(t, open(t, c))
	if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
		t.Fatal(err)
	}
	snap := read(t, m)
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, addr("a", 0))}); err != nil {
		t.Fatal(err)
	}
	id := m.LockID()
	execute(t, "ALTER TABLE "+table(c, "run")+" ADD CONSTRAINT endless CHECK (ended IS NULL) NOT VALID")
	if err := m.Unlock(); err == nil || !strings.Contains(err.Error(), "endless") ||
		!strings.Contains(err.Error(), "tofu force-unlock "+id) {
		t.Errorf("the run can't be ended: %v", err)
	}
	if err := m.Unlock(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	execute(t, "ALTER TABLE "+table(c, "run")+" DROP CONSTRAINT endless")
	if err := manager(t, open(t, c)).ForceUnlock(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// TestRestart checks that a run survives a server that crashes and comes back.
func TestRestart(t *testing.T) {
	if server == nil {
		testenv.Missing(t, noServer, "install PostgreSQL")
	}
	own, err := pgtest.Start() // even with fsync off, a crash of the server process loses nothing
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	c := &postgres.Config{ConnStr: own.Conn(), Schema: "tofu"}
	m := manager(t, open(t, c))
	fill(t, m, 2)
	snap := read(t, m)
	at := addr("a", 0)
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, at)}); err != nil {
		t.Fatal(err)
	}
	if err := own.Stop(); err != nil {
		t.Fatal(err)
	}
	back := make(chan error)
	go func() {
		time.Sleep(500 * time.Millisecond)
		back <- own.Restart()
	}()
	obj := object("after the crash")
	m.Started(statemgr.Operation{Addr: at, Action: plans.Update, Provider: provider})
	m.Stored(at, addrs.NotDeposed, obj, provider)
	if err := <-back; err != nil {
		t.Fatal(err)
	}
	final := snap.State.Clone()
	final.SetCurrent(at, obj, provider)
	if err := m.Save(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	if err := m.Unlock(); err != nil {
		t.Fatal(err)
	}
	if !statefile.Equal(read(t, manager(t, open(t, c))).State, final) {
		t.Error("the object was lost")
	}
}

// TestPooler checks that runs work through PgBouncer in transaction mode, with fewer connections to
// the server than stores.
func TestPooler(t *testing.T) {
	c := config(t)
	path, err := exec.LookPath("pgbouncer")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil {
			testenv.Missing(t, "pgbouncer is not installed", "install it, for example with testing/setup.sh")
		}
	}
	dir, err := os.MkdirTemp("/tmp", "pooler")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	settings := fmt.Sprintf("[databases]\npostgres = host=%s user=tester\n[pgbouncer]\npool_mode = transaction\n"+
		"default_pool_size = 2\nlisten_addr =\nunix_socket_dir = %s\nlisten_port = 6432\nauth_type = any\n", server.Dir(), dir)
	if err := os.WriteFile(dir+"/pgbouncer.ini", []byte(settings), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, dir+"/pgbouncer.ini")
	if err := pgtest.AsOrdinaryUser(cmd, dir); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	c.ConnStr = "host=" + dir + " port=6432 user=tester dbname=postgres"
	stores := []*postgres.Store{open(t, c), open(t, c), open(t, c)}
	fill(t, manager(t, stores[0]), 3)
	done := make(chan error)
	for i, s := range stores {
		m := manager(t, s)
		snap := read(t, m)
		go func() {
			at, obj := addr("a", i), object("pooled")
			err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, at)})
			if err == nil {
				m.Started(statemgr.Operation{Addr: at, Action: plans.Update, Provider: provider})
				m.Stored(at, addrs.NotDeposed, obj, provider)
				final := snap.State.Clone()
				final.SetCurrent(at, obj, provider)
				err = errors.Join(m.Save(t.Context(), final), m.Unlock())
			}
			done <- err
		}()
	}
	for range stores {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := query(t, c, "SELECT count(*) FROM object WHERE document LIKE '%pooled%'"); got != "3" {
		t.Errorf("%s of 3 objects were written", got)
	}

	// Through a pooler, queries are read-only too, and leave no settings behind for other
	// transactions.
	for _, test := range []struct{ sql, want, failure string }{
		{"SELECT count(*)::text FROM instances", "3", ""},
		{"CREATE TABLE t ()", "", "has no result"},
		{"SELECT current_setting('transaction_read_only')", "on", ""},
	} {
		got := ""
		err := stores[0].Query(t.Context(), test.sql, func([]backend.Column) {}, func(values [][]byte) error {
			got += string(values[0])
			return nil
		})
		if failed := err != nil; failed != (test.failure != "") || failed && !strings.Contains(err.Error(), test.failure) ||
			got != test.want {
			t.Errorf("%s: %q, %v", test.sql, got, err)
		}
	}
	if m := manager(t, stores[0]); m.Save(t.Context(), read(t, m).State) != nil {
		t.Error("the state can't be written after queries")
	}
}

// TestUnsaved checks that the errored.tfstate of a run that could not store its changes can be
// pushed, and that changes by other runs are kept. Pushing is refused if another run has changed
// the same parts.
func TestUnsaved(t *testing.T) {
	for _, test := range []struct {
		name    string
		changed addrs.AbsInstance // the instance that another run changes
		refused bool
	}{
		{"nothing", addrs.AbsInstance{}, false},
		{"other objects", addr("a", 2), false},
		{"the same object", addr("a", 1), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := config(t)
			fill(t, manager(t, open(t, c)), 3)
			dir := t.TempDir()
			m := statemgr.Open(open(t, c), ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: dir})
			if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
				t.Fatal(err)
			}
			snap := read(t, m)
			stored, unsaved := addr("a", 0), addr("a", 1)
			if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State,
				Footprint: footprintOf(snap, stored, unsaved)}); err != nil {
				t.Fatal(err)
			}
			final := snap.State.Clone()
			for _, at := range []addrs.AbsInstance{stored, unsaved} {
				obj := object("changed")
				m.Started(statemgr.Operation{Addr: at, Action: plans.Update, Provider: provider})
				final.SetCurrent(at, obj, provider)
				if at == stored {
					m.Stored(at, addrs.NotDeposed, obj, provider)
				}
			}
			refuseWrites(t, c, true)
			restore := postgres.SetRetry(0)
			err := m.Save(t.Context(), final)
			restore()
			if err == nil || !strings.Contains(err.Error(), "errored.tfstate") {
				t.Fatalf("saving: %v", err)
			}
			refuseWrites(t, c, false)
			// The server could not be reached, so the run could not end itself.
			execute(t, "UPDATE "+table(c, "run")+" SET ended = NULL, outcome = NULL, lease = now() - interval '1 second' "+
				"WHERE operation = 'OperationTypeApply'")
			if test.changed != (addrs.AbsInstance{}) {
				other := manager(t, open(t, c))
				st := read(t, other).State.Clone()
				st.SetCurrent(test.changed, object("by another"), provider)
				final.SetCurrent(test.changed, object("by another"), provider)
				if err := other.Save(t.Context(), st); err != nil {
					t.Fatal(err)
				}
			}
			err = pushErrored(t, c, dir)
			if test.refused {
				if err == nil || !strings.Contains(err.Error(), "lab_object.a[1] was changed by") {
					t.Errorf("pushing: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			after := read(t, manager(t, open(t, c)))
			if !statefile.Equal(after.State, final) {
				t.Error("the state doesn't have the changes of both runs")
			}
			if len(after.Interrupted) != 0 {
				t.Errorf("still interrupted: %v", after.Interrupted)
			}
			if got := query(t, c, "SELECT count(*) FROM object_history WHERE address = 'lab_object.a[0]'"); got != "1" {
				t.Errorf("%s versions of an object that was stored", got)
			}
		})
	}
}

// pushErrored pushes the file errored.tfstate in a directory.
func pushErrored(t *testing.T, c *postgres.Config, dir string) error {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "errored.tfstate"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := statefile.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	pusher := manager(t, open(t, c))
	read(t, pusher)
	return pusher.Push(t.Context(), file, false)
}

// refuseWrites makes the server refuse to write objects, or accept them again.
func refuseWrites(t *testing.T, c *postgres.Config, refuse bool) {
	t.Helper()
	if !refuse {
		execute(t, "DROP TRIGGER refuse ON "+table(c, "object"))
		return
	}
	execute(t, `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'refused'; END $$`)
	execute(t, "CREATE TRIGGER refuse BEFORE INSERT ON "+table(c, "object")+" EXECUTE FUNCTION refuse()")
}
