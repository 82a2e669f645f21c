//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
)

// stateServer stores one state for the http backend. It can make requests fail.
type stateServer struct {
	mu       sync.Mutex
	state    []byte
	lock     []byte
	requests int
	bad      func(request int) int // returns the status of the response to a request; 0 for success, -1 for no response
}

const backendBlock = `
terraform {
  backend "http" {
    address        = %[1]q
    lock_address   = %[1]q
    unlock_address = %[1]q
    retry_max      = 1
    retry_wait_min = 1
    retry_wait_max = 1
  }
}
`

func (s *stateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	switch status := s.bad(s.requests); {
	case err != nil:
		return
	case status < 0:
		panic(http.ErrAbortHandler)
	case status > 0:
		w.WriteHeader(status)
		return
	}
	switch {
	case r.Method == http.MethodGet && s.state == nil:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodGet:
		_, _ = w.Write(s.state)
	case r.Method == http.MethodPost:
		s.state = body
	case r.Method == "LOCK" && s.lock != nil:
		w.WriteHeader(http.StatusLocked)
		_, _ = w.Write(s.lock)
	case r.Method == "LOCK":
		s.lock = body
	case r.Method == "UNLOCK":
		s.lock = nil
	}
}

// atEveryRequest makes each request to a remote state fail in turn, in two ways: either only that
// request fails, or all requests from then on.
func (o *options) atEveryRequest(report func(string, *tally)) error {
	for _, op := range o.operations() {
		sum := &tally{}
		point := 0
		for _, kind := range []struct {
			status  int
			forever bool
		}{{500, true}, {401, true}, {-1, true}, {500, false}, {-1, false}} {
			for n := 1; ; n++ {
				point++
				if !o.chosen(point) && n > 1 {
					if n > 6 {
						break
					}
					continue
				}
				fewer, err := o.badRequest(op, n, kind.status, kind.forever, sum)
				if err != nil {
					return err
				}
				if fewer {
					break
				}
			}
		}
		report("requests of "+op.name, sum)
	}
	return nil
}

// badRequest performs one run in which the n-th request fails. fewer reports whether the run made
// fewer than n requests.
func (o *options) badRequest(op operation, n, status int, forever bool, sum *tally) (fewer bool, err error) {
	server := &stateServer{bad: func(int) int { return 0 }}
	listener := httptest.NewServer(server)
	defer listener.Close()
	t, err := o.newTrial(10)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(t.top)
	if err := os.WriteFile(filepath.Join(t.work, "backend.tf"), fmt.Appendf(nil, backendBlock, listener.URL),
		0o644); err != nil {
		return false, err
	}
	if err := t.must("init", "-input=false"); err != nil {
		return false, err
	}
	if op.before != nil {
		if err := t.must(op.before...); err != nil {
			return false, err
		}
	}
	server.mu.Lock()
	first := server.requests + n
	server.bad = func(request int) int {
		if request == first || forever && request > first {
			return status
		}
		return 0
	}
	server.mu.Unlock()
	out, runErr := t.command(op.args...).CombinedOutput()
	server.mu.Lock()
	fewer = server.requests < first
	server.bad = func(int) int { return 0 }
	server.lock = nil // removes the lock, as force-unlock does
	server.mu.Unlock()
	t.ended(fmt.Sprintf("%s: status %[3]d for request %[2]d, forever %[4]v", op.name, n, status, forever), out,
		runErr, sum)
	t.finish(op, sum)
	return fewer, nil
}
