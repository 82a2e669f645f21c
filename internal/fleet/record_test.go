package fleet

import (
	"os"
	"strings"
	"testing"
)

// TestForeignRecord checks that a run doesn't write to a file that is no record, or through a link,
// and that it reads lines of any length.
func TestForeignRecord(t *testing.T) {
	path := archive(t, load(t, "a"))
	s := open(t, path)
	at, victim := RecordPath(path), path+".victim"
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(what, at, text string) {
		t.Helper()
		if _, err := Begin(s); err == nil || !strings.Contains(err.Error(), "No record of a run") {
			t.Errorf("%s: %v", what, err)
		}
		if got, err := os.ReadFile(at); err != nil || string(got) != text {
			t.Errorf("%s: the content is %q, %v", what, got, err)
		}
	}
	for _, text := range []string{"precious", "{\"a\": 1}\n", "\n# notes\n"} {
		write(at, text)
		refused("another file", at, text)
	}
	for _, text := range []string{"", "precious", "{\"archive\":\"x\"}\n"} {
		if err := os.Remove(at); err != nil {
			t.Fatal(err)
		}
		write(victim, text)
		if err := os.Symlink(victim, at); err != nil {
			t.Skip("no symbolic links: ", err)
		}
		refused("a link", victim, text)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	write(at, "{\"archive\":\"another plan\"}\n")
	rec, err := Begin(s)
	if err != nil {
		t.Fatal("the record of another plan: ", err)
	}
	if err := rec.set(strings.Repeat("x", 200_000), stepStarted); err != nil {
		t.Fatal(err)
	}
	if err := rec.set("a", stepDone); err != nil {
		t.Fatal(err)
	}
	rec.Close()
	rec, err = Resume(s)
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	if rec.last("a") != stepDone {
		t.Error("what follows a long line was not read")
	}
}

// TestRecord checks that a record is readable no matter where a kill cuts it off, and that it is
// accepted only for its own archive.
func TestRecord(t *testing.T) {
	path := archive(t, load(t, "a", "b"))
	s := open(t, path)
	if _, err := Resume(s); err == nil || !strings.Contains(err.Error(), "Nothing to resume") {
		t.Errorf("resuming what was not begun: %v", err)
	}
	rec, err := Begin(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []func(*Saved) (*Record, error){Begin, Resume} {
		if _, err := again(s); err == nil || !strings.Contains(err.Error(), "The plan is being applied") {
			t.Errorf("two runs with one record: %v", err)
		}
	}
	if rec.Unfinished() {
		t.Error("a new record is not empty")
	}
	for _, set := range []struct {
		root string
		step step
	}{{"a", stepStarted}, {"a", stepDone}, {"b", stepStarted}} {
		if err := rec.set(set.root, set.step); err != nil {
			t.Fatal(err)
		}
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Begin(s); err == nil || !strings.Contains(err.Error(), "The plan was applied before") {
		t.Errorf("beginning again: %v", err)
	}
	whole, err := os.ReadFile(RecordPath(path))
	if err != nil {
		t.Fatal(err)
	}
	header := strings.Index(string(whole), "}") + 1
	doneAt := strings.Index(string(whole), `"done"}`) + len(`"done"}`)
	startedAt := strings.Index(string(whole), `"started"}`) + len(`"started"}`)
	for n := header; n <= len(whole); n++ {
		if err := os.WriteFile(RecordPath(path), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		rec, err := Resume(s)
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		want := step("")
		switch {
		case n >= doneAt:
			want = stepDone
		case n >= startedAt:
			want = stepStarted
		}
		if got := rec.last("a"); got != want {
			t.Errorf("after %d bytes, a is %q, want %q", n, got, want)
		}
		err = rec.set("b", stepFailed)
		if err == nil {
			err = rec.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		again, err := Resume(s)
		if err != nil || again.last("a") != want || again.last("b") != stepFailed {
			t.Errorf("after %d bytes and another step: %+v, %v", n, again, err)
		}
		_ = again.Close()
	}

	// A new archive with the same file name starts a new record.
	if err := os.Rename(archive(t, load(t, "a", "b")), path); err != nil {
		t.Fatal(err)
	}
	rec, err = Begin(open(t, path))
	if err != nil || rec.Unfinished() {
		t.Errorf("the record is of the archive before: %v", err)
	}
	_ = rec.Close()
	if none := NoRecord(); none.set("a", stepDone) != nil || none.last("a") != stepDone || none.Close() != nil {
		t.Error("a record without a file doesn't work")
	}
}

// TestResumable checks whether a record says that something is left that -resume can apply.
func TestResumable(t *testing.T) {
	planned := []*Planned{{Name: "a", Changes: true}, {Name: "b", Changes: true, Needs: []string{"a"}},
		{Name: "c", Records: true, Needs: []string{"b"}}, {Name: "d"}, {Name: "e", Changes: true, Waits: []string{"a"}}}
	for _, c := range []struct {
		name  string
		steps map[string]step
		want  bool
	}{
		{"nothing done", nil, true},
		{"one failed", map[string]step{"a": stepFailed}, true},
		{"one killed", map[string]step{"a": stepStarted}, true},
		{"one left", map[string]step{"a": stepDone, "b": stepDone}, true},
		{"all done", map[string]step{"a": stepDone, "b": stepDone, "c": stepDone}, false},
		{"stale", map[string]step{"a": stepStale}, false},
		{"stale in the middle", map[string]step{"a": stepDone, "b": stepStale}, false},
		{"stale at the end", map[string]step{"a": stepDone, "b": stepFailed, "c": stepStale}, true},
	} {
		if got := (&Record{done: c.steps}).resumable(planned); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
