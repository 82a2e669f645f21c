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

// fetcher fetches packages, each address only once.
type fetcher struct {
	client   *registry.Client
	store    *packageStore
	images   *oci.Client
	done     map[string]found // results by address and pinned revision
	progress func(Progress)   // may be nil

	// profiles holds functions that return AWS credentials, by profile name.
	profiles    map[string]func(context.Context) (aws.Credentials, error)
	gcsServer   *url.URL
	googleToken registry.Authorize
}

func newFetcher(client *registry.Client) *fetcher {
	f := &fetcher{client: client, store: openStore(client.Config().CacheDir), images: oci.New(client), done: make(map[string]found),
		profiles: make(map[string]func(context.Context) (aws.Credentials, error))}
	server, emulated := gcsEndpoint()
	f.gcsServer = server
	if !emulated {
		f.googleToken = googleCredentials()
	}
	return f
}

// method fetches a package in one of the supported ways. The job's destination directory doesn't
// exist yet.
type method func(f *fetcher, ctx context.Context, job job) error

// job is a single package to fetch.
type job struct {
	shown string     // address of the package without secrets
	url   *url.URL   // URL without the method's name and parameters
	query url.Values // parameters of the address
	host  string     // host whose credentials are sent with HTTP requests; may be ""
	dir   string     // destination directory
	want  string     // revision to fetch instead of the one in the address; may be ""
	got   *string    // set by the method to the fetched revision, if the source has revisions
}

// request describes the package that [fetcher.into] fetches.
type request struct {
	location
	// pin is the package's pin, or nil if packages are not pinned. If the pin has a revision or a
	// hash, the package must have the same.
	pin *depsfile.ModuleLock
}

// found is a fetched package, or the error that prevented fetching it.
type found struct {
	err      error
	dir      string // directory in which the package was first installed
	subdir   string // subdirectory of the package; set if a redirect leads to an address with a subdirectory
	revision string
	hash     depsfile.Hash // only for packages that can be pinned
}

// methods maps URL schemes and the prefixes that select a method (such as "git::") to their
// implementations.
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

// into fetches the requested package into dir. As in OpenTofu, it removes the previous content of
// dir first. A failed download therefore never leaves a package that doesn't match the request.
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
	key := req.key() + " " + want
	out, known := f.done[key]
	switch {
	case known && out.err != nil:
		return found{}, &repeatedError{out.err}
	case known && out.dir != dir:
		err = atomicfile.CopyOptions{KeepLinks: true}.CopyTree(out.dir, fresh)
	default:
		out, err = f.get(ctx, req, job{host: req.host, dir: fresh, want: want})
		out.dir = dir
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

// get copies the package from the store, or fetches it with a job and stores it.
func (f *fetcher) get(ctx context.Context, req request, j job) (out found, err error) {
	required := depsfile.Hash("")
	if req.pin != nil {
		required = req.pin.Hash
	}
	p := req.found
	if p == nil {
		p = f.store.find(req)
	}
	if p != nil {
		out = found{subdir: p.Subdir, revision: p.Revision}
		err = atomicfile.CopyOptions{KeepLinks: true}.CopyTree(p.dir, j.dir)
		if err == nil {
			err = out.compare(j.dir, required)
		}
		if err == nil || req.address == "" {
			return out, err
		}
		if err := os.RemoveAll(j.dir); err != nil { // another process has replaced it meanwhile
			return out, err
		}
	}
	j.got = &out.revision
	out.subdir, err = f.watch(ctx, j, req.address)
	if err == nil && (req.pin != nil || f.store.dir != "") {
		err = out.compare(j.dir, required)
	}
	if err == nil {
		f.store.add(req, j.dir, &stored{Hash: out.hash, Revision: out.revision, Subdir: out.subdir, Place: req.place})
	}
	return out, err
}

// compare computes the hash of a package that was fetched into dir. If required is not "", it
// returns an error if the hash differs.
func (p *found) compare(dir string, required depsfile.Hash) (err error) {
	p.hash, err = HashTree(dir)
	if err == nil && required != "" && p.hash != required {
		err = &changedError{p.hash, required}
	}
	return err
}

// changedError reports that a package does not match its pin.
type changedError struct{ got, required depsfile.Hash }

func (e *changedError) Error() string {
	return fmt.Sprintf("the package has the hash %s, but %s requires %s: the content at the address has "+
		"changed. If that is intended, run \"tofu init -upgrade\" to update the pin",
		e.got, depsfile.ModulesFileName, e.required)
}

// repeatedError reports that an earlier attempt to fetch the same package in this run failed.
type repeatedError struct{ error }

func (e *repeatedError) Unwrap() error { return e.error }

// watch runs a job for an address and reports its end to the observer of progress.
func (f *fetcher) watch(ctx context.Context, j job, address string) (subdir string, err error) {
	j.shown = showable(address)
	if f.progress != nil {
		defer f.progress(Progress{Source: j.shown, Over: true})
	}
	return f.fetch(ctx, j, address, 0)
}

// received returns a function that reports the progress of a job's downloads. It returns nil if
// nobody observes progress.
func (f *fetcher) received(j job) func(done, total int64) {
	if f.progress == nil {
		return nil
	}
	return func(done, total int64) { f.progress(Progress{Source: j.shown, Done: done, Total: total}) }
}

// redirectError is returned by a method to continue the job with another address.
type redirectError struct{ address string }

func (e *redirectError) Error() string { return "the package is at " + e.address }

// maxHops limits the number of redirects from one address to another.
const maxHops = 8

// fetch runs a job for an address. hops is the number of redirects that led to the address. fetch
// returns the subdirectory in the addresses of further redirects, or "".
func (f *fetcher) fetch(ctx context.Context, j job, address string, hops int) (subdir string, err error) {
	name, rest := splitMethod(address)
	u, err := url.Parse(rest)
	if err != nil {
		// Don't show the address, which may contain a password.
		return "", errors.New("its address is not a valid URL")
	}
	if name == "" {
		name = u.Scheme
	}
	fetch, ok := methods[name]
	if !ok {
		return "", fmt.Errorf("packages can't be fetched by %q; the methods are git, hg, https, http, oci, "+
			"s3, gcs and file", name)
	}
	j.url, j.query = u, u.Query()
	err = fetch(f, ctx, j)
	elsewhere, ok := errors.AsType[*redirectError](err)
	if !ok {
		return "", withAddress(err, u)
	}
	if hops >= maxHops {
		return "", errors.New("the address is redirected too many times")
	}
	next, err := addrs.ParseModuleSource(elsewhere.address, false)
	if err != nil || next.Kind != addrs.RemoteModule || isPath(elsewhere.address) {
		return "", fmt.Errorf("%s redirects to %q, which is not a valid package address", httpclient.Redact(u),
			elsewhere.address)
	}
	j.host = ""
	deeper, err := f.fetch(ctx, j, next.Address, hops+1)
	return filepath.ToSlash(filepath.Join(deeper, next.Subdir)), err
}

// splitMethod splits an address such as git::https://example.com/a into the name of the method, or "",
// and the rest. URLs have "::" in IPv6 addresses and queries.
func splitMethod(address string) (method, rest string) {
	method, rest, ok := strings.Cut(address, "::")
	if !ok || strings.ContainsAny(method, ":/?") {
		return "", address
	}
	return method, rest
}

// isPath reports whether an address is an absolute path on this machine, which a server must not
// name.
func isPath(address string) bool {
	_, address = splitMethod(address)
	return strings.HasPrefix(address, "/") || filepath.IsAbs(filepath.FromSlash(address))
}

// withAddress adds the address to an error that doesn't mention it. The programs for repositories
// often name only the host, or nothing.
func withAddress(err error, u *url.URL) error {
	if err == nil || strings.Contains(err.Error(), u.Host+u.Path) {
		return err
	}
	return fmt.Errorf("fetching %s: %w", httpclient.Redact(u), err)
}

// localPath converts the path of a file URL to a local one. On Windows it drops the slash before a
// drive letter.
func localPath(path string, windows bool) string {
	if windows && len(path) >= 3 && path[0] == '/' && path[2] == ':' {
		return path[1:]
	}
	return path
}

// file links the destination to a local directory, or unpacks a local archive.
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
		kind, err = fileKind(path)
		if err != nil {
			return err
		}
	}
	if kind == "" {
		return fmt.Errorf("%s is neither a directory nor an archive", path)
	}
	return unpack(path, kind, j.dir)
}
