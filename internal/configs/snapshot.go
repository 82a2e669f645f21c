package configs

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// Snapshot holds the files of a loaded configuration and the location of each module. A saved plan
// contains one, so that apply uses the planned configuration.
type Snapshot struct {
	Files   map[string][]byte // content by file name; names are the same as in diagnostics
	Modules []SnapshotModule  // sorted by path; the root first
}

// SnapshotModule is one module of the tree.
type SnapshotModule struct {
	Path            addrs.Module
	Dir             string
	Source, Version string // same as the fields of Config
}

// Snapshot returns a snapshot from which the whole tree can be loaded again.
func (c *Config) Snapshot() *Snapshot {
	parser := c.Root.static.env.parser
	out := &Snapshot{Files: map[string][]byte{}}
	for cfg := range c.Root.AllModules() {
		out.Modules = append(out.Modules, SnapshotModule{Path: cfg.Path, Dir: cfg.Module.Dir, Source: cfg.Source,
			Version: cfg.Version})
		for _, name := range cfg.Module.Files {
			if text := parser.Source(name); text != nil {
				out.Files[name] = text
			}
		}
		out.addLibraries(parser, cfg.Module.symbols)
	}
	slices.SortFunc(out.Modules, func(a, b SnapshotModule) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// addLibraries adds the files of symbol libraries. Their directories are entries of their own.
func (s *Snapshot) addLibraries(parser *Parser, files []string) {
	for _, name := range files {
		if _, ok := s.Files[name]; ok {
			continue
		}
		s.Files[name] = parser.Source(name)
		dir := filepath.Dir(name)
		if !slices.ContainsFunc(s.Modules, func(m SnapshotModule) bool { return filepath.Clean(m.Dir) == dir }) {
			path := addrs.Module(fmt.Sprintf("symbols-%d", len(s.Modules)))
			s.Modules = append(s.Modules, SnapshotModule{Path: path, Dir: dir})
		}
	}
}

// LoadSnapshot loads the module tree of a snapshot. opts.Parser may be nil. If opts.Parser has
// already decoded a directory from equal files, the directory is not decoded again. opts.Resolve is
// ignored.
func LoadSnapshot(ctx context.Context, s *Snapshot, opts *LoadOptions, warn tfdiags.Sink) (*Config, error) {
	with := LoadOptions{}
	if opts != nil {
		with = *opts
	}
	if len(s.Modules) == 0 || !s.Modules[0].Path.IsRoot() {
		return nil, tfdiags.Errorf("Invalid configuration snapshot", "The snapshot has no root module.")
	}
	parser := NewParser(s.FS())
	parser.peer = with.Parser
	with.Parser = parser
	with.Resolve = s.resolve
	return LoadRoot(ctx, s.Modules[0].Dir, &with, warn)
}

func (s *Snapshot) resolve(_ context.Context, req *ModuleRequest) (ResolvedModule, error) {
	i, found := slices.BinarySearchFunc(s.Modules, req.Path,
		func(m SnapshotModule, path addrs.Module) int { return cmp.Compare(m.Path, path) })
	if !found || req.Source.Kind != 0 && s.Modules[i].Source != req.Source.String() {
		return ResolvedModule{}, tfdiags.Errorf("Module not in snapshot",
			"The saved configuration does not contain %s, because its source depends on values that have "+
				"changed.", req.Path).At(req.Call.SourceRange)
	}
	return ResolvedModule{Dir: s.Modules[i].Dir, Version: s.Modules[i].Version}, nil
}

// FS returns a file system with the snapshot's files.
func (s *Snapshot) FS() FS {
	out := snapshotFS{files: s.Files, dirs: map[string][]fs.DirEntry{}}
	for name := range s.Files {
		dir := filepath.Dir(name)
		out.dirs[dir] = append(out.dirs[dir], snapshotEntry(path.Base(filepath.ToSlash(name))))
	}
	for _, m := range s.Modules {
		if _, ok := out.dirs[filepath.Clean(m.Dir)]; !ok {
			out.dirs[filepath.Clean(m.Dir)] = nil // a module directory may be empty
		}
	}
	for _, entries := range out.dirs {
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return out
}

type snapshotFS struct {
	files map[string][]byte
	dirs  map[string][]fs.DirEntry
}

func (s snapshotFS) ReadDir(dir string) ([]fs.DirEntry, error) {
	entries, ok := s.dirs[filepath.Clean(dir)]
	if !ok {
		return nil, fmt.Errorf("reading %s in the saved configuration: %w", dir, fs.ErrNotExist)
	}
	return entries, nil
}

func (s snapshotFS) ReadFile(name string) ([]byte, error) {
	src, ok := s.files[filepath.Clean(name)]
	if !ok {
		return nil, fmt.Errorf("reading %s in the saved configuration: %w", name, fs.ErrNotExist)
	}
	return src, nil
}

// snapshotEntry is the directory entry of a file.
type snapshotEntry string

func (e snapshotEntry) Name() string               { return string(e) }
func (e snapshotEntry) IsDir() bool                { return false }
func (e snapshotEntry) Type() fs.FileMode          { return 0 }
func (e snapshotEntry) Info() (fs.FileInfo, error) { return snapshotInfo{e}, nil }

type snapshotInfo struct{ snapshotEntry }

func (i snapshotInfo) Size() int64        { return 0 }
func (i snapshotInfo) Mode() fs.FileMode  { return 0 }
func (i snapshotInfo) ModTime() time.Time { return time.Time{} }
func (i snapshotInfo) Sys() any           { return nil }
