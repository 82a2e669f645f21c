package consultest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *Server) get(w http.ResponseWriter, r *http.Request, key string) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	tree := query.Has("recurse") || query.Has("keys")
	s.block(w, r, func() uint64 {
		if e := s.entries[key]; e != nil && !tree {
			return e.ModifyIndex
		}
		return s.index
	})
	switch {
	case query.Has("keys"):
		return s.keys(key, query.Get("separator"))
	case query.Has("recurse"):
		var out []Entry
		for _, k := range s.below(key) {
			out = append(out, *s.entries[k])
		}
		if out == nil {
			return nil, &failure{status: http.StatusNotFound}
		}
		return out, nil
	}
	e := s.entries[key]
	if e == nil {
		return nil, &failure{status: http.StatusNotFound}
	}
	if query.Has("raw") {
		return raw(e.Value), nil
	}
	return []Entry{*e}, nil
}

// raw is a response that is not JSON.
type raw []byte

// below returns the keys with a prefix, sorted.
func (s *Server) below(prefix string) []string {
	var out []string
	for k := range s.entries {
		if strings.HasPrefix(k, prefix) {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Server) keys(prefix, separator string) (any, *failure) {
	var out []string
	for _, k := range s.below(prefix) {
		if separator != "" {
			if i := strings.Index(k[len(prefix):], separator); i >= 0 {
				k = k[:len(prefix)+i+len(separator)]
			}
		}
		if len(out) == 0 || out[len(out)-1] != k {
			out = append(out, k)
		}
	}
	if out == nil {
		return nil, &failure{status: http.StatusNotFound}
	}
	return out, nil
}

func (s *Server) put(r *http.Request, key string, body []byte) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	op := operation{Verb: "set", Key: key, Value: body, Session: query.Get("acquire") + query.Get("release")}
	op.Flags, _ = strconv.ParseUint(query.Get("flags"), 10, 64)
	op.Index, _ = strconv.ParseUint(query.Get("cas"), 10, 64)
	switch {
	case key == "" || strings.HasPrefix(key, "/"):
		return nil, &failure{http.StatusBadRequest, "Invalid key"}
	case query.Has("cas"):
		op.Verb = "cas"
	case query.Has("acquire"):
		op.Verb = "lock"
	case query.Has("release"):
		op.Verb = "unlock"
	}
	_, err := s.execute(op)
	if err == errInvalidSession {
		return nil, &failure{http.StatusInternalServerError, fmt.Sprintf("invalid session %q", op.Session)}
	}
	return err == nil, nil
}

func (s *Server) remove(r *http.Request, key string) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	query := r.URL.Query()
	op := operation{Verb: "delete", Key: key}
	switch {
	case query.Has("recurse"):
		op.Verb = "delete-tree"
	case query.Has("cas"):
		op.Verb = "delete-cas"
		op.Index, _ = strconv.ParseUint(query.Get("cas"), 10, 64)
	}
	_, err := s.execute(op)
	return err == nil, nil
}

type operation struct {
	Verb    string
	Key     string
	Value   []byte
	Flags   uint64
	Index   uint64
	Session string
}

type operationError string

func (e operationError) Error() string { return string(e) }

const (
	errInvalidSession = operationError("invalid session")
	errStale          = operationError("index is stale")
	errLocked         = operationError("lock is already held")
	errDelayed        = operationError("failed to lock due to lock delay")
	errExists         = operationError("key exists")
	errMissing        = operationError("key doesn't exist")
)

// execute carries out one operation and returns the operation's result entry, if any. s.mu must be
// held.
func (s *Server) execute(op operation) (*Entry, error) {
	e := s.entries[op.Key]
	var index uint64
	if e != nil {
		index = e.ModifyIndex
	}
	switch op.Verb {
	case "get":
		if e == nil {
			return nil, errMissing
		}
		return e, nil
	case "check-index":
		if e == nil || index != op.Index {
			return nil, errStale
		}
		return e, nil
	case "check-session":
		if e == nil || e.Session != op.Session {
			return nil, errLocked
		}
		return e, nil
	case "check-not-exists":
		if e != nil {
			return nil, errExists
		}
		return nil, nil
	case "cas", "delete-cas":
		if index != op.Index {
			return nil, errStale
		}
	case "lock", "unlock":
		if s.sessions[op.Session] == nil {
			return nil, errInvalidSession
		}
		held := e != nil && e.Session != ""
		if op.Verb == "unlock" && (!held || e.Session != op.Session) ||
			op.Verb == "lock" && held && e.Session != op.Session {
			return nil, errLocked
		}
		if op.Verb == "lock" && time.Now().Before(s.delays[op.Key]) {
			return nil, errDelayed
		}
	}
	return s.change(op, e), nil
}

// change applies an operation whose conditions are met. It returns the changed entry, or nil after
// a deletion. s.mu must be held.
func (s *Server) change(op operation, e *Entry) *Entry {
	switch op.Verb {
	case "delete", "delete-cas":
		if e != nil {
			delete(s.entries, op.Key)
			s.next()
		}
		return nil
	case "delete-tree":
		for _, k := range s.below(op.Key) {
			delete(s.entries, k)
		}
		s.next()
		return nil
	}
	changed := Entry{Key: op.Key, Flags: op.Flags, Value: op.Value, ModifyIndex: s.next()}
	changed.CreateIndex = changed.ModifyIndex
	if e != nil {
		changed.CreateIndex, changed.LockIndex, changed.Session = e.CreateIndex, e.LockIndex, e.Session
	}
	switch op.Verb {
	case "lock":
		if changed.Session != op.Session {
			changed.LockIndex++
		}
		changed.Session = op.Session
	case "unlock":
		changed.Session = ""
	}
	s.entries[op.Key] = &changed
	return &changed
}

// transaction carries out all operations or none.
func (s *Server) transaction(body []byte) (any, *failure) {
	var items []struct{ KV *operation }
	if err := json.Unmarshal(body, &items); err != nil {
		return nil, &failure{http.StatusBadRequest, "Failed to parse body: " + err.Error()}
	}
	if len(items) > MaxOperations {
		return nil, &failure{http.StatusRequestEntityTooLarge,
			fmt.Sprintf("Transaction contains too many operations (%d > %d)", len(items), MaxOperations)}
	}
	type result struct{ KV *Entry }
	type problem struct {
		OpIndex int
		What    string
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := maps.Clone(s.entries)
	out := struct {
		Results []result
		Errors  []problem
	}{}
	for i, item := range items {
		if item.KV == nil {
			return nil, &failure{http.StatusBadRequest, "unknown operation"}
		}
		e, err := s.execute(*item.KV)
		if err != nil {
			out.Errors = append(out.Errors, problem{i, err.Error()})
			continue
		}
		if e == nil {
			continue
		}
		shown := *e
		if !strings.HasPrefix(item.KV.Verb, "get") {
			shown.Value = nil
		}
		out.Results = append(out.Results, result{&shown})
	}
	if out.Errors != nil {
		s.entries, out.Results = before, nil
		return out, &failure{status: http.StatusConflict}
	}
	return out, nil
}
