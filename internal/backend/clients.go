package backend

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"tofu/internal/configs/blocks"
)

// Clients holds what stores with equal settings share, such as connections and credentials. A run
// that uses many stores has one Clients. The zero value is ready to use. It is safe for concurrent
// use.
type Clients struct {
	// Most limits the connections of a client to a database; 0 stands for the usual limit of its backend.
	Most int

	mu   sync.Mutex
	open map[string]*client
	idle []*client // clients without users, in the order of their last use
}

// maxIdle is the number of clients without users that stay open for the next user.
const maxIdle = 4

// client is an open client, or one that is being opened.
type client struct {
	key   string
	once  sync.Once
	value interface{ Close() }
	err   error
	users int
}

// A Lease holds the clients that one store uses. The clients of a nil Lease belong to the store,
// which closes them.
type Lease struct {
	clients *Clients

	mu    sync.Mutex
	taken []*client
}

// Lease returns a lease without clients, or nil if c is nil.
func (c *Clients) Lease() *Lease {
	if c == nil {
		return nil
	}
	return &Lease{clients: c}
}

// Sharing is embedded in the configuration of drivers whose stores share clients.
type Sharing struct{ lease *Lease }

// UseClients implements [ClientUser].
func (s *Sharing) UseClients(l *Lease) { s.lease = l }

// Owned reports whether clients belong to the store that opens them.
func (s *Sharing) Owned() bool { return s.lease == nil }

// Connections returns the limit for the connections of a client whose usual limit is given.
func (s *Sharing) Connections(usual int) int {
	if s.lease == nil || s.lease.clients.Most == 0 {
		return usual
	}
	return min(s.lease.clients.Most, usual)
}

// A ClientUser is a configuration whose driver can share clients. UseClients is called before the
// store is opened.
type ClientUser interface{ UseClients(*Lease) }

// Client returns a client for settings, which must have a JSON form. Without a lease, it calls
// open. With a lease, it returns the open client for equal settings if there is one, or else the
// result of open. A client that several stores share must be safe for concurrent use.
func Client[T interface{ Close() }](s *Sharing, settings any, open func() (T, error)) (T, error) {
	if s.lease == nil {
		return open()
	}
	var none T
	text, err := json.Marshal(settings)
	if err != nil {
		return none, err
	}
	c := s.lease.clients.take(fmt.Sprintf("%T %s", none, text))
	c.once.Do(func() {
		var opened T
		opened, c.err = open()
		if c.err == nil {
			c.value = opened
		}
	})
	if c.err != nil {
		s.lease.clients.release(c)
		return none, c.err
	}
	s.lease.mu.Lock()
	defer s.lease.mu.Unlock()
	s.lease.taken = append(s.lease.taken, c)
	return c.value.(T), nil
}

// Settings returns the arguments of a decoded configuration by name, except those named in without.
// The result is meant for [Client].
func Settings(config any, without ...string) map[string]any {
	values := blocks.Values(config)
	maps.DeleteFunc(values, func(name string, _ any) bool { return slices.Contains(without, name) })
	return values
}

func (c *Clients) take(key string) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.open[key]
	if found == nil {
		if c.open == nil {
			c.open = make(map[string]*client)
		}
		found = &client{key: key}
		c.open[key] = found
	}
	found.users++
	c.idle = slices.DeleteFunc(c.idle, func(other *client) bool { return other == found })
	return found
}

// release ends a use of a client. A client that could not be opened is forgotten, so that the next
// user tries again. If there are too many clients without users, the least recently used one is
// closed.
func (c *Clients) release(used *client) {
	c.mu.Lock()
	var closing *client
	used.users--
	switch {
	case used.err != nil:
		if c.open[used.key] == used {
			delete(c.open, used.key)
		}
	case used.users == 0:
		c.idle = append(c.idle, used)
		if len(c.idle) > maxIdle {
			closing, c.idle = c.idle[0], c.idle[1:]
			delete(c.open, closing.key)
		}
	}
	c.mu.Unlock()
	if closing != nil {
		closing.value.Close()
	}
}

// Release releases all clients of the lease. The store must not be used afterwards.
func (l *Lease) Release() {
	if l == nil {
		return
	}
	l.mu.Lock()
	taken := l.taken
	l.taken = nil
	l.mu.Unlock()
	for _, c := range taken {
		l.clients.release(c)
	}
}

// Close closes all clients without users.
func (c *Clients) Close() {
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	for _, one := range idle {
		delete(c.open, one.key)
	}
	c.mu.Unlock()
	for _, one := range idle {
		one.value.Close()
	}
}
