package session

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"

	"tofu/internal/addrs"
	"tofu/internal/configs"
)

// snapshotModule describes a module in the configuration of a plan, in the form of OpenTofu's plan
// files. The files of a module are below "m-" and its key. Modules with the same directory share
// the files of the first of them.
type snapshotModule struct {
	Key     addrs.Module
	Source  string `json:",omitempty"`
	Version string `json:",omitempty"`
	Dir     string
}

const snapshotManifest = "modules.json"

func snapshotPrefix(m addrs.Module) string { return "m-" + string(m) + "/" }

func packSnapshot(s *configs.Snapshot) (map[string][]byte, error) {
	out := make(map[string][]byte, len(s.Files)+1)
	manifest := make([]snapshotModule, 0, len(s.Modules))
	first := make(map[string]string, len(s.Modules))
	for _, m := range s.Modules {
		manifest = append(manifest, snapshotModule{m.Path, m.Source, m.Version, filepath.ToSlash(m.Dir)})
		dir := filepath.Clean(m.Dir)
		if _, ok := first[dir]; !ok {
			first[dir] = snapshotPrefix(m.Path)
		}
	}
	for name, text := range s.Files {
		dir, base := filepath.Split(name)
		out[first[filepath.Clean(dir)]+base] = text
	}
	text, err := json.Marshal(manifest)
	if err != nil {
		return nil, fmt.Errorf("encoding the configuration: %w", err)
	}
	out[snapshotManifest] = text
	return out, nil
}

func unpackSnapshot(files map[string][]byte) (*configs.Snapshot, error) {
	var manifest []snapshotModule
	if err := json.Unmarshal(files[snapshotManifest], &manifest); err != nil {
		return nil, fmt.Errorf("reading the configuration in the plan: %w", err)
	}
	s := &configs.Snapshot{Files: make(map[string][]byte, len(files))}
	dirs := make(map[string]string, len(manifest))
	for _, m := range manifest {
		dir := filepath.FromSlash(m.Dir)
		dirs[snapshotPrefix(m.Key)] = dir
		s.Modules = append(s.Modules, configs.SnapshotModule{Path: m.Key, Dir: dir, Source: m.Source, Version: m.Version})
	}
	for name, text := range files {
		prefix, base := path.Split(name)
		if dir, ok := dirs[prefix]; ok {
			s.Files[filepath.Join(dir, base)] = text
		}
	}
	return s, nil
}
