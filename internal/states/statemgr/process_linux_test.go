package statemgr_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tofu/internal/addrs"
	"tofu/internal/backend/inmem"
	"tofu/internal/backend/local"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// TestMain runs the test binary as the process that TestKilledRuns kills.
func TestMain(m *testing.M) {
	if os.Getenv("STATEMGR_TEST_CHILD") != "" {
		runForever()
	}
	os.Exit(m.Run())
}

// runForever creates, changes and deletes objects in several goroutines. It prints a line before
// and after each step.
func runForever() {
	m := statemgr.Open(local.New(nil, nil), ws, &statemgr.Options{Interval: 15 * time.Millisecond})
	if err := m.Lock(context.Background(), "OperationTypeApply", 0, nil); err != nil {
		fail(err)
	}
	if _, err := m.Read(context.Background(), tfdiags.Drop); err != nil {
		fail(err)
	}
	if err := m.Begin(context.Background(), nil); err != nil {
		fail(err)
	}
	var mu sync.Mutex
	say := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Printf(format+"\n", args...)
	}
	for g := range 4 {
		go func() {
			for i := g; ; i += 4 {
				op := creating(i % 400)
				id := fmt.Sprintf("id-%d", i)
				say("start %d", i%400)
				m.Started(op)
				say("call %d", i%400)
				if i >= 400 && i%7 == 0 {
					m.Stored(op.Addr, addrs.NotDeposed, nil, provider)
					m.Ended(op.Addr, addrs.NotDeposed)
					say("gone %d", i%400)
					continue
				}
				m.Stored(op.Addr, addrs.NotDeposed, object(id), provider)
				say("done %d %s", i%400, id)
				m.Ended(op.Addr, addrs.NotDeposed)
			}
		}()
	}
	select {}
}

func fail(err error) {
	fmt.Println("error", err)
	os.Exit(1)
}

// printed is the last output of a killed run about one object.
type printed struct {
	id    string // "" if the object does not exist
	state string // the progress of the last step: start, call, done or gone
}

func TestKilledRuns(t *testing.T) {
	runs := 40
	if testing.Short() {
		runs = 5
	}
	for range runs {
		t.Chdir(t.TempDir())
		killedRun(t)
	}
}

func killedRun(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STATEMGR_TEST_CHILD=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(time.Duration(5+rand.IntN(120)) * time.Millisecond)
		_ = cmd.Process.Kill()
	}()
	said := make(map[int]printed)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var n int
		f := strings.Fields(lines.Text())
		if len(f) < 2 || f[0] == "error" {
			t.Fatal(lines.Text())
		}
		if _, err := fmt.Sscan(f[1], &n); err != nil {
			t.Fatal(lines.Text())
		}
		now := said[n]
		now.state = f[0]
		switch f[0] {
		case "done":
			now.id = f[2]
		case "gone":
			now.id = ""
		}
		said[n] = now
	}
	_ = cmd.Wait()

	m := open(t)
	if err := m.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
		t.Fatal(err)
	}
	snap, _ := read(t, m)
	for n, last := range said {
		checkObject(t, snap, n, last)
	}
	if err := m.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	check(t, m.Save(t.Context(), snap.State))
	check(t, m.Unlock())
	again, diags := read(t, open(t))
	sameState(t, again.State, snap.State)
	creations := slices.DeleteFunc(snap.Interrupted, func(op statemgr.Operation) bool {
		return op.Action != plans.Create
	})
	if len(again.Interrupted) != len(creations) || len(diags) > 1 || slices.Contains(names(t), "terraform.tfstate.journal") {
		t.Errorf("after saving: %v, %v", diags, names(t))
	}
}

// checkObject compares the state and the interrupted steps with the last output of the killed run,
// which may have been a step further.
func checkObject(t *testing.T, snap *statemgr.Snapshot, n int, last printed) {
	t.Helper()
	known := ""
	if inst := snap.State.Instance(addr(n)); inst != nil {
		var text bytes.Buffer // snapshots are indented
		if err := json.Compact(&text, inst.Current.Attrs); err != nil {
			t.Fatal(err)
		}
		known = text.String()
	}
	interrupted := slices.ContainsFunc(snap.Interrupted, func(op statemgr.Operation) bool { return op.Addr == addr(n) })
	want := ""
	if last.id != "" {
		want = string(object(last.id).Attrs)
	}
	switch last.state {
	case "done", "gone":
		if known != want {
			t.Errorf("object %d is lost: got %q, want %q", n, known, want)
		}
	case "call":
		// Either the result is stored or the step is reported as interrupted.
		if known == want && !interrupted {
			t.Errorf("object %d: a provider call was not recorded", n)
		}
	}
}

// smallDisk mounts a file system of the given size and returns its directory.
func smallDisk(t *testing.T, size string) string {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("mounting a small file system needs more rights: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// TestFullDisk fills up the disk during an operation. The steps in progress are recorded in the
// reserved space, the run is stopped, and nothing is lost.
func TestFullDisk(t *testing.T) {
	dir := smallDisk(t, "8m")
	t.Chdir(dir)
	failed := make(chan error, 1)
	m := statemgr.Open(local.New(nil, nil), ws, &statemgr.Options{Fail: func(err error) { failed <- err }})
	begin(t, m, nil)
	fill, err := os.Create("fill")
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = fill.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	want := states.New()
	stopped := false
	for i := 0; !stopped; i++ {
		select {
		case <-failed:
			stopped = true
		default:
		}
		obj := &states.Object{Attrs: fmt.Appendf(nil, `{"id":"%d","text":"%s"}`, i, strings.Repeat("x", 10_000))}
		m.Started(creating(i))
		m.Stored(addr(i), addrs.NotDeposed, obj, provider)
		want.SetCurrent(addr(i), obj, provider)
		if i > 10_000 {
			t.Fatal("the full disk was not reported")
		}
	}
	for i := range 10 { // steps in progress when the run was stopped
		obj := object(fmt.Sprint("late ", i))
		m.Stored(addr(100_000+i), addrs.NotDeposed, obj, provider)
		want.SetCurrent(addr(100_000+i), obj, provider)
	}
	if err := m.Save(t.Context(), want); err == nil || !strings.Contains(err.Error(), "Nothing is lost") {
		t.Fatalf("saving to a full disk: %v", err)
	}
	check(t, m.Unlock())
	fill.Close()
	if err := os.Remove("fill"); err != nil {
		t.Fatal(err)
	}
	m = open(t)
	begin(t, m, nil)
	snap, _ := read(t, m)
	sameState(t, snap.State, want)
	check(t, m.Save(t.Context(), snap.State))
	check(t, m.Unlock())
	if data, err := os.ReadFile("terraform.tfstate"); err != nil {
		t.Error(err)
	} else if f, err := statefile.Parse(data); err != nil || !statefile.Equal(f.State, want) {
		t.Errorf("the saved state is not complete: %v", err)
	}
}

// TestBeginOnFullDisk checks that Begin fails if there is no space for a journal.
func TestBeginOnFullDisk(t *testing.T) {
	dir := smallDisk(t, "64k")
	m := statemgr.Open(new(inmem.Store), ws, &statemgr.Options{DataDir: filepath.Join(dir, "data")})
	read(t, m)
	if err := m.Begin(t.Context(), nil); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Begin on a full disk: %v", err)
	}
}

func BenchmarkRecord(b *testing.B) {
	b.Chdir(b.TempDir())
	m := statemgr.Open(local.New(nil, nil), ws, nil)
	if _, err := m.Read(b.Context(), tfdiags.Drop); err != nil {
		b.Fatal(err)
	}
	if err := m.Begin(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	obj := &states.Object{Attrs: fmt.Appendf(nil, `{"id":"i","text":"%s"}`, strings.Repeat("x", 500))}
	i := 0
	for b.Loop() {
		i++
		m.Started(statemgr.Operation{Addr: addr(i), Action: plans.Create, Provider: provider,
			Planned: creating(i).Planned})
		m.Stored(addr(i), addrs.NotDeposed, obj, provider)
		m.Ended(addr(i), addrs.NotDeposed)
	}
	if err := m.Unlock(); err != nil {
		b.Fatal(err)
	}
}
