package getmodules

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
	"tofu/internal/httpclient"
	"tofu/internal/registry"
	"tofu/internal/registry/oci"
)

// fetcher brings packages to the disk, each address once.
type fetcher struct {
	client   *registry.Client
	images   *oci.Client
	done     map[string]found // by address and pinned revision
	progress func(Progress)   // nil when nobody wants to know

	profiles    map[string]func(context.Context) (aws.Credentials, error) // by the profile's name
	gcsServer   *url.URL
	googleToken registry.Authorize
}

func newFetcher(client *registry.Client) *fetcher {
	f := &fetcher{client: client, images: oci.New(client), done: make(map[string]found),
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
	shown string     // the package's address without secrets
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

// found is a package that was fetched, or the reason why there is none.
type found struct {
	err      error
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

// into puts the package that is asked for into a folder, in place of what is there. That goes first, as in OpenTofu: nobody goes on with a
// package that isn't the one that is asked for.
func (f *fetcher) into(ctx context.Context, req request, dir string) (found, error) {
	tmp, err := atomicfile.TempDir(filepath.Dir(dir))
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
	switch {
	case known && out.err != nil:
		return found{}, &againError{out.err}
	case known && out.dir != dir:
		err = atomicfile.CopyOptions{KeepLinks: true}.CopyTree(out.dir, fresh)
	default:
		out = found{dir: dir}
		out.subdir, err = f.watch(ctx, job{host: req.host, dir: fresh, want: want, got: &out.revision}, req.address)
		if err == nil && req.pin != nil {
			err = out.compare(fresh, req.pin.Hash)
		}
		if err != nil {
			f.done[key] = found{err: err}
		}
	}
	if err != nil {
		return found{}, err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return found{}, err
	}
	f.done[key] = out
	return out, nil
}

// compare takes the hash of a package that was fetched into a folder, which must be the one that is demanded, if any is.
func (p *found) compare(dir string, demanded depsfile.Hash) (err error) {
	p.hash, err = hashTree(dir)
	if err == nil && demanded != "" && p.hash != demanded {
		err = &changedError{p.hash, demanded}
	}
	return err
}

// changedError tells that a package isn't the one that is pinned.
type changedError struct{ got, demanded depsfile.Hash }

func (e *changedError) Error() string {
	return fmt.Sprintf("the package has the hash %s, but %s demands %s: what the address leads to was changed. If that is right, \"tofu init -upgrade\" pins it anew",
		e.got, depsfile.ModulesFileName, e.demanded)
}

// againError tells that a package could not be had when it was wanted before in this run.
type againError struct{ error }

func (e *againError) Unwrap() error { return e.error }

// watch does the job at an address, and tells when it is over.
func (f *fetcher) watch(ctx context.Context, j job, address string) (subdir string, err error) {
	j.shown = showable(address)
	if f.progress != nil {
		defer f.progress(Progress{Source: j.shown, Over: true})
	}
	return f.fetch(ctx, j, address, 0)
}

// received makes an observer of a job's downloads; nil when nobody wants to know.
func (f *fetcher) received(j job) func(done, total int64) {
	if f.progress == nil {
		return nil
	}
	return func(done, total int64) { f.progress(Progress{Source: j.shown, Done: done, Total: total}) }
}

// elsewhereError is what a method gives when the package is at another address.
type elsewhereError struct{ address string }

func (e *elsewhereError) Error() string { return "the package is at " + e.address }

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
		return "", errors.New("its address is no URL") // which may have a password in it
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
	var elsewhere *elsewhereError
	if !errors.As(err, &elsewhere) {
		return "", err
	}
	if hops >= maxHops {
		return "", errors.New("the address leads from one place to another without end")
	}
	next, err := addrs.ParseModuleSource(elsewhere.address, false)
	if err != nil || next.Kind != addrs.RemoteModule {
		return "", fmt.Errorf("%s says that the package is at %q, which is no address of a package", httpclient.Redact(u), elsewhere.address)
	}
	j.host = ""
	deeper, err := f.fetch(ctx, j, next.Address, hops+1)
	return filepath.ToSlash(filepath.Join(deeper, next.Subdir)), err
}

// localPath is what the path of a file URL means on this system: on Windows there is a slash before the letter of a drive.
func localPath(path string, windows bool) string {
	if windows && len(path) >= 3 && path[0] == '/' && path[2] == ':' {
		return path[1:]
	}
	return path
}

// file links to a folder of this machine, or unpacks an archive.
func (f *fetcher) file(ctx context.Context, j job) error {
	path := filepath.FromSlash(localPath(j.url.Path, runtime.GOOS == "windows"))
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.Symlink(path, j.dir)
	}
	kind := archiveKind(path, j.query)
	if kind == "" {
		if kind, err = fileKind(path); err != nil {
			return err
		}
	}
	if kind == "" {
		return fmt.Errorf("%s is neither a folder nor an archive", path)
	}
	return unpack(path, kind, j.dir)
}
