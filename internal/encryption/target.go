package encryption

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// wireVersion is the version of the file format.
const wireVersion = "v0"

// keyTimeout limits the run time of key providers and external programs.
const keyTimeout = 5 * time.Minute

// wire is the file format of encrypted data.
type wire struct {
	Serial  *uint64           `json:"serial,omitempty"`
	Lineage *string           `json:"lineage,omitempty"`
	Meta    map[string][]byte `json:"meta"`
	Data    []byte            `json:"encrypted_data"`
	Version string            `json:"encryption_version"`
}

// Target encrypts with the first of its methods and decrypts with the first one that succeeds. It
// is safe for concurrent use.
type Target struct {
	what     string // what the target encrypts, for messages
	enforced bool   // whether everything must be encrypted
	methods  []*method

	mu         sync.Mutex
	encryption *sealing
	decryption map[string]Keys // decryption keys by key provider and metadata
	// reusable holds the keys that the first method has decrypted with and may encrypt with, by
	// their metadata. It is no longer used once encryption is set.
	reusable map[string]*sealing
}

// sealing holds the keys for encryption and their metadata. A target sets its sealing once, so that
// the key stays the same within a process.
type sealing struct {
	keys Keys
	meta map[string][]byte
	uses int // number of times that this process has decrypted data with these keys
}

// IsEncrypted reports whether data is encrypted, even if Decrypt returns an error because the data is
// damaged or has a version of the format that this program doesn't read.
func IsEncrypted(data []byte) bool {
	w, err := parseWire(data)
	return err != nil || w != nil
}

// parseWire parses the encrypted format. It returns nil for other data, and an error if the
// encrypted data is damaged or has another version of the format.
func parseWire(data []byte) (*wire, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) ||
		!bytes.Contains(data, []byte(`"encrypted_data"`)) {
		return nil, nil
	}
	var probe struct {
		Data    json.RawMessage `json:"encrypted_data"`
		Version json.RawMessage `json:"encryption_version"`
	}
	if json.Unmarshal(data, &probe) != nil || probe.Data == nil || probe.Version == nil {
		return nil, nil
	}
	w := new(wire)
	if err := json.Unmarshal(data, w); err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	if w.Version != wireVersion {
		return nil, fmt.Errorf("it is encrypted in the format %q, which this program doesn't support", w.Version)
	}
	return w, nil
}

// Encrypts reports whether Encrypt encrypts data.
func (t *Target) Encrypts() bool { return t != nil && t.methods[0].cipher != nil }

// Encrypt encrypts data. The result is JSON on one line. If the first method is "unencrypted",
// Encrypt returns plain unchanged.
func (t *Target) Encrypt(plain []byte) ([]byte, error) {
	m := t.methods[0]
	if m.cipher == nil {
		return plain, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), keyTimeout)
	defer cancel()
	s, err := t.seal(ctx, m)
	if err != nil {
		return nil, err
	}
	out := wire{Meta: s.meta, Version: wireVersion}
	out.Serial, out.Lineage = identity(plain)
	out.Data, err = m.cipher.Encrypt(ctx, plain, s.keys)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.addr, err)
	}
	return json.Marshal(out)
}

// manyKeys is the minimum number of different keys that the data read so far must have for
// ReuseIfMany to apply. Writing data again with a reused key reduces the number of keys. Once it is
// below the minimum, new keys are created again.
const manyKeys = 16

// seal returns the encryption key. It prefers the reusable key with which most of the data that was
// read is encrypted. If several keys are equally frequent, it chooses the first by metadata, so
// that runs that read the same rows choose the same key. If no key can be reused, seal uses the key
// in the configuration or creates a new one.
func (t *Target) seal(ctx context.Context, m *method) (*sealing, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.encryption != nil {
		return t.encryption, nil
	}
	if s := t.mostUsed(); s != nil {
		t.encryption, t.reusable = s, nil
		return s, nil
	}
	s := &sealing{meta: make(map[string][]byte)}
	switch {
	case m.fixed != nil:
		s.keys = *m.fixed
	case m.provider != nil:
		if err := checkSize(m.cipher, m.provider.keys, nil); err != nil {
			return nil, fmt.Errorf("%s: %w", m.addr, err)
		}
		var err error
		s.keys, err = m.provider.newKeys(ctx, s.meta)
		if err != nil {
			return nil, err
		}
	}
	t.encryption = s
	return s, nil
}

// mostUsed returns the most frequent keys that can be used to encrypt, or nil.
func (t *Target) mostUsed() (best *sealing) {
	least := ReuseAlways
	if len(t.reusable) >= manyKeys {
		least = ReuseIfMany
	}
	for _, id := range slices.Sorted(maps.Keys(t.reusable)) {
		s := t.reusable[id]
		if s.keys.Reuse >= least && (best == nil || s.uses > best.uses) {
			best = s
		}
	}
	return best
}

// used records that the first method has decrypted data with the given keys, if they are reusable.
func (t *Target) used(m *method, meta map[string][]byte, keys Keys) {
	if keys.Reuse == ReuseNever {
		return
	}
	var id []byte
	for p := m.provider; p != nil; p = p.chain {
		id = append(append(id, meta[p.meta]...), 0)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.encryption != nil {
		return
	}
	s := t.reusable[string(id)]
	if s == nil {
		s = &sealing{keys: Keys{Encryption: keys.Decryption, Reuse: keys.Reuse}, meta: make(map[string][]byte)}
		for p := m.provider; p != nil; p = p.chain {
			s.meta[p.meta] = meta[p.meta]
		}
		t.reusable[string(id)] = s
	}
	s.uses++
}

// newKeys creates new keys along a chain of providers and collects their metadata.
func (p *provider) newKeys(ctx context.Context, meta map[string][]byte) (Keys, error) {
	var chained Keys
	if p.chain != nil {
		var err error
		chained, err = p.chain.newKeys(ctx, meta)
		if err != nil {
			return chained, err
		}
	}
	keys, stored, err := p.keys.Keys(ctx, nil, chained)
	if err != nil {
		return keys, fmt.Errorf("%s: %w", p.addr, err)
	}
	if _, taken := meta[p.meta]; taken {
		return keys, fmt.Errorf("%s: another key provider stores its metadata as %q too; set a different "+
			"encrypted_metadata_alias for one of them", p.addr, p.meta)
	}
	meta[p.meta] = stored
	return keys, nil
}

// Decrypt decrypts data. migrate reports whether the data should be rewritten because Encrypt would
// use another method, key or metadata.
func (t *Target) Decrypt(ctx context.Context, data []byte) (plain []byte, migrate bool, err error) {
	w, err := parseWire(data)
	if err != nil {
		return nil, false, fmt.Errorf("%s can't be decrypted: %w", t.what, err)
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	var failures []string
	for i, m := range t.methods {
		switch {
		case m.cipher == nil && w == nil:
			return data, i > 0, nil
		case m.cipher == nil:
			err = errors.New("it is encrypted")
		case w == nil:
			err = errors.New("it isn't encrypted; to accept that, refer to a method \"unencrypted\" " +
				"in a fallback block")
		default:
			var keys Keys
			plain, keys, err = t.open(ctx, m, w)
			if err == nil {
				if i == 0 {
					t.used(m, w.Meta, keys)
				}
				return plain, i > 0 || keys.Outdated, nil
			}
		}
		if cause := context.Cause(ctx); cause != nil {
			return nil, false, fmt.Errorf("%s was not decrypted: %w", t.what, err)
		}
		failures = append(failures, m.addr+": "+err.Error())
	}
	return nil, false, fmt.Errorf("%s can't be decrypted: %s", t.what, strings.Join(failures, "; "))
}

// open decrypts data with a method and returns the keys that it used.
func (t *Target) open(ctx context.Context, m *method, w *wire) (plain []byte, keys Keys, err error) {
	switch {
	case m.fixed != nil:
		keys = *m.fixed
		if keys.Decryption == nil {
			keys.Decryption = keys.Encryption
		}
	case m.provider != nil:
		keys, err = t.storedKeys(ctx, m.provider, m.cipher, w.Meta)
		if err != nil {
			return nil, keys, err
		}
	}
	plain, err = m.cipher.Decrypt(ctx, w.Data, keys)
	return plain, keys, err
}

// checkSize returns an error if a method can't use a key of the size that a provider would return.
func checkSize(cipher Method, keys KeyProvider, stored []byte) error {
	method, ok := cipher.(SizedMethod)
	provider, sized := keys.(KeySizer)
	if !ok || !sized {
		return nil
	}
	if size := provider.KeySize(stored); size > 0 {
		return method.CheckKeySize(size)
	}
	return nil
}

// storedKeys returns the keys that the data was encrypted with, along a chain of providers. cipher
// is the method that uses them, or nil if another key provider uses them.
func (t *Target) storedKeys(ctx context.Context, p *provider, cipher Method, meta map[string][]byte) (Keys, error) {
	stored, ok := meta[p.meta]
	if len(meta) == 0 {
		return Keys{}, errors.New("it was encrypted without a key provider")
	}
	if !ok {
		return Keys{}, fmt.Errorf("it was encrypted with other key providers (%s)",
			strings.Join(slices.Sorted(maps.Keys(meta)), ", "))
	}
	var chained Keys
	var err error
	if p.chain != nil {
		chained, err = t.storedKeys(ctx, p.chain, nil, meta)
		if err != nil {
			return Keys{}, err
		}
	}
	if err := checkSize(cipher, p.keys, stored); err != nil {
		return Keys{}, fmt.Errorf("%s: %w", p.addr, err)
	}
	id := p.addr + "\x00" + string(stored) + "\x00" + string(chained.Decryption)
	t.mu.Lock()
	defer t.mu.Unlock()
	keys, ok := t.decryption[id]
	if ok {
		return keys, nil
	}
	keys, _, err = p.keys.Keys(ctx, stored, chained)
	if err != nil {
		return Keys{}, fmt.Errorf("%s: %w", p.addr, err)
	}
	keys.Outdated = keys.Outdated || chained.Outdated
	if p.chain != nil {
		keys.Reuse = min(keys.Reuse, chained.Reuse)
	}
	t.decryption[id] = keys
	return keys, nil
}

// identity returns the serial and the lineage at the start of a state file's content, or nil if
// data isn't a state.
func identity(data []byte) (serial *uint64, lineage *string) {
	if !bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{")) {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return nil, nil
	}
	for dec.More() && (serial == nil || lineage == nil) {
		name, err := dec.Token()
		if err != nil {
			return nil, nil
		}
		switch name {
		case "serial":
			err = dec.Decode(&serial)
		case "lineage":
			err = dec.Decode(&lineage)
		case "version", "terraform_version":
			var skipped json.RawMessage
			err = dec.Decode(&skipped)
		default:
			return nil, nil // data is not a state
		}
		if err != nil {
			return nil, nil
		}
	}
	if serial == nil || lineage == nil {
		return nil, nil
	}
	return serial, lineage
}
