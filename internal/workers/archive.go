package workers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"tofu/internal/atomicfile"
	"tofu/internal/tfdiags"
)

// Archives collects the configuration of root modules. Files are stored once by the hashes of their contents;
// the archive of a root module is a manifest that names its files, and is known by its own hash.
type Archives struct {
	top    string            // the directory above all files
	hashes map[string]string // by path
	data   map[string][]byte // by hash
}

// archived is a file in a manifest.
type archived struct {
	Path string `json:"path"` // below the top, with slashes
	Hash string `json:"hash"`
	Exec bool   `json:"exec,omitempty"`
}

// NewArchives returns archives of files in or below the absolute directory top.
func NewArchives(top string) *Archives {
	return &Archives{top: top, hashes: make(map[string]string), data: make(map[string][]byte)}
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Add adds the archive of the files with the given absolute paths, and of texts by the paths of their files, and returns
// its hash. A path must always have the same text.
func (a *Archives) Add(files []string, texts map[string][]byte) (string, error) {
	var list []archived
	for file, text := range texts {
		rel, err := filepath.Rel(a.top, file)
		if err != nil {
			return "", err
		}
		if a.hashes[file] == "" {
			a.hashes[file] = hash(text)
			a.data[a.hashes[file]] = text
		}
		list = append(list, archived{Path: filepath.ToSlash(rel), Hash: a.hashes[file]})
	}
	for _, file := range files {
		rel, err := filepath.Rel(a.top, file)
		if err != nil || !filepath.IsLocal(rel) {
			return "", tfdiags.Errorf("A file can't be sent to workers", "%s is outside of %s, the directory that has all "+
				"other files.", file, a.top)
		}
		info, err := os.Stat(file)
		if err != nil {
			return "", fmt.Errorf("reading the configuration for workers: %w", err)
		}
		if a.hashes[file] == "" {
			data, err := os.ReadFile(file)
			if err != nil {
				return "", fmt.Errorf("reading the configuration for workers: %w", err)
			}
			a.hashes[file] = hash(data)
			a.data[a.hashes[file]] = data
		}
		list = append(list, archived{Path: filepath.ToSlash(rel), Hash: a.hashes[file], Exec: info.Mode()&0o100 != 0})
	}
	slices.SortFunc(list, func(x, y archived) int { return strings.Compare(x.Path, y.Path) })
	text, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	name := hash(text)
	a.data[name] = text
	return name, nil
}

// Upload stores the archives, without the files that the database has.
func (q *Queue) Upload(ctx context.Context, a *Archives) error {
	hashes := make([]string, 0, len(a.data))
	for hash := range a.data {
		hashes = append(hashes, hash)
	}
	slices.Sort(hashes) // so that two uploads don't wait for each other
	err := q.tx(ctx, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, "UPDATE files SET used = now() WHERE hash = ANY($1) RETURNING hash", hashes)
		known, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		has := make(map[string]bool, len(known))
		for _, hash := range known {
			has[hash] = true
		}
		b := &pgx.Batch{}
		for _, hash := range hashes {
			if !has[hash] {
				b.Queue("INSERT INTO files (hash, data) VALUES ($1, $2) ON CONFLICT DO NOTHING", hash, a.data[hash])
			}
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("storing the configuration for workers: %w", err)
	}
	return nil
}

// download returns files by hash, and checks their contents.
func (q *Queue) download(ctx context.Context, hashes []string) (map[string][]byte, error) {
	rows, err := q.pool.Query(ctx, "SELECT hash, data FROM files WHERE hash = ANY($1)", hashes)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(hashes))
	var name string
	var data []byte
	if _, err := pgx.ForEachRow(rows, []any{&name, &data}, func() error {
		if hash(data) != name {
			return badArchive(name, "its content doesn't match its hash")
		}
		out[name] = slices.Clone(data)
		return nil
	}); err != nil {
		return nil, err
	}
	for _, name := range hashes {
		if out[name] == nil {
			return nil, badArchive(name, "it is missing")
		}
	}
	return out, nil
}

func badArchive(hash, why string) error {
	host, _ := os.Hostname()
	return tfdiags.Errorf("The configuration for workers is damaged", "The worker on %s can't use the file %s of the "+
		"queue: %s. Nothing was changed. Enqueue the run again, and find out who writes to the database.", host, hash, why)
}

// A directory for configurations has one directory per archive, and temporary ones.
const temporaryName = ".new-"

var archiveName = regexp.MustCompile("^[0-9a-f]{32}$")

// unused is the time that an archive and what was installed there stay after the begin of the last task that used them.
const unused = 7 * 24 * time.Hour

// tidy removes the archives in dir that were not used for long, and the temporary directories that killed workers
// have left. It leaves everything else alone.
func tidy(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		known := e.IsDir() && (strings.HasPrefix(name, temporaryName) || archiveName.MatchString(name))
		if info, infoErr := e.Info(); !known || infoErr != nil || time.Since(info.ModTime()) < unused {
			continue
		}
		gone := filepath.Join(dir, temporaryName+"gone-"+name) // at once, so that no task finds a part of an archive
		if renameErr := os.Rename(filepath.Join(dir, name), gone); renameErr == nil {
			err = errors.Join(err, os.RemoveAll(gone))
		} else if !errors.Is(renameErr, fs.ErrNotExist) { // another worker was faster
			err = errors.Join(err, renameErr)
		}
	}
	return err
}

// unpack writes an archive to a directory below dir, and returns that directory. A directory that is there
// from an earlier task has been written as a whole.
func (q *Queue) unpack(ctx context.Context, archive, dir string) (string, error) {
	into := filepath.Join(dir, archive[:min(len(archive), 32)])
	if _, err := os.Stat(into); err == nil {
		return into, os.Chtimes(into, time.Time{}, time.Now())
	}
	found, err := q.download(ctx, []string{archive})
	if err != nil {
		return "", err
	}
	var list []archived
	if err := json.Unmarshal(found[archive], &list); err != nil {
		return "", badArchive(archive, "it is not a list of files")
	}
	hashes := make([]string, 0, len(list))
	for _, f := range list {
		if !fs.ValidPath(f.Path) || path.Clean(f.Path) != f.Path || !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return "", badArchive(archive, fmt.Sprintf("it has the path %q", f.Path))
		}
		hashes = append(hashes, f.Hash)
	}
	slices.Sort(hashes)
	data, err := q.download(ctx, slices.Compact(hashes))
	if err != nil {
		return "", err
	}
	temporary, err := os.MkdirTemp(dir, temporaryName)
	if err != nil {
		return "", unable{err}
	}
	defer os.RemoveAll(temporary)
	for _, f := range list {
		name, mode := filepath.Join(temporary, filepath.FromSlash(f.Path)), fs.FileMode(0o600)
		if f.Exec {
			mode = 0o700
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return "", err
		}
		if err := atomicfile.Write(name, data[f.Hash], mode); err != nil {
			return "", err
		}
	}
	err = os.Rename(temporary, into)
	if _, statErr := os.Stat(into); statErr == nil {
		err = nil // another task was faster
	}
	return into, err
}
