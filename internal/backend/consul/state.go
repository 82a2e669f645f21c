package consul

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/limits"
	"tofu/internal/restapi"
)

// maxChunk is the maximum size of a value in bytes.
const maxChunk = 512 << 10

// workspaceMark separates the path and the name of a workspace in its key.
const workspaceMark = "-env:"

// version identifies a stored state: the index of the last change of its key, and the hash of the
// chunks that the key's value lists. The zero value means that the key doesn't exist.
type version struct {
	index  uint64
	chunks string // "" if there are none
}

// String returns the version in the form that backend.Swapper exchanges: "", INDEX or INDEX/HASH.
func (v version) String() string {
	if v == (version{}) {
		return ""
	}
	return strings.TrimSuffix(strconv.FormatUint(v.index, 10)+"/"+v.chunks, "/")
}

func parseVersion(text string) version {
	index, chunks, _ := strings.Cut(text, "/")
	n, _ := strconv.ParseUint(index, 10, 64)
	return version{n, chunks}
}

// manifest is the value of a key whose state is cut into chunks.
type manifest struct {
	Chunks []string `json:"chunks"`
	Hash   string   `json:"current-hash"` // MD5 of the state before it is compressed
}

// entry is a key with its value, in the form of the HTTP interface.
type entry struct {
	Key         string
	Value       []byte
	Session     string
	ModifyIndex uint64
}

func (c *Config) key(workspace string) string {
	if workspace == backend.DefaultWorkspace {
		return c.Path
	}
	return c.Path + workspaceMark + workspace
}

// keyPath returns the URL path of a key.
func keyPath(key string) string { return "/v1/kv/" + key }

// List implements backend.Store.
func (s *Store) List(ctx context.Context) ([]string, error) {
	resp, err := s.do(ctx, http.MethodGet, keyPath(s.config.Path), restapi.Request{Limit: limits.State},
		"keys", "", "separator", "/")
	if err != nil {
		return nil, err
	}
	var keys []string
	switch resp.Status {
	case http.StatusOK:
		if err := json.Unmarshal(resp.Body, &keys); err != nil {
			return nil, fmt.Errorf("listing the workspaces: %w", err)
		}
	case http.StatusNotFound:
	default:
		return nil, s.failure(resp)
	}
	var names []string
	for _, key := range keys {
		name, isWorkspace := strings.CutPrefix(key, s.config.Path+workspaceMark)
		switch {
		case key == s.config.Path:
			names = append(names, backend.DefaultWorkspace)
		case isWorkspace && name != "" && !strings.HasSuffix(name, "/"): // a workspace, not its chunks or its lock
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// get returns the entry of a key, or nil if the key doesn't exist.
func (s *Store) get(ctx context.Context, key string) (*entry, error) {
	resp, err := s.do(ctx, http.MethodGet, keyPath(key), restapi.Request{Limit: limits.State}, "consistent", "")
	if err != nil {
		return nil, err
	}
	switch resp.Status {
	case http.StatusNotFound:
		return nil, nil
	case http.StatusOK:
		var entries []entry
		if err := json.Unmarshal(resp.Body, &entries); err != nil {
			return nil, fmt.Errorf("the server's response about the key %s is invalid: %w", key, err)
		}
		if len(entries) != 1 {
			return nil, fmt.Errorf("the server's response about the key %s has %d entries instead of 1", key, len(entries))
		}
		return &entries[0], nil
	}
	return nil, s.failure(resp)
}

// errChunks reports that the chunks of a state don't match the manifest in its key.
var errChunks = errors.New("the chunks of the state don't match the checksums in its key")

// Get implements backend.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	data, _, err := s.GetVersion(ctx, workspace)
	return data, err
}

// GetVersion implements backend.Swapper.
func (s *Store) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	data, v, err := s.read(ctx, workspace)
	for range 2 { // another process may have replaced the state and removed its chunks in the meantime
		if !errors.Is(err, errChunks) {
			break
		}
		data, v, err = s.read(ctx, workspace)
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the state: %w", err)
	}
	return data, v.String(), nil
}

func (s *Store) read(ctx context.Context, workspace string) ([]byte, version, error) {
	e, err := s.get(ctx, s.config.key(workspace))
	if err != nil || e == nil {
		return nil, version{}, err
	}
	data, v := e.Value, e.version()
	if data == nil {
		data = []byte{}
	}
	if v.chunks != "" {
		data, err = s.readChunks(ctx, parseManifest(data))
		if err != nil {
			return nil, v, err
		}
	}
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		data, err = backend.Unzip(data)
		if err != nil {
			return nil, v, err
		}
	}
	if v.chunks != "" && v.chunks != hashOf(data) {
		return nil, v, errChunks
	}
	return data, v, nil
}

// version returns the version of a state from the entry of its key.
func (e *entry) version() version {
	if e == nil {
		return version{}
	}
	v := version{index: e.ModifyIndex}
	if m := parseManifest(e.Value); m != nil {
		v.chunks = m.Hash
	}
	return v
}

func hashOf(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

// parseManifest returns the manifest in a value, or nil if the value is not a manifest.
func parseManifest(value []byte) *manifest {
	var m manifest
	if !bytes.Contains(value, []byte(`"current-hash"`)) || json.Unmarshal(value, &m) != nil || m.Hash == "" {
		return nil
	}
	return &m
}

func (s *Store) readChunks(ctx context.Context, m *manifest) ([]byte, error) {
	out := make([]byte, 0, len(m.Chunks)*maxChunk)
	for _, key := range m.Chunks {
		resp, err := s.do(ctx, http.MethodGet, keyPath(key), restapi.Request{Limit: limits.State}, "raw", "",
			"consistent", "")
		switch {
		case err != nil:
			return nil, err
		case resp.Status == http.StatusNotFound:
			return nil, fmt.Errorf("%w: there is no key %s", errChunks, key)
		case resp.Status != http.StatusOK:
			return nil, s.failure(resp)
		}
		out = append(out, resp.Body...)
		if len(out) > limits.State {
			return nil, limits.TooLarge("the state", limits.State)
		}
	}
	return out, nil
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	for attempt := 0; ; attempt++ {
		e, err := s.get(ctx, s.config.key(workspace))
		if err != nil {
			return fmt.Errorf("writing the state: %w", err)
		}
		_, err = s.write(ctx, workspace, e.version(), data)
		if !errors.Is(err, backend.ErrChanged) || attempt == 2 {
			return err
		}
	}
}

// Swap implements backend.Swapper.
func (s *Store) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	v, err := s.write(ctx, workspace, parseVersion(version), data)
	return v.String(), err
}

// write replaces the state if its version equals the parameter old, and removes the chunks of the
// replaced state. It writes chunks if the state is too large for one value.
func (s *Store) write(ctx context.Context, workspace string, old version, data []byte) (version, error) {
	payload := data
	if s.config.Gzip {
		var err error
		payload, err = backend.Zip(data, gzip.DefaultCompression)
		if err != nil {
			return version{}, fmt.Errorf("writing the state: %w", err)
		}
	}
	var now version
	op := operation{Verb: "cas", Index: old.index, Key: s.config.key(workspace), Value: payload}
	index, err := s.replace(ctx, workspace, op)
	if errors.Is(err, errTooLarge) {
		now.chunks = hashOf(data)
		op.Value, err = s.writeChunks(ctx, op.Key, now.chunks, payload)
		if err == nil {
			index, err = s.replace(ctx, workspace, op)
		}
		if errors.Is(err, backend.ErrChanged) {
			s.dropChunks(ctx, op.Key, now.chunks)
		}
	}
	if err != nil {
		return version{}, fmt.Errorf("writing the state: %w", err)
	}
	now.index = index
	if old.chunks != "" && old.chunks != now.chunks {
		s.removeChunks(ctx, op.Key, old.chunks)
	}
	return now, nil
}

func chunkFolder(key, hash string) string { return key + "/tfstate." + hash + "/" }

// writeChunks writes the chunks of a state and returns the manifest.
func (s *Store) writeChunks(ctx context.Context, key, hash string, payload []byte) ([]byte, error) {
	m := manifest{Hash: hash}
	for chunk := range slices.Chunk(payload, maxChunk) {
		name := chunkFolder(key, hash) + strconv.Itoa(len(m.Chunks))
		resp, err := s.do(ctx, http.MethodPut, keyPath(name), restapi.Request{Body: chunk})
		if err != nil {
			return nil, err
		}
		if resp.Status != http.StatusOK {
			return nil, s.failure(resp)
		}
		m.Chunks = append(m.Chunks, name)
	}
	return json.Marshal(m)
}

// dropChunks removes the chunks of a state that was not written because another process was faster.
// It keeps them if that process has written the same state.
func (s *Store) dropChunks(ctx context.Context, key, hash string) {
	e, err := s.get(ctx, key)
	if err == nil && e.version().chunks != hash {
		s.removeChunks(ctx, key, hash)
	}
}

// removeChunks removes chunks that no key lists anymore. Leftovers do no harm.
func (s *Store) removeChunks(ctx context.Context, key, hash string) {
	resp, err := s.do(ctx, http.MethodDelete, keyPath(chunkFolder(key, hash)), restapi.Request{}, "recurse", "")
	if err == nil && resp.Status != http.StatusOK {
		err = s.failure(resp)
	}
	if err != nil {
		slog.Warn("could not remove the chunks of the replaced state", "key", key, "error", err)
	}
}

// Delete implements backend.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	key := s.config.key(workspace)
	e, err := s.get(ctx, key)
	if err == nil && e != nil {
		_, err = s.transact(ctx, []operation{{Verb: "delete", Key: key}})
		if m := parseManifest(e.Value); err == nil && m != nil {
			s.removeChunks(ctx, key, m.Hash)
		}
	}
	if err != nil {
		return fmt.Errorf("deleting the state: %w", err)
	}
	return nil
}
