package inmem_test

import (
	"testing"

	"tofu/internal/backend"
	"tofu/internal/backend/inmem"
	"tofu/internal/testenv/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) (backend.Store, backend.Store) {
		s := new(inmem.Store)
		return s, s
	})
}
