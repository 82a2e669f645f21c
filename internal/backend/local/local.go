package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
	"tofu/internal/limits"
)

const (
	defaultFile = "terraform.tfstate"
	defaultDir  = "terraform.tfstate.d"
)

// Config is the configuration of the backend block.
type Config struct {
	Path         string `cfg:"path"`
	WorkspaceDir string `cfg:"workspace_dir"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"path":          "The state file of the default workspace.",
		"workspace_dir": "The directory of the other workspaces' state files.",
	}
}

// Options are the files selected on the command line. They apply to all workspaces.
type Options struct {
	Dir      string // directory that relative paths are relative to; "" for the working directory
	State    string // -state: the file to read
	StateOut string // -state-out: the file to write
	Backup   string // -backup: the backup's file, "-" for none
}

// Driver is the local backend.
var Driver = backend.New("local", func(_ context.Context, c *Config) (backend.Store, error) { return New(c, nil), nil })

// Store keeps snapshots in files.
type Store struct {
	config  Config
	options Options
	// Seal returns what a backup of a snapshot has instead of the snapshot, so that backups are
	// encrypted as soon as the state is. It may be nil. It must be set before the store is used.
	Seal func(snapshot []byte) ([]byte, error)

	mu       sync.Mutex
	locks    map[string]*held // locks that this store holds, by workspace
	backedUp map[string]bool  // workspaces whose backup has been written
}

// New returns the store for the files that config and opts name. Paths are relative to opts.Dir. A
// nil config or nil opts has the same effect as an empty one.
func New(config *Config, opts *Options) *Store {
	s := &Store{locks: make(map[string]*held), backedUp: make(map[string]bool)}
	if config != nil {
		s.config = *config
	}
	if opts != nil {
		s.options = *opts
	}
	return s
}

// paths returns the files of a workspace: the file to read, the file to write, and the backup,
// which is "" if no backup is written.
func (s *Store) paths(workspace string) (in, out, backup string) {
	switch {
	case s.options.State != "":
		in = s.at(s.options.State)
	case workspace != backend.DefaultWorkspace:
		in = filepath.Join(s.workspaceDir(), workspace, defaultFile)
	case s.config.Path != "":
		in = s.at(s.config.Path)
	default:
		in = s.at(defaultFile)
	}
	out = in
	if s.options.StateOut != "" {
		out = s.at(s.options.StateOut)
	}
	switch backup = s.options.Backup; backup {
	case "-":
		backup = ""
	case "":
		backup = out + ".backup"
	default:
		backup = s.at(backup)
	}
	return in, out, backup
}

func (s *Store) workspaceDir() string {
	if s.config.WorkspaceDir != "" {
		return s.at(s.config.WorkspaceDir)
	}
	return s.at(defaultDir)
}

// at returns the path of a file, which may be relative to the directory of the options.
func (s *Store) at(path string) string {
	if s.options.Dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(s.options.Dir, path)
}

// File implements backend.Filer.
func (s *Store) File(workspace string) string {
	_, out, _ := s.paths(workspace)
	return out
}

// List implements backend.Store. It lists all workspaces with a directory, even without a snapshot:
// `workspace new` creates just the directory.
func (s *Store) List(context.Context) ([]string, error) {
	entries, err := os.ReadDir(s.workspaceDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing workspaces: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && e.Name() != backend.DefaultWorkspace {
			names = append(names, e.Name())
		}
	}
	if in, _, _ := s.paths(backend.DefaultWorkspace); exists(in) {
		names = append(names, backend.DefaultWorkspace)
	}
	slices.Sort(names)
	return names, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Get implements backend.Store.
func (s *Store) Get(_ context.Context, workspace string) ([]byte, error) {
	in, out, _ := s.paths(workspace)
	var data []byte
	err := s.read(workspace, func(f *os.File) (err error) {
		data, err = limits.ReadAll(f, limits.State, "the state")
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.locks[workspace]; h != nil && h.empty && len(data) == 0 && in == out {
		return nil, nil // the file exists only because of this lock
	}
	return data, nil
}

// read opens the file of a workspace and calls a function that reads it.
func (s *Store) read(workspace string, read func(*os.File) error) error {
	in, _, _ := s.paths(workspace)
	if s.options.State == "" {
		if err := atomicfile.CheckRegular(in); err != nil {
			return err
		}
	}
	f, err := os.Open(in)
	if err != nil {
		return err
	}
	defer s.closeRead(workspace, f)
	return read(f)
}

// closeRead closes a file after reading. On systems where closing a file releases all locks that
// the process has on it, closeRead takes the lock again.
func (s *Store) closeRead(workspace string, f *os.File) {
	f.Close()
	if locksSurviveClose {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.locks[workspace]; h != nil && h.state != nil {
		_ = lockState(h.state)
	}
}

// GetVersion implements backend.Swapper. The version is a hash of the snapshot.
func (s *Store) GetVersion(ctx context.Context, workspace string) (data []byte, version string, err error) {
	data, err = s.Get(ctx, workspace)
	return data, versionOf(data), err
}

// Swap implements backend.Swapper. If the state is read from one file and written to another, or is
// not a regular file, it is not compared.
func (s *Store) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	in, out, _ := s.paths(workspace)
	info, err := os.Stat(out)
	if in == out && (errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular()) {
		present, err := s.present(workspace)
		if err != nil {
			return "", fmt.Errorf("reading the state: %w", err)
		}
		if present != version {
			return "", fmt.Errorf("%s: %w", out, backend.ErrChanged)
		}
	}
	return versionOf(data), s.Put(ctx, workspace, data)
}

var seed = maphash.MakeSeed()

// versionOf returns the version of a snapshot; "" for an empty one, which is no state.
func versionOf(data []byte) string {
	if len(data) == 0 {
		return ""
	}
	return formatVersion(maphash.Bytes(seed, data))
}

// present returns the version of the snapshot, without holding all of it in memory.
func (s *Store) present(workspace string) (version string, err error) {
	var hash maphash.Hash
	hash.SetSeed(seed)
	var size int64
	err = s.read(workspace, func(f *os.File) (err error) {
		size, err = io.Copy(&hash, f)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil || size == 0:
		return "", err
	}
	return formatVersion(hash.Sum64()), nil
}

func formatVersion(hash uint64) string { return strconv.FormatUint(hash, 16) }

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	in, out, backup := s.paths(workspace)
	info, err := os.Stat(out)
	copied := in != out && (err != nil || info.Size() == 0)        // -state-out names a new file, or the empty one of the lock
	replaced := in == out || err == nil && info.Mode().IsRegular() // a pipe has nothing to keep
	if !s.backedUp[workspace] && s.Seal != nil {
		if err := s.sealOld(out + ".backup"); err != nil {
			return fmt.Errorf("encrypting the last backup of the state: %w", err)
		}
	}
	if !s.backedUp[workspace] && backup != "" && replaced {
		write := s.backUp
		if s.options.Backup == "" {
			write = s.backUpBeside
		}
		if err := write(out, backup); err != nil {
			return fmt.Errorf("writing the backup of the state: %w", err)
		}
	}
	s.backedUp[workspace] = true
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	var original fs.FileInfo
	if copied {
		original, _ = os.Stat(in) // the new file gets the owner and mode of the file that was read
	}
	file, err := replace(out, bytes.NewReader(data), original, s.locks[workspace] != nil)
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	if h := s.locks[workspace]; h != nil && file != nil {
		if h.state != nil {
			h.state.Close()
		}
		h.state, h.empty = file, false
	}
	return nil
}

// backUp copies the snapshot that is about to be replaced. If there is no snapshot or it is empty,
// the last backup is kept.
func (s *Store) backUp(from, to string) error {
	f, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	original, err := f.Stat()
	if err != nil {
		return err
	}
	var content io.ReadSeeker = f // on some file systems, a copy of a file shares its blocks
	if s.Seal != nil || !original.Mode().IsRegular() {
		data, err := io.ReadAll(f)
		if err != nil || len(data) == 0 {
			return err
		}
		if s.Seal != nil {
			if data, err = s.Seal(data); err != nil {
				return err
			}
		}
		content = bytes.NewReader(data)
	} else if original.Size() == 0 {
		return nil
	}
	if SameFile(from, to) {
		return fmt.Errorf("%s is the state file itself; choose another file with -backup", to)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	_, err = replace(to, content, original, false)
	return err
}

// sealOld seals the default backup that an earlier run has written, because this run may write its
// backup elsewhere or nowhere.
func (s *Store) sealOld(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) == 0 {
		return err
	}
	sealed, err := s.Seal(data)
	if err != nil || bytes.Equal(sealed, data) {
		return err
	}
	_, err = replace(path, bytes.NewReader(sealed), nil, false)
	return err
}

// backUpBeside is backUp for a backup that the user hasn't named, so that what is there may be part
// of a repository that the user has cloned: no link is followed, and no device or pipe is written.
func (s *Store) backUpBeside(from, to string) error {
	if err := atomicfile.RemoveLink(to); err != nil {
		return err
	}
	if err := atomicfile.CheckRegular(to); err != nil {
		return err
	}
	return s.backUp(from, to)
}

// SetAside turns the snapshot of a workspace into its backup.
func (s *Store) SetAside(workspace string) error {
	path := s.File(workspace)
	if err := s.backUpBeside(path, path+".backup"); err != nil {
		return err
	}
	return os.Remove(path)
}

// SameFile reports whether two paths lead to the same existing file.
func SameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// Delete implements backend.Store. If the command line names the state, or the workspace is the
// default one, it removes only the state file, and keeps the backup. Otherwise it removes the files
// of the workspace, and its directory unless that has other files.
func (s *Store) Delete(_ context.Context, workspace string) error {
	if workspace == backend.DefaultWorkspace || s.options.StateOut != "" || s.options.State != "" {
		_, out, _ := s.paths(workspace)
		if err := os.Remove(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("deleting the state: %w", err)
		}
		return nil
	}
	if workspace == "" || workspace == "." || workspace == ".." || strings.ContainsAny(workspace, `/\`) {
		return fmt.Errorf("deleting the state: %q is not a valid workspace name", workspace)
	}
	dir := filepath.Join(s.workspaceDir(), workspace)
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink == 0 { // a link goes, its target stays
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fmt.Errorf("deleting the workspace: %w", err)
		}
		foreign := false
		for _, e := range entries {
			if !isOwn(e) {
				foreign = true
			} else if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("deleting the workspace: %w", err)
			}
		}
		if foreign {
			return nil
		}
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("deleting the workspace: %w", err)
	}
	return nil
}

// Kept returns the directory of a deleted workspace, and how many files of others it still has.
func (s *Store) Kept(workspace string) (dir string, files int) {
	dir = filepath.Join(s.workspaceDir(), workspace)
	entries, _ := os.ReadDir(dir)
	return dir, len(entries)
}

// isOwn reports whether a file in the directory of a workspace belongs to its state: the state, a
// backup, a journal, a file of a lock, or a temporary file.
func isOwn(e fs.DirEntry) bool {
	name, suffix, _ := strings.Cut(e.Name(), defaultFile)
	switch {
	case e.IsDir():
		return false
	case name == ".":
		return strings.HasPrefix(suffix, ".")
	}
	return name == "" && (suffix == "" || strings.HasPrefix(suffix, ".journal") ||
		strings.HasPrefix(suffix, ".") && strings.HasSuffix(suffix, ".backup"))
}

// Make implements backend.Maker: a workspace without a snapshot is an empty directory.
func (s *Store) Make(_ context.Context, workspace string) error {
	if workspace == backend.DefaultWorkspace {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(s.workspaceDir(), workspace), 0o755); err != nil {
		return fmt.Errorf("creating the workspace: %w", err)
	}
	return nil
}

// Probe implements backend.Prober.
func (s *Store) Probe(_ context.Context, workspace string) error {
	_, out, backup := s.paths(workspace)
	for _, path := range []string{out, backup} {
		if path == "" {
			continue
		}
		var err error
		if path == backup && s.options.Backup == "" { // probing a pipe would wait for a reader
			err = atomicfile.CheckRegular(path)
		}
		if err == nil {
			err = probe(path)
		}
		if err != nil {
			return fmt.Errorf("the state can't be written: %w", err)
		}
	}
	return nil
}

// Identity implements backend.Identifier.
func (c *Config) Identity(workspace, dir string) ([]string, error) {
	path, err := filepath.Abs(New(c, &Options{Dir: dir}).File(workspace))
	if err != nil {
		return nil, err
	}
	return []string{"local", path}, nil
}
