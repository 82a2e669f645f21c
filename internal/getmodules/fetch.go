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
	"tofu/internal/depsfile"
	"tofu/internal/registry"
)

// fetcher brings packages to the disk, each address once.
type fetcher struct {
	client *registry.Client
	done   map[string]found // by address and pinned revision

	profiles    map[string]func(context.Context) (aws.Credentials, error) // by the profile's name
	gcsServer   *url.URL
	googleToken registry.Authorize
}

func newFetcher(client *registry.Client) *fetcher {
	f := &fetcher{client: client, done: make(map[string]found),
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
	want  string     // the revision to fetch, whatever the address says; empty for what it says
	got   *string    // takes the revision that was fetched, where there is such a thing
}

// request asks for a package.
type request struct {
	address string
	host    string // whose credentials go with HTTP requests; empty for none
	// pin is nil when packages are not pinned. What it has of revision and hash is demanded.
	pin *depsfile.ModuleLock
}

// found is a package that was fetched.
type found struct {
	dir      string // where it was put first
	subdir   string // the part of the package that an indirect address led to
	revision string
	hash     depsfile.Hash // of a package that can be pinned
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

// into puts the package that is asked for into a folder, in place of what is there.
func (f *fetcher) into(ctx context.Context, req request, dir string) (found, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return found{}, err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), ".tmp-")
	if err != nil {
		return found{}, err
	}
	defer os.RemoveAll(tmp)
	if err := os.RemoveAll(dir); err != nil {
		return found{}, err
	}
	fresh, want := filepath.Join(tmp, "package"), ""
	if req.pin != nil {
		want = req.pin.Revision
	}
	key := req.address + " " + want
	out, known := f.done[key]
	if known && out.dir != dir {
		err = copyPackage(out.dir, fresh)
	} else {
		out = found{dir: dir}
		out.subdir, err = f.fetch(ctx, job{host: req.host, dir: fresh, want: want, got: &out.revision}, req.address, 0)
		if err == nil && req.pin != nil {
			out.hash, err = hashTree(fresh)
		}
	}
	if err != nil {
		return found{}, err
	}
	if req.pin != nil && req.pin.Hash != "" && out.hash != req.pin.Hash {
		return found{}, fmt.Errorf("the package has the hash %s, but %s demands %s: what the address leads to was changed. If that is right, \"tofu init -upgrade\" pins it anew",
			out.hash, depsfile.ModulesFileName, req.pin.Hash)
	}
	if err := os.Rename(fresh, dir); err != nil {
		return found{}, err
	}
	f.done[key] = out
	return out, nil
}

// errElsewhere is what a method gives when the package is at another address.
type errElsewhere struct{ address string }

func (e *errElsewhere) Error() string { return "the package is at " + e.address }

// maxHops bounds how often one address may lead to another.
const maxHops = 8

// fetch does the job at an address.
func (f *fetcher) fetch(ctx context.Context, j job, address string, hops int) (subdir string, err error) {
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
	j.url, j.query = u, u.Query()
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
	j.host = ""
	deeper, err := f.fetch(ctx, j, next.Address, hops+1)
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
