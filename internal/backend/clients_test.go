package backend_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"tofu/internal/backend"
)

// counted is a client whose counter tracks how many clients are open.
type counted struct{ open *counter }

type counter struct {
	mu                sync.Mutex
	now, most, opened int
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += n
	c.most = max(c.most, c.now)
	c.opened += max(n, 0)
}

func (c *counted) Close() { c.open.add(-1) }

func take(t *testing.T, l *backend.Lease, count *counter, settings any) *counted {
	t.Helper()
	var s backend.Sharing
	s.UseClients(l)
	c, err := backend.Client(&s, settings, func() (*counted, error) {
		count.add(1)
		return &counted{count}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClients(t *testing.T) {
	var clients backend.Clients
	var count counter
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			l := clients.Lease()
			defer l.Release()
			first, second := take(t, l, &count, "a"), take(t, l, &count, "a")
			if first != second {
				t.Error("two clients with equal settings")
			}
		})
	}
	wg.Wait()
	if count.opened != 1 || count.now != 1 {
		t.Errorf("%d opened, %d still open", count.opened, count.now)
	}
	for i := range 20 { // each with different settings
		l := clients.Lease()
		take(t, l, &count, i)
		l.Release()
	}
	if count.opened != 21 || count.most > 5 {
		t.Errorf("%d opened, at most %d at once", count.opened, count.most)
	}
	used := clients.Lease()
	take(t, used, &count, "used")
	clients.Close()
	if count.now != 1 {
		t.Errorf("%d are open, and one is used", count.now)
	}
	used.Release()
	clients.Close()
	if count.now != 0 {
		t.Errorf("%d are open at the end", count.now)
	}
}

// TestClientErrors checks that if a client can't be opened, the next user tries again.
func TestClientErrors(t *testing.T) {
	var clients backend.Clients
	for i := range 3 {
		var s backend.Sharing
		s.UseClients(clients.Lease())
		_, err := backend.Client(&s, "a", func() (*counted, error) { return nil, fmt.Errorf("try %d", i) })
		if want := fmt.Sprintf("try %d", i); err == nil || err.Error() != want {
			t.Errorf("error %v, not %q", err, want)
		}
	}
	var alone backend.Sharing
	if _, err := backend.Client(&alone, "a", func() (*counted, error) { return nil, errors.New("no") }); err == nil {
		t.Error("no error")
	}
	if !alone.Owned() {
		t.Error("without a lease, the store owns its clients")
	}
}
