package consultest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// MaxValue is the maximum size of a value and of a transaction in bytes.
	MaxValue = 512 << 10
	// MaxOperations is the maximum number of operations of a transaction.
	MaxOperations = 64
)

// Server is a Consul agent on a loopback port.
type Server struct {
	URL string
	// Token is the token that requests must have, or "" if they need none.
	Token string
	// Auth is the "user:password" that requests must have, or "" if they need none.
	Auth string
	// Intercept, if not nil, is called before each request. It returns true if it has answered the
	// request.
	Intercept func(w http.ResponseWriter, r *http.Request) bool
	// Drop, if not nil, reports whether the response to a request is lost after the request was
	// carried out.
	Drop func(r *http.Request) bool

	http *httptest.Server

	mu       sync.Mutex
	index    uint64
	entries  map[string]*Entry
	sessions map[string]*session
	delays   map[string]time.Time // the time until which a key can't be acquired, by key
	changed  chan struct{}        // closed at each change
	requests []string
}

// Entry is a key with its value, in the form of the HTTP interface.
type Entry struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	Session     string `json:",omitempty"`
	CreateIndex uint64
	ModifyIndex uint64
}

// Start starts an empty server.
func Start() *Server {
	s := &Server{entries: make(map[string]*Entry), sessions: make(map[string]*session),
		delays: make(map[string]time.Time), changed: make(chan struct{}), index: 10}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close stops the server.
func (s *Server) Close() {
	s.http.CloseClientConnections() // ends blocking queries
	s.http.Close()
}

// Requests returns the methods, paths and queries of all requests so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.requests...)
}

// Entries returns copies of all entries by key.
func (s *Server) Entries() map[string]Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]Entry, len(s.entries))
	for key, e := range s.entries {
		out[key] = *e
	}
	return out
}

// failure is an error response.
type failure struct {
	status int
	text   string
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	s.mu.Unlock()
	if s.Intercept != nil && s.Intercept(w, r) {
		return
	}
	if problem := s.authorize(r); problem != nil {
		http.Error(w, problem.text, problem.status)
		return
	}
	if r.ContentLength > MaxValue && (strings.HasPrefix(r.URL.Path, "/v1/kv/") || r.URL.Path == "/v1/txn") {
		http.Error(w, fmt.Sprintf("Request body(%d bytes) too large, max size: %d bytes.", r.ContentLength, MaxValue),
			http.StatusRequestEntityTooLarge)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	out, problem := s.route(w, r, body)
	if s.Drop != nil && s.Drop(r) {
		panic(http.ErrAbortHandler)
	}
	if problem != nil && problem.text != "" {
		http.Error(w, problem.text, problem.status)
		return
	}
	if text, ok := out.(raw); ok {
		_, _ = w.Write(text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if problem != nil {
		w.WriteHeader(problem.status)
	}
	if out != nil {
		_ = json.NewEncoder(w).Encode(out)
	}
}

func (s *Server) authorize(r *http.Request) *failure {
	if user, password, _ := r.BasicAuth(); s.Auth != "" && user+":"+password != s.Auth {
		return &failure{http.StatusUnauthorized, "unauthorized"}
	}
	if token := r.Header.Get("X-Consul-Token"); s.Token != "" && token != s.Token {
		if token == "" {
			return &failure{http.StatusForbidden, "Permission denied: anonymous token lacks permission"}
		}
		return &failure{http.StatusForbidden, "ACL not found"}
	}
	if dc := r.URL.Query().Get("dc"); dc != "" && dc != "dc1" {
		return &failure{http.StatusInternalServerError, "No path to datacenter"}
	}
	return nil
}

func (s *Server) route(w http.ResponseWriter, r *http.Request, body []byte) (any, *failure) {
	if key, ok := strings.CutPrefix(r.URL.Path, "/v1/kv/"); ok {
		switch r.Method {
		case http.MethodGet:
			return s.get(w, r, key)
		case http.MethodPut:
			return s.put(r, key, body)
		case http.MethodDelete:
			return s.remove(r, key)
		}
	}
	if r.Method == http.MethodPut && r.URL.Path == "/v1/txn" {
		return s.transaction(body)
	}
	rest, ok := strings.CutPrefix(r.URL.Path, "/v1/session/")
	if ok {
		verb, id, _ := strings.Cut(rest, "/")
		switch r.Method + " " + verb {
		case "PUT create":
			return s.createSession(body)
		case "PUT renew":
			return s.renewSession(id)
		case "PUT destroy":
			s.mu.Lock()
			defer s.mu.Unlock()
			s.end(id)
			return true, nil
		case "GET info":
			return s.sessionInfo(w, r, id)
		}
	}
	return nil, &failure{http.StatusNotFound, "Invalid URL path: not a recognized HTTP API endpoint"}
}

// next returns the index of a new change and wakes blocking queries. s.mu must be held.
func (s *Server) next() uint64 {
	s.index++
	close(s.changed)
	s.changed = make(chan struct{})
	return s.index
}

// block waits until current returns more than the index in the request, the wait of the request is
// over, or the client has gone. Then it sets the headers with the index. s.mu must be held; block
// releases it while it waits.
func (s *Server) block(w http.ResponseWriter, r *http.Request, current func() uint64) {
	after, _ := strconv.ParseUint(r.URL.Query().Get("index"), 10, 64)
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	if err != nil {
		wait = 5 * time.Minute
	}
	deadline := time.After(wait)
	for over := after == 0; !over && current() <= after; {
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-deadline:
			over = true
		case <-r.Context().Done():
			over = true
		}
		s.mu.Lock()
	}
	w.Header().Set("X-Consul-Index", strconv.FormatUint(max(current(), 1), 10))
	w.Header().Set("X-Consul-Knownleader", "true")
}
