package remote

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"tofu/internal/backend"
)

// summary is what the service needs to know about a state in addition to its content. It has no
// outputs if the state is encrypted.
type summary struct {
	Serial  *uint64           `json:"serial"`
	Lineage string            `json:"lineage"`
	Outputs map[string]output `json:"outputs"`
}

type output struct {
	Sensitive bool            `json:"sensitive"`
	Value     json.RawMessage `json:"value"`
	Type      json.RawMessage `json:"type"`
}

// Get implements backend.Store.
func (s *Store) Get(ctx context.Context, local string) ([]byte, error) {
	data, _, err := s.GetVersion(ctx, local)
	return data, err
}

// GetVersion implements backend.Swapper.
func (s *Store) GetVersion(ctx context.Context, local string) ([]byte, string, error) {
	name, ok := s.serviceName(local)
	if !ok && local != backend.DefaultWorkspace {
		return nil, "", s.impossible(local)
	}
	if !ok {
		return nil, "", nil
	}
	w, err := s.find(ctx, name)
	if err != nil || w == nil {
		return nil, "", err
	}
	v, err := s.current(ctx, w)
	if err != nil || v == nil {
		return nil, "", err
	}
	data, err := s.download(ctx, v.text("hosted-state-download-url"))
	if err != nil {
		return nil, "", fmt.Errorf("reading the state: %w", err)
	}
	return data, v.ID, nil
}

// current returns the current version of a workspace's state, or nil if it has no state.
func (s *Store) current(ctx context.Context, w *workspace) (*resource, error) {
	v := new(resource)
	_, _, err := s.call(ctx, http.MethodGet, "workspaces/"+w.id+"/current-state-version", nil, v)
	if hasStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the version of the state: %w", err)
	}
	return v, nil
}

// GetOutputs implements backend.OutputStore. If the user of the token may not read the state, it
// returns a state that has only the outputs.
func (s *Store) GetOutputs(ctx context.Context, local string) ([]byte, error) {
	data, err := s.Get(ctx, local)
	if !hasStatus(err, http.StatusForbidden) && !hasStatus(err, http.StatusNotFound) {
		return data, err
	}
	w, findErr := s.mustFind(ctx, local)
	if findErr != nil {
		return nil, findErr
	}
	var items []resource
	if _, _, outErr := s.call(ctx, http.MethodGet, "workspaces/"+w.id+"/current-state-version-outputs", nil,
		&items); outErr != nil {
		return nil, errors.Join(err, fmt.Errorf("reading the outputs: %w", outErr))
	}
	outputs := make(map[string]any)
	for i := range items {
		a := items[i].Attributes
		outputs[items[i].text("name")] = map[string]any{"value": a["value"], "type": a["detailed-type"],
			"sensitive": a["sensitive"]}
	}
	return json.Marshal(map[string]any{"version": 4, "serial": 1, "outputs": outputs, "resources": []any{}})
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, local string, data []byte) error {
	return s.whileLocked(ctx, local, func(w *workspace) error {
		present, err := s.current(ctx, w)
		if err == nil {
			_, err = s.write(ctx, w, present, data)
		}
		return err
	})
}

// Swap implements backend.Swapper.
func (s *Store) Swap(ctx context.Context, local, version string, data []byte) (string, error) {
	next := ""
	err := s.whileLocked(ctx, local, func(w *workspace) error {
		present, err := s.current(ctx, w)
		if err != nil {
			return err
		}
		if id := idOf(present); id != version {
			return backend.ErrChanged
		}
		next, err = s.write(ctx, w, present, data)
		return err
	})
	return next, err
}

func idOf(r *resource) string {
	if r == nil {
		return ""
	}
	return r.ID
}

// whileLocked calls the function write while this process has locked the workspace, because the
// service accepts states only from the user who has locked it. If necessary, it locks the workspace
// for the call.
func (s *Store) whileLocked(ctx context.Context, local string, write func(w *workspace) error) error {
	err := s.with(ctx, local, func(w *workspace) error {
		s.mu.Lock()
		held := s.locked[w.name]
		s.mu.Unlock()
		if held {
			return write(w)
		}
		if err := s.lock(ctx, w, backend.LockInfo{}); err != nil {
			return err
		}
		return errors.Join(write(w), s.unlock(context.WithoutCancel(ctx), w, "unlock"))
	})
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// write creates the next version of a workspace's state and returns its ID.
func (s *Store) write(ctx context.Context, w *workspace, present *resource, data []byte) (string, error) {
	var about summary
	_ = json.Unmarshal(data, &about) // data that isn't a state gets the next serial
	if about.Serial == nil {
		next := serialOf(present) + 1
		about.Serial = &next
	}
	sum := md5.Sum(data)
	attributes := map[string]any{"serial": *about.Serial, "lineage": about.Lineage, "md5": hex.EncodeToString(sum[:]),
		"force": false}
	if outputs, err := json.Marshal(about.Outputs); err == nil && about.Outputs != nil {
		attributes["json-state-outputs"] = base64.StdEncoding.EncodeToString(outputs)
	}
	v, err := s.post(ctx, w, attributes, data)
	if err == nil {
		return v.ID, nil
	}
	now, findErr := s.current(ctx, w)
	switch {
	case findErr != nil:
	case idOf(now) != idOf(present):
		// The version may have been written although the response was lost.
		if stored, readErr := s.download(ctx, now.text("hosted-state-download-url")); readErr == nil &&
			bytes.Equal(stored, data) {
			return now.ID, nil
		}
	case now != nil && hasStatus(err, http.StatusConflict):
		// The service refuses another lineage, or a serial that isn't greater. The caller knows
		// which state it replaces, and that state is still the current one, so the write is forced.
		attributes["force"] = true
		v, err = s.post(ctx, w, attributes, data)
		if err == nil {
			return v.ID, nil
		}
	}
	return "", err
}

func serialOf(v *resource) uint64 {
	if v == nil {
		return 0
	}
	n, _ := v.Attributes["serial"].(float64)
	return uint64(n)
}

// post creates a version and uploads its content. To services without uploads, it sends the content
// with the request.
func (s *Store) post(ctx context.Context, w *workspace, attributes map[string]any, data []byte) (*resource, error) {
	send := func() (*resource, error) {
		v := new(resource)
		_, _, err := s.call(ctx, http.MethodPost, "workspaces/"+w.id+"/state-versions",
			map[string]any{"data": resource{Type: "state-versions", Attributes: attributes}}, v)
		return v, err
	}
	v, err := send()
	if err != nil && strings.Contains(err.Error(), "param is missing or the value is empty: state") {
		attributes["state"] = base64.StdEncoding.EncodeToString(data)
		return send()
	}
	if err != nil {
		return nil, err
	}
	return v, s.upload(ctx, v.text("hosted-state-upload-url"), data)
}
