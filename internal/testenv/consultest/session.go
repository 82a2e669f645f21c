package consultest

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"
)

type session struct {
	info  map[string]any
	ttl   time.Duration
	delay time.Duration
	end   *time.Timer
	since uint64
}

// ttls is the number of TTLs without a renewal after which a session expires.
const ttls = 2

func (s *Server) createSession(body []byte) (any, *failure) {
	var request struct {
		Name, Node, TTL, Behavior string
		LockDelay                 json.RawMessage
	}
	if len(body) > 0 {
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, &failure{http.StatusBadRequest, "Request decode failed: " + err.Error()}
		}
	}
	made := &session{delay: 15 * time.Second}
	if request.LockDelay != nil {
		var text string
		var number int64
		if json.Unmarshal(request.LockDelay, &text) == nil {
			made.delay, _ = time.ParseDuration(text)
		} else if json.Unmarshal(request.LockDelay, &number) == nil {
			made.delay = time.Duration(number)
		}
	}
	if request.TTL != "" {
		ttl, err := time.ParseDuration(request.TTL)
		if err != nil || ttl < 10*time.Second || ttl > 24*time.Hour {
			return nil, &failure{http.StatusBadRequest,
				"Invalid Session TTL '" + request.TTL + "', must be between [10s=24h0m0s]"}
		}
		made.ttl = ttl
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	id := uuid.NewString()
	made.since = s.next()
	made.info = map[string]any{"ID": id, "Name": request.Name, "Node": "node", "LockDelay": made.delay.Nanoseconds(),
		"Behavior": "release", "TTL": request.TTL, "CreateIndex": made.since, "ModifyIndex": made.since}
	if made.ttl > 0 {
		made.end = time.AfterFunc(ttls*made.ttl, func() { s.Expire(id) })
	}
	s.sessions[id] = made
	return map[string]string{"ID": id}, nil
}

func (s *Server) renewSession(id string) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.sessions[id]
	if found == nil {
		return nil, &failure{http.StatusNotFound, "Session id '" + id + "' not found"}
	}
	if found.end != nil {
		found.end.Reset(ttls * found.ttl)
	}
	return []any{found.info}, nil
}

func (s *Server) sessionInfo(w http.ResponseWriter, r *http.Request, id string) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block(w, r, func() uint64 { return s.index })
	if found := s.sessions[id]; found != nil {
		return []any{found.info}, nil
	}
	return []any{}, nil
}

// Expire ends a session as if its time to live had passed.
func (s *Server) Expire(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end(id)
}

// ExpireAll ends all sessions.
func (s *Server) ExpireAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.sessions {
		s.end(id)
	}
}

// Sessions returns the number of sessions.
func (s *Server) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Forgive ends all lock delays.
func (s *Server) Forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.delays)
}

// end ends a session: its keys are released, and can't be acquired during the lock delay. s.mu must
// be held.
func (s *Server) end(id string) {
	found := s.sessions[id]
	if found == nil {
		return
	}
	delete(s.sessions, id)
	if found.end != nil {
		found.end.Stop()
	}
	for key, e := range s.entries {
		if e.Session != id {
			continue
		}
		released := *e
		released.Session, released.ModifyIndex = "", s.next()
		s.entries[key] = &released
		if found.delay > 0 {
			s.delays[key] = time.Now().Add(found.delay)
		}
	}
	s.next()
}
