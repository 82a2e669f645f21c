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

// stateServer stores states for the http backend, one for each path. Four files in the script's
// directory change its behavior. If the file fail exists, each response has the status that the
// file contains. If the file moved exists, all requests except GET are redirected with the status
// that the file contains. If the file silent exists, only GET requests get a response. If the file
// unlock exists, the response to UNLOCK requests has the status that the file contains.
type stateServer struct {
	fail, moved, silent, unlock string

	mu     sync.Mutex
	states map[string][]byte
	locks  map[string][]byte
}

// cmdStateServer implements `stateserver`. It starts a state server for this script and sets STATES
// to its URL.
func cmdStateServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: stateserver")
	}
	s := &stateServer{fail: ts.MkAbs("fail"), moved: ts.MkAbs("moved"), silent: ts.MkAbs("silent"),
		unlock: ts.MkAbs("unlock"), states: map[string][]byte{}, locks: map[string][]byte{}}
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
	if s.answer(w, s.fail) {
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
	if strings.HasPrefix(r.URL.Path, "/moved/") { // acts as the target of redirects, which accepts all requests
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
		s.answer(w, s.unlock)
	}
}

// answer responds with the status that a file contains. It reports false if there is no such file.
func (s *stateServer) answer(w http.ResponseWriter, file string) bool {
	text, err := os.ReadFile(file)
	if err == nil {
		status, _ := strconv.Atoi(strings.TrimSpace(string(text)))
		w.WriteHeader(status)
	}
	return err == nil
}

// lockID returns the ID in the JSON description of a lock, or "" if it has none.
func lockID(text []byte) string {
	var lock struct{ ID string }
	_ = json.Unmarshal(text, &lock)
	return lock.ID
}
