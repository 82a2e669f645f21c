package getmodules

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tofu/internal/addrs"
	"tofu/internal/registry"
)

// fetcher brings packages to the disk, each address once.
type fetcher struct {
	client  *registry.Client
	done    map[string]string // where an address was put first
	subdirs map[string]string // of folders: the part of the package that an indirect address led to

	profiles    map[string]func(context.Context) (aws.Credentials, error) // by the profile's name
	gcsServer   *url.URL
	googleToken registry.Authorize
}

func newFetcher(client *registry.Client) *fetcher {
	f := &fetcher{client: client, done: make(map[string]string), subdirs: make(map[string]string),
		profiles: make(map[string]func(context.Context) (aws.Credentials, error))}
	server, emulated := gcsEndpoint()
	if f.gcsServer = server; !emulated {
		f.googleToken = googleCredentials()
	}
	return f
}

// method fetches one kind of address into a folder that doesn't exist.
type method func(f *fetcher, ctx context.Context, job job) error

// job is one package to fetch.
type job struct {
	url   *url.URL   // without the method's name and its own parameters
	query url.Values // the address's parameters
	host  string     // whose credentials go with HTTP requests; empty for none
	dir   string     // to fill
}

// methods are those that an address can name or that its URL implies.
var methods = map[string]method{
	"git":   (*fetcher).git,
	"hg":    (*fetcher).hg,
	"http":  (*fetcher).http,
	"https": (*fetcher).http,
	"file":  (*fetcher).file,
	"oci":   (*fetcher).oci,
	"s3":    (*fetcher).s3,
	"gcs":   (*fetcher).gcs,
}

// into puts the package of an address into a folder, in place of what is there.
func (f *fetcher) into(ctx context.Context, address, host, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	fresh := filepath.Join(tmp, "package")
	if first, ok := f.done[address]; ok && first != dir {
		if err := copyPackage(first, fresh); err != nil {
			return fmt.Errorf("copying the package: %w", err)
		}
		f.subdirs[dir] = f.subdirs[first]
	} else {
		subdir, err := f.fetch(ctx, address, host, fresh, 0)
		if err != nil {
			return err
		}
		f.done[address], f.subdirs[dir] = dir, subdir
	}
	return os.Rename(fresh, dir)
}

// errElsewhere is what a method gives when the package is at another address.
type errElsewhere struct{ address string }

func (e *errElsewhere) Error() string { return "the package is at " + e.address }

// maxHops bounds how often one address may lead to another.
const maxHops = 8

func (f *fetcher) fetch(ctx context.Context, address, host, dir string, hops int) (subdir string, err error) {
	name, rest := "", address
	if before, after, ok := strings.Cut(address, "::"); ok {
		name, rest = before, after
	}
	u, err := url.Parse(rest)
	if err != nil {
		return "", fmt.Errorf("%q is no URL", rest)
	}
	if name == "" {
		name = u.Scheme
	}
	fetch, ok := methods[name]
	if !ok {
		return "", fmt.Errorf("packages can't be fetched by %q; the methods are git, hg, https, http, oci, s3, gcs and file", name)
	}
	j := job{url: u, query: u.Query(), host: host, dir: dir}
	err = fetch(f, ctx, j)
	var elsewhere *errElsewhere
	if !errors.As(err, &elsewhere) {
		return "", err
	}
	if hops >= maxHops {
		return "", errors.New("the address leads from one place to another without end")
	}
	next, err := addrs.ParseModuleSource(elsewhere.address, false)
	if err != nil || next.Kind != addrs.RemoteModule {
		return "", fmt.Errorf("%s says that the package is at %q, which is no address of a package", u.Redacted(), elsewhere.address)
	}
	deeper, err := f.fetch(ctx, next.Address, "", dir, hops+1)
	return filepath.ToSlash(filepath.Join(deeper, next.Subdir)), err
}

// file links to a folder of this machine, or unpacks an archive.
func (f *fetcher) file(ctx context.Context, j job) error {
	path := filepath.FromSlash(j.url.Path)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.Symlink(path, j.dir)
	}
	kind := archiveKind(path, j.query)
	if kind == "" {
		return fmt.Errorf("%s is neither a folder nor an archive", path)
	}
	return unpack(path, kind, j.dir)
}

// copyPackage copies a fetched package; a link is copied as such.
func copyPackage(from, to string) error {
	if target, err := os.Readlink(from); err == nil {
		return os.Symlink(target, to)
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	if cerr := dst.Close(); err == nil {
		err = cerr
	}
	return err
}
