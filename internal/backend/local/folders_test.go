package local_test

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"tofu/internal/backend"
	"tofu/internal/backend/local"
)

// TestSharedFolders locks and unlocks two states below one new directory at the same time. Each of
// them creates the directory if it is missing, and removes it if it is empty.
func TestSharedFolders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			store := local.New(&local.Config{Path: filepath.Join(dir, strconv.Itoa(i), "state")}, &local.Options{})
			for range 1500 {
				id, err := store.Lock(context.Background(), backend.DefaultWorkspace, backend.LockInfo{ID: "x"})
				if err == nil {
					err = store.Unlock(context.Background(), backend.DefaultWorkspace, id)
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
