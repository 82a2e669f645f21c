package workers

import (
	"errors"
	"slices"
	"syscall"
	"time"
)

// unable is an error of a worker that has nothing to do with the task: another worker, or this one later, could do the
// task. It isn't counted as a try.
type unable struct{ error }

func (u unable) Unwrap() error { return u.error }

// exhausted are the errors of a machine that has none left of something.
var exhausted = []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM}

// judge returns an error from before the begin of a task, as unable if it is one of those in exhausted.
func judge(err error) error {
	if slices.ContainsFunc(exhausted, func(target error) bool { return errors.Is(err, target) }) {
		return unable{err}
	}
	return err
}

// pause makes the worker take no tasks for a while, because it was unable to begin one.
func (w *Worker) pause(t *Task, why error) {
	length := min(w.Lease, DefaultLease)
	w.mu.Lock()
	w.paused = time.Now().Add(length)
	w.mu.Unlock()
	w.Say("%s of run %s can't begin here, so this worker takes no root modules for %s: %s", t.Root, t.Run, length,
		trimmed(why))
}

// offered returns the number of tasks that the worker takes at the same time now.
func (w *Worker) offered() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Now().Before(w.paused) {
		return 0
	}
	return w.Jobs
}
