package workers

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPause has a worker whose directory can't be used for a while. It pauses, and no try of the task is used up.
func TestPause(t *testing.T) {
	b := newBench(t)
	s := b.start(1)
	b.want(b.over(b.enqueue(&Run{Tasks: []*Task{{Root: "before"}}})), "done: before done")
	if err := os.RemoveAll(s.Dir); err != nil {
		t.Fatal(err)
	}
	r := b.enqueue(&Run{Tasks: []*Task{{Root: "one"}}})
	f := b.Follow(t.Context(), r.ID)
	if _, err := f.Begin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.patiently("the pause", func() bool {
		return strings.Contains(b.waits(f), s.ID+" with no labels, but it takes none for a while because of an error")
	})
	time.Sleep(MinLease) // until it tries again
	if err := os.Mkdir(s.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.want(b.over(r), "done: one done")
	if reasons := b.tasks(r)[0].Reasons; len(reasons) > 0 {
		t.Errorf("tries were used up: %v", reasons)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	paused := func(said string) bool { return strings.Contains(said, "takes no root modules for 2s: ") }
	if len(s.said) > 6 || !slices.ContainsFunc(s.said, paused) {
		t.Errorf("the worker said %q", s.said)
	}
}

func TestJudge(t *testing.T) {
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EROFS: true, fs.ErrNotExist: false} {
		if _, is := errors.AsType[unable](judge(&fs.PathError{Err: err})); is != want {
			t.Errorf("%v: %t", err, is)
		}
	}
}
