package install

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/depsfile/sources"
	"tofu/internal/tfdiags"
)

// Mirror fills a directory with archives of the required providers for the platforms. It also
// writes the JSON files that make the directory a network mirror when it is served over HTTPS.
// Existing archives are kept and listed. The versions are those of prev, or without locks the newest
// acceptable ones. If there are errors, the mirror still contains the packages that could be fetched.
func Mirror(
	ctx context.Context, reqs depsfile.Requirements, prev *depsfile.Locks, platforms []depsfile.Platform,
	dir string, opts *Options,
) error {
	m := &mirror{in: newInstaller(prev, opts), dir: dir, hashes: make(map[string][]depsfile.Hash)}
	providers, err := m.in.installable(reqs)
	if err != nil {
		return err
	}
	for _, p := range reqs.Providers() {
		if p.IsBuiltin() {
			m.in.notify(Builtin{p})
		}
	}
	var errs tfdiags.Diagnostics
	if !prev.Empty() {
		errs = errs.AppendError(inconsistencies(reqs, prev, nil, "tofu init"))
	}
	var group errgroup.Group
	group.SetLimit(parallel)
	results := make([]error, len(providers))
	for i, p := range providers {
		group.Go(func() error {
			results[i] = m.provider(ctx, p, reqs[p], platforms)
			return nil
		})
	}
	_ = group.Wait() // the errors are in the results
	for i, p := range providers {
		errs = errs.AppendError(results[i])
		if err := m.index(p); err != nil {
			errs = errs.Append(tfdiags.Errorf("Failed to update indexes",
				"The index of provider %s in the mirror can't be written: %s.", p.ForDisplay(), err))
		}
	}
	return errs.Err()
}

// mirror is one run of Mirror.
type mirror struct {
	in  *installer
	dir string

	mu     sync.Mutex
	hashes map[string][]depsfile.Hash // archive hashes that the source reports, by file name
}

func (m *mirror) folder(p addrs.Provider) string {
	return filepath.Join(m.dir, p.DisplayHost(), p.Namespace, p.Type)
}

func (m *mirror) provider(
	ctx context.Context, p addrs.Provider, c depsfile.Constraints, platforms []depsfile.Platform,
) error {
	fail := func(err error) error {
		return tfdiags.Errorf("Provider not available", "Failed to mirror provider %s: %s.", p.ForDisplay(), err)
	}
	lock, locked := m.in.locks.Provider(p)
	version := lock.Version
	switch {
	case locked:
	case !m.in.locks.Empty():
		return fail(fmt.Errorf("the lock file selects no version of it; run \"tofu init\" to select one, or use " +
			"-lock-file=false"))
	default:
		list, err := m.in.versions(ctx, p)
		if err == nil {
			version, err = m.in.choose(ctx, p, c, list.List, lock.Version)
		}
		if err != nil {
			return fail(err)
		}
	}
	if err := atomicfile.CheckBelow(m.dir, m.folder(p)); err != nil {
		return fail(fmt.Errorf("%w: remove the link", err))
	}
	m.in.notify(Mirroring{p, version, locked, depsfile.ConstraintsString(c)})
	var errs tfdiags.Diagnostics
	for _, platform := range platforms {
		if err := m.archive(ctx, p, version, platform); err != nil {
			err = fmt.Errorf("package of version %s for %s: %w", version, platform, err)
			errs = errs.AppendError(fail(err))
		}
	}
	return errs.Err()
}

// archive puts one archive into the mirror, unless it is already there and correct. It packs a
// package that the source has unpacked.
func (m *mirror) archive(ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform) error {
	pkg, err := m.in.Source.Package(ctx, p, v, platform)
	if err != nil {
		return err
	}
	m.in.notify(Fetching{p, v, platform})
	if pkg.Dir != "" {
		pkg.Fetch, pkg.Dir = packed(os.DirFS(pkg.Dir)), ""
	}
	target := filepath.Join(m.folder(p), sources.ArchiveName(p, v, platform))
	if h, err := pkgstore.ArchiveHash(target); err != nil || h != pkg.ArchiveHash {
		if err := m.fetch(ctx, pkg, target); err != nil {
			return err
		}
	}
	var hashes []depsfile.Hash
	for _, h := range slices.Concat([]depsfile.Hash{pkg.ArchiveHash, pkg.ContentHash}, depsfile.Known(pkg.Reported)) {
		if h != "" {
			hashes = append(hashes, h)
		}
	}
	if len(hashes) > 0 { // otherwise, index computes one
		m.mu.Lock()
		m.hashes[target] = depsfile.Union(hashes)
		m.mu.Unlock()
	}
	m.in.notify(Fetched{p, v, platform, pkg.Auth, pkg.KeyID})
	return nil
}

// packed returns a function that writes the files of an unpacked package as an archive.
func packed(files fs.FS) sources.Fetch {
	return func(_ context.Context, dst *os.File, _ func(done, total int64)) error {
		archive := zip.NewWriter(dst)
		if err := archive.AddFS(files); err != nil {
			return fmt.Errorf("packing the package: %w", err)
		}
		return archive.Close()
	}
}

func (m *mirror) fetch(ctx context.Context, pkg *sources.Package, target string) error {
	path, archive, cleanup, err := m.in.download(ctx, pkg)
	if err != nil {
		return m.in.Store.Explain(err)
	}
	defer cleanup()
	if len(pkg.Reported) > 0 {
		content, err := m.in.Store.HashArchive(path, archive)
		if err != nil {
			return m.in.Store.Explain(err)
		}
		if _, err := verify(pkg, nil, archive, content); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	data, err := os.Open(path)
	if err != nil {
		return err
	}
	defer data.Close()
	return atomicfile.Copy(target, data, 0o644)
}

// index writes index.json and a file for each version that has archives.
func (m *mirror) index(p addrs.Provider) error {
	type archive struct {
		Hashes []depsfile.Hash `json:"hashes"`
		URL    string          `json:"url"`
	}
	releases := make(map[string]map[string]archive)
	for _, pkg := range (sources.Filesystem{Dir: m.dir}).Archives(p) {
		hashes, ok := m.hashes[pkg.Path]
		if !ok {
			zh, err := pkgstore.ArchiveHash(pkg.Path)
			if err != nil {
				return err
			}
			h, err := m.in.Store.HashArchive(pkg.Path, zh)
			if err != nil {
				return fmt.Errorf("%s: %w", pkg.Path, err)
			}
			hashes = []depsfile.Hash{h}
		}
		v := pkg.Version.String()
		if releases[v] == nil {
			releases[v] = make(map[string]archive)
		}
		releases[v][pkg.Platform.String()] = archive{hashes, filepath.Base(pkg.Path)}
	}
	if len(releases) == 0 {
		return nil
	}
	index := make(map[string]struct{})
	for v, archives := range releases {
		index[v] = struct{}{}
		if err := writeJSON(filepath.Join(m.folder(p), v+".json"), map[string]any{"archives": archives}); err != nil {
			return err
		}
	}
	return writeJSON(filepath.Join(m.folder(p), "index.json"), map[string]any{"versions": index})
}

func writeJSON(path string, doc any) error {
	data, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(path, append(data, '\n'), 0o644)
}
