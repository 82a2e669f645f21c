package getmodules

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
	"tofu/internal/limits"
)

// packageStore keeps packages in the user's cache directory, each content once, for all root modules and runs.
// Losing it only costs time, so that errors of writing are ignored. It is safe for concurrent use,
// including by several processes: contents and records are complete when they get their names.
//
// It holds only what can't change at its source: releases in a registry and commits. What a branch or
// an archive was at last is used if the network may not be.
type packageStore struct {
	dir     string // "" for no store
	fresh   bool   // whether nothing is found, because everything is to be fetched again
	offline bool   // whether the last package of an address is good enough
}

// stored is a package in the store.
type stored struct {
	Hash     depsfile.Hash `json:"hash"`
	Revision string        `json:"revision,omitempty"`
	// Subdir is the subdirectory that a redirect has added, and Place the one that the registry has
	// named.
	Subdir string `json:"subdir,omitempty"`
	Place  string `json:"place,omitempty"`
	dir    string
}

func openStore(cacheDir string) *packageStore {
	if cacheDir == "" {
		return &packageStore{}
	}
	return &packageStore{dir: filepath.Join(cacheDir, "modules")}
}

// The keys of records. Addresses are hashed, because they may contain secrets.
func releaseKey(source, version string) string { return "release " + source + " " + version }
func commitKey(address, commit string) string  { return "commit " + address + " " + commit }
func lastKey(address string) string            { return "last " + address }
func versionsKey(source string) string         { return "versions " + source }

// keys returns the keys under which a package for a request may be stored, the best first.
func (s *packageStore) keys(req request) []string {
	var keys []string
	if req.source != "" {
		keys = append(keys, releaseKey(req.source, req.version))
	}
	if req.pin != nil && req.pin.Revision != "" {
		keys = append(keys, commitKey(req.address, req.pin.Revision))
	}
	if commit := wholeCommit(req.address); commit != "" {
		keys = append(keys, commitKey(req.address, commit))
	}
	if s.offline || req.pin != nil && req.pin.Hash != "" {
		keys = append(keys, lastKey(req.address))
	}
	return keys
}

// find returns an intact package for a request, or nil.
func (s *packageStore) find(req request) *stored {
	if s.dir == "" || s.fresh {
		return nil
	}
	for _, key := range s.keys(req) {
		var found stored
		if !s.read(key, &found) || req.pin != nil && req.pin.Hash != "" && req.pin.Hash != found.Hash {
			continue
		}
		dir, ok := s.content(found.Hash)
		if !ok {
			continue
		}
		if got, err := HashTree(dir); err == nil && got == found.Hash {
			now := time.Now()
			_ = os.Chtimes(dir, now, now)
			found.dir = dir
			return &found
		}
		_ = os.RemoveAll(dir) // it is damaged, or not there
	}
	return nil
}

// release returns the location of a version of a module in a registry, with its package from the store.
func (s *packageStore) release(source addrs.ModuleSource, version string, pin *depsfile.ModuleLock) (location, bool) {
	place := location{source: source.Address, version: version}
	place.found = s.find(request{place, pin})
	if place.found == nil {
		return location{}, false
	}
	place.subdir = path.Join(place.found.Place, source.Subdir)
	return place, true
}

// add stores the package in a directory for a request.
func (s *packageStore) add(req request, dir string, p *stored) {
	to, ok := s.content(p.Hash)
	if s.dir == "" || !ok {
		return
	}
	if _, err := os.Stat(to); err != nil {
		contents := filepath.Dir(to)
		if os.MkdirAll(contents, 0o700) != nil {
			return
		}
		s.prune(contents, req)
		tmp, err := atomicfile.TempDir(contents)
		if err != nil {
			return
		}
		defer os.RemoveAll(tmp)
		fresh := filepath.Join(tmp, "package")
		if err := (atomicfile.CopyOptions{KeepLinks: true}).CopyTree(dir, fresh); err != nil {
			return
		}
		if err := os.Rename(fresh, to); err != nil {
			return // another process has added it, or nothing can be written
		}
	}
	s.write(lastKey(req.address), p)
	if p.Revision != "" {
		s.write(commitKey(req.address, p.Revision), p)
	}
	if req.source == "" {
		return
	}
	s.write(releaseKey(req.source, req.version), p)
	var known []string
	s.read(versionsKey(req.source), &known)
	if !slices.Contains(known, req.version) {
		s.write(versionsKey(req.source), append(known, req.version))
	}
}

// unused is the time after which a content that no run has used is removed.
const unused = 30 * 24 * time.Hour

// prune removes contents that were not used for long, and what the address of a request was before if
// it may change: a branch of a large repository must not fill the disk commit by commit.
func (s *packageStore) prune(contents string, req request) {
	atomicfile.RemoveStale(contents)
	entries, _ := os.ReadDir(contents)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unused {
			_ = os.RemoveAll(filepath.Join(contents, e.Name()))
		}
	}
	var last stored
	if req.source == "" && req.pin == nil && wholeCommit(req.address) == "" && s.read(lastKey(req.address), &last) {
		if dir, ok := s.content(last.Hash); ok {
			_ = os.RemoveAll(dir)
		}
	}
}

// versions returns the versions of a module in a registry that are stored.
func (s *packageStore) versions(source string) []depsfile.Version {
	var texts []string
	s.read(versionsKey(source), &texts)
	var list []depsfile.Version
	for _, text := range texts {
		if v, err := depsfile.ParseVersion(text); err == nil {
			list = append(list, v)
		}
	}
	return list
}

// wholeCommitName matches the full name of a commit.
var wholeCommitName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`) })

// wholeCommit returns the commit that an address of a git repository names in full, or "".
func wholeCommit(address string) string {
	method, rest := splitMethod(address)
	u, err := url.Parse(rest)
	if err != nil || method != "git" && u.Scheme != "git" || !wholeCommitName().MatchString(u.Query().Get("ref")) {
		return ""
	}
	return u.Query().Get("ref")
}

// content returns the directory for a content.
func (s *packageStore) content(h depsfile.Hash) (dir string, ok bool) {
	raw, err := base64.StdEncoding.DecodeString(h.Value())
	if h.Scheme() != depsfile.SchemeContent || err != nil || len(raw) != sha256.Size {
		return "", false
	}
	return filepath.Join(s.dir, "contents", hex.EncodeToString(raw)), true
}

func (s *packageStore) record(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(s.dir, "records", hex.EncodeToString(sum[:16]))
}

func (s *packageStore) read(key string, into any) bool {
	if s.dir == "" {
		return false
	}
	f, err := os.Open(s.record(key))
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := limits.ReadAll(f, 1<<20, "the record")
	return err == nil && json.Unmarshal(text, into) == nil
}

func (s *packageStore) write(key string, doc any) {
	text, err := json.Marshal(doc)
	if err == nil && os.MkdirAll(filepath.Join(s.dir, "records"), 0o700) == nil {
		_ = atomicfile.Write(s.record(key), text, 0o600)
	}
}
