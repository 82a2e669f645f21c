package statemgr_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"tofu/internal/backend"
	"tofu/internal/backend/inmem"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

func TestLockWaits(t *testing.T) {
	store := new(inmem.Store)
	a, b := statemgr.Open(store, ws, nil), statemgr.Open(store, ws, nil)
	check(t, a.Lock(t.Context(), "OperationTypeApply", 0, nil))
	err := b.Lock(t.Context(), "OperationTypePlan", 0, nil)
	if err == nil || !strings.Contains(err.Error(), "OperationTypeApply") ||
		!strings.Contains(err.Error(), a.LockID()) {
		t.Errorf("the holder is not reported: %v", err)
	}
	var waited []statemgr.Waiting
	done := make(chan error)
	told := make(chan struct{}, 8)
	go func() {
		done <- b.Lock(t.Context(), "OperationTypePlan", time.Minute, func(w statemgr.Waiting) {
			waited = append(waited, w)
			told <- struct{}{}
		})
	}()
	<-told
	check(t, a.Unlock())
	check(t, <-done)
	if len(waited) == 0 || waited[0].Holder == nil || waited[0].Holder.Operation != "OperationTypeApply" {
		t.Errorf("progress: %+v", waited)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	if err := a.Lock(ctx, "x", time.Hour, nil); err == nil ||
		!strings.Contains(err.Error(), "interrupted") {
		t.Errorf("a canceled wait: %v", err)
	}
	if err := a.ForceUnlock(t.Context(), "wrong"); err == nil {
		t.Error("a wrong ID releases the lock")
	}
	if err := a.ForceUnlock(t.Context(), b.LockID()); err != nil {
		t.Error(err)
	}
	check(t, a.Lock(t.Context(), "x", 0, nil))
}

// TestStaleLock checks that a lock is reported as stale only if its process would be visible to
// this process.
func TestStaleLock(t *testing.T) {
	store := new(inmem.Store)
	m := statemgr.Open(store, ws, nil)
	check(t, m.Lock(t.Context(), "x", 0, nil))
	own := tfdiags.FromError(statemgr.Open(store, ws, nil).Lock(t.Context(), "x", 0, nil))[0].Extra.(*backend.LockInfo)
	check(t, m.Unlock())
	var pid int
	var place string
	if _, err := fmt.Sscanf(own.Info, "process %d of %s", &pid, &place); err != nil || pid != os.Getpid() {
		t.Fatalf("the lock has no process: %q", own.Info)
	}
	const none = 1 << 23 // larger than any process ID
	for info, left := range map[string]bool{
		fmt.Sprintf("process %d of %s", none, place):     true,
		fmt.Sprintf("process %d of elsewhere", none):     false,
		fmt.Sprintf("process %d", none):                  false,
		fmt.Sprintf("process %d of %s and", none, place): false,
		fmt.Sprintf("the process %d of %s", none, place): false,
		own.Info: false,
		"":       false,
	} {
		lock := backend.LockInfo{ID: "one", Who: own.Who, Info: info}
		if _, err := store.Lock(t.Context(), ws, lock); err != nil {
			t.Fatal(err)
		}
		err := m.Lock(t.Context(), "x", 0, nil)
		if err == nil || strings.Contains(err.Error(), "is no longer running") != left {
			t.Errorf("%q: %v", info, err)
		}
		if err := store.Unlock(t.Context(), ws, "one"); err != nil {
			t.Fatal(err)
		}
	}
}
