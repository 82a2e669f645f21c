package getmodules

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"tofu/internal/registry"
)

// bucket is a bucket of an object store. The names of its objects contain slashes.
type bucket interface {
	// object returns the URL of an object's content.
	object(key string) *url.URL
	// list returns the names of all objects with a prefix.
	list(ctx context.Context, prefix string) ([]string, error)
	// authorize returns a function that adds credentials to a request.
	authorize(ctx context.Context) registry.Authorize
}

// objects fetches a package from a bucket. If key is the name of an archive, it unpacks this
// object. Otherwise it fetches all objects whose names start with key and a slash.
func (f *fetcher) objects(ctx context.Context, j job, b bucket, key string) error {
	if kind := archiveKind(key, j.query); kind != "" {
		return f.archive(ctx, j, kind, registry.Download{URL: b.object(key), Auth: b.authorize(ctx)})
	}
	prefix := strings.TrimSuffix(key, "/") + "/"
	if prefix == "/" {
		prefix = ""
	}
	keys, err := b.list(ctx, prefix)
	if err != nil {
		return err
	}
	if err := os.Mkdir(j.dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(j.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := 0
	for _, key := range keys {
		name, ok := strings.CutPrefix(key, prefix)
		// Web consoles create empty objects for directories.
		if !ok || name == "" || strings.HasSuffix(name, "/") {
			continue
		}
		files++
		if files > maxArchiveFiles {
			return fmt.Errorf("there are more than %d objects, the limit for a module", maxArchiveFiles)
		}
		if err := f.oneObject(ctx, root, name, registry.Download{URL: b.object(key),
			Auth: b.authorize(ctx)}); err != nil {
			return err
		}
	}
	if files == 0 {
		return fmt.Errorf("there is neither an archive nor any object below %q", key)
	}
	return nil
}

func (f *fetcher) oneObject(ctx context.Context, root *os.Root, name string, d registry.Download) error {
	if path.Clean(name) != name || !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(name, "\\") {
		return fmt.Errorf("there is an object %q, which is outside of the module's directory or not portable", name)
	}
	local := filepath.FromSlash(name)
	if dir := filepath.Dir(local); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	file, err := root.OpenFile(local, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	d.Retries, d.Limit = 1, maxArchiveBytes
	err = f.client.Fetch(ctx, d, file)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// archive downloads an archive and unpacks it.
func (f *fetcher) archive(ctx context.Context, j job, kind string, d registry.Download) error {
	d.Retries, d.Progress = 1, f.received(j)
	return j.unpackArchive(kind, func(dst *os.File) error { return f.client.Fetch(ctx, d, dst) })
}

// unpackArchive calls fetch, which writes an archive to a file. It compares the archive with the
// checksum in the address and unpacks it.
func (j job) unpackArchive(kind string, fetch func(dst *os.File) error) error {
	check, err := parseChecksum(j.query.Get("checksum"))
	if err != nil {
		return err
	}
	return j.unpackFetched(kind, check, fetch)
}

// unpackFetched calls fetch, which writes an archive to a file. It compares the archive with a
// checksum and unpacks it.
func (j job) unpackFetched(kind string, check checksum, fetch func(dst *os.File) error) error {
	file := j.dir + ".archive"
	dst, err := os.Create(file)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	err = fetch(dst)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = check.verify(file)
	}
	if err != nil {
		return err
	}
	return unpack(file, kind, j.dir)
}

// escapeKey escapes the name of an object for use in a URL path. It escapes all characters except
// unreserved ones, because servers compute signatures from that form. If slash is true, slashes are
// kept.
func escapeKey(key string, slash bool) string {
	var b strings.Builder
	for i := range len(key) {
		c := key[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte("-._~", c) >= 0, slash && c == '/':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
