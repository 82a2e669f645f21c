package roots

import (
	"encoding/json"
	"os"
	"path/filepath"

	"tofu/internal/atomicfile"
)

// Real returns the absolute path of a directory with symbolic links resolved, which identifies the
// directory. If the directory doesn't exist, links above it are resolved.
func Real(path string) string {
	path = Absolute(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Real(parent), filepath.Base(path))
}

// stateIndex finds root modules by their states. A local state can have many paths: symbolic links,
// hard links, bind mounts and, on some file systems, the case of letters lead to one file.
type stateIndex map[string]*Root

func (x stateIndex) find(keys []string) *Root {
	for _, key := range keys {
		if r := x[key]; r != nil {
			return r
		}
	}
	return nil
}

func (x stateIndex) add(keys []string, r *Root) {
	for _, key := range keys {
		if x[key] == nil {
			x[key] = r
		}
	}
}

// lastingKeys returns texts of which two identities share one if they mean the same state. They
// hold for as long as no directory is moved.
func (id StateID) lastingKeys() []string {
	path, ok := id.File()
	if !ok {
		return []string{string(id)}
	}
	keys := []string{"path " + path}
	dir, rest := filepath.Dir(path), filepath.Base(path)
	for {
		if info, err := os.Stat(dir); err == nil {
			if number := atomicfile.Number(info); number != "" {
				keys = append(keys, "directory "+number+" "+rest)
			}
			return keys
		}
		if dir == filepath.Dir(dir) {
			return keys
		}
		dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest)
	}
}

// keys is like lastingKeys, with a key for the file itself, which is replaced when the state is
// written.
func (id StateID) keys() []string {
	keys := id.lastingKeys()
	if path, ok := id.File(); ok {
		if info, err := os.Stat(path); err == nil && atomicfile.Number(info) != "" {
			keys = append(keys, "file "+atomicfile.Number(info))
		}
	}
	return keys
}

// File returns the path of a local state, with symbolic links resolved.
func (id StateID) File() (path string, ok bool) {
	var parts []string
	if json.Unmarshal([]byte(id), &parts) != nil || len(parts) != 2 || parts[0] != "local" {
		return "", false
	}
	path, err := atomicfile.Resolve(parts[1])
	if err != nil {
		return "", false
	}
	return filepath.Join(Real(filepath.Dir(path)), filepath.Base(path)), true
}
