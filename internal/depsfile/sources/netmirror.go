package sources

import (
	"context"
	"fmt"
	"mime"
	"net/url"
	"os"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/httpclient"
	"tofu/internal/registry"
)

// NetworkMirror is a web server with packages and JSON indexes of them.
type NetworkMirror struct {
	Client  *registry.Client
	URL     *url.URL
	Retries int // maximum number of retries of a failed download
	MinAge  time.Duration
	// TrustAllHashes trusts the hashes that the mirror reports, for all platforms.
	TrustAllHashes bool
}

// String returns a description with the URL of the mirror.
func (m *NetworkMirror) String() string { return "the network mirror " + httpclient.Redact(m.URL) }

// Versions reads index.json.
func (m *NetworkMirror) Versions(ctx context.Context, p addrs.Provider) (Versions, error) {
	var index struct {
		Versions map[string]struct{} `json:"versions"`
	}
	_, err := m.document(ctx, p, "index.json", &index)
	if registry.NotFound(err) {
		return Versions{}, &NoProviderError{Provider: p, Sources: []string{m.String()}}
	}
	if err != nil {
		return Versions{}, err
	}
	var found Versions
	for text := range index.Versions {
		if v, err := depsfile.ParseVersion(text); err == nil {
			found.List = append(found.List, v)
		}
	}
	if len(found.List) == 0 {
		return Versions{}, &NoProviderError{Provider: p, Sources: []string{m.String()}}
	}
	return found, nil
}

// Package reads VERSION.json.
func (m *NetworkMirror) Package(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*Package, error) {
	location, archives, err := m.archive(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	pkg := &Package{Provider: p, Version: v, Platform: platform, Name: ArchiveName(p, v, platform),
		Auth: "unauthenticated",
		Fetch: func(ctx context.Context, dst *os.File, progress func(done, total int64)) error {
			auth, err := m.credentials(ctx, location)
			if err != nil {
				return err
			}
			return m.Client.Fetch(ctx, registry.Download{URL: location, Auth: auth, Retries: m.Retries,
				Progress: progress}, dst)
		}}
	for name, other := range archives {
		for _, text := range other.Hashes {
			h, err := depsfile.ParseHash(text)
			ours := name == platform.String()
			switch {
			case err != nil && ours:
				return nil, fmt.Errorf("%s reports an invalid checksum: %w", m, err)
			case err != nil:
				continue // the error is reported when that package is installed
			case ours:
				pkg.Reported = append(pkg.Reported, h)
				pkg.Auth = "verified checksum"
			}
			if m.TrustAllHashes {
				pkg.Trusted = append(pkg.Trusted, h)
			}
		}
	}
	pkg.Trusted = depsfile.Union(depsfile.Known(pkg.Trusted))
	return pkg, nil
}

// mirroredArchive is an archive in the document about a version.
type mirroredArchive struct {
	URL    string
	Hashes []string
}

// archive returns where the archive for a platform is, and the archives for all platforms.
func (m *NetworkMirror) archive(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*url.URL, map[string]mirroredArchive, error) {
	var release struct{ Archives map[string]mirroredArchive }
	base, err := m.document(ctx, p, v.String()+".json", &release)
	if registry.NotFound(err) {
		return nil, nil, &NoPackageError{p, v, platform}
	}
	if err != nil {
		return nil, nil, err
	}
	archive, ok := release.Archives[platform.String()]
	if !ok {
		return nil, nil, &NoPackageError{p, v, platform}
	}
	location, err := base.Parse(archive.URL)
	if err != nil || archive.URL == "" {
		return nil, nil, fmt.Errorf("%s has no usable URL for the package: %q", m, archive.URL)
	}
	return location, release.Archives, nil
}

// document reads a JSON document from the mirror. It checks the content type, because some servers
// answer every request with a web page.
func (m *NetworkMirror) document(ctx context.Context, p addrs.Provider, name string, into any) (*url.URL, error) {
	base := m.URL
	if !strings.HasSuffix(base.Path, "/") {
		base = base.JoinPath("/")
	}
	// Without "./", the port of the host would make it look like a URL scheme.
	ref := &url.URL{Path: "./" + p.Host + "/" + p.Namespace + "/" + p.Type + "/" + name}
	u := base.ResolveReference(ref)
	auth, err := m.credentials(ctx, u)
	if err != nil {
		return nil, err
	}
	doc, err := m.Client.GetAuthorized(ctx, u, auth)
	if err != nil {
		return nil, err
	}
	if kind, _, err := mime.ParseMediaType(doc.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, fmt.Errorf("%s has the content type %q, not application/json", httpclient.Redact(doc.URL), kind)
	}
	return doc.URL, doc.JSON(into)
}

// credentials returns the mirror's credentials for a request. A document of the mirror can name any
// server, so other origins get none.
func (m *NetworkMirror) credentials(ctx context.Context, u *url.URL) (registry.Authorize, error) {
	if !httpclient.SameOrigin(m.URL, u) {
		return nil, nil
	}
	return m.Client.Credentials(ctx, m.URL)
}
