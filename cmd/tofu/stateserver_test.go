package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// stateServer keeps states for the http backend, one for each path. While there is a file called fail in the script's folder, every
// request is answered with the status that it names. While there is one called moved, what isn't a GET is redirected with the status that
// it names. While there is one called silent, nothing but a GET is answered.
type stateServer struct {
	fail, moved, silent string

	mu     sync.Mutex
	states map[string][]byte
	locks  map[string][]byte
}

// cmdStateServer is `stateserver`: a server for this script, whose URL is in STATES.
func cmdStateServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: stateserver")
	}
	s := &stateServer{fail: ts.MkAbs("fail"), moved: ts.MkAbs("moved"), silent: ts.MkAbs("silent"), states: map[string][]byte{}, locks: map[string][]byte{}}
	server := httptest.NewServer(s)
	ts.Defer(func() {
		server.CloseClientConnections()
		server.Close()
	})
	ts.Setenv("STATES", server.URL)
}

func (s *stateServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	if text, err := os.ReadFile(s.fail); err == nil {
		status, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		w.WriteHeader(status)
		return
	}
	if text, err := os.ReadFile(s.moved); err == nil && r.Method != http.MethodGet {
		status, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		http.Redirect(w, r, "/moved"+r.URL.Path, status)
		return
	}
	if _, err := os.Stat(s.silent); err == nil && r.Method != http.MethodGet {
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.HasPrefix(r.URL.Path, "/moved/") { // a proxy that answers everything
		return
	}
	lock, locked := s.locks[r.URL.Path]
	switch r.Method {
	case http.MethodGet:
		if s.states[r.URL.Path] == nil {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write(s.states[r.URL.Path])
	case http.MethodPost:
		s.states[r.URL.Path] = body
	case "LOCK":
		if locked {
			w.WriteHeader(http.StatusLocked)
			_, _ = w.Write(lock)
			return
		}
		s.locks[r.URL.Path] = body
	case "UNLOCK":
		if locked && lockID(body) != lockID(lock) {
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write(lock)
			return
		}
		delete(s.locks, r.URL.Path)
	}
}

// lockID is the ID in a lock's description, "" when there is none.
func lockID(text []byte) string {
	var lock struct{ ID string }
	_ = json.Unmarshal(text, &lock)
	return lock.ID
}
