package sources

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/httpclient"
	"tofu/internal/memo"
	"tofu/internal/registry"
)

// Direct is the source that uses the registry at each provider's own host.
type Direct struct {
	Client *registry.Client
	// Retries is the maximum number of retries of a failed download.
	Retries int
	// Policy selects which signatures are required.
	Policy SignaturePolicy
	// MinAge is the age that versions must have; -1 means what the CLI configuration says for the host.
	MinAge time.Duration
	// Now returns the time at which keys must be valid.
	Now func() time.Time

	// sides caches the checksum and signature files published with packages. They are the same for
	// all platforms of a version, so each is fetched once.
	sides memo.Map[string, []byte]
}

// String returns a description of the source for messages.
func (d *Direct) String() string { return "the registry at its host" }

// Versions asks the registry for the list of versions.
func (d *Direct) Versions(ctx context.Context, p addrs.Provider) (Versions, error) {
	base, err := d.base(ctx, p)
	if err != nil {
		return Versions{}, err
	}
	doc, err := d.Client.Get(ctx, base.JoinPath(p.Namespace, p.Type, "versions"), p.Host)
	if registry.NotFound(err) {
		return Versions{}, d.unknown(p)
	}
	if err != nil {
		return Versions{}, fmt.Errorf("could not query provider registry for %s: %w", p, err)
	}
	var list struct {
		Versions []struct{ Version string }
		Warnings []string
	}
	if err := doc.JSON(&list); err != nil {
		return Versions{}, err
	}
	found := Versions{Warnings: list.Warnings}
	for _, item := range list.Versions {
		v, err := depsfile.ParseVersion(item.Version)
		if err != nil {
			return Versions{}, fmt.Errorf("%s lists %q, which is not a valid version: %w",
				httpclient.Redact(doc.URL), item.Version, err)
		}
		found.List = append(found.List, v)
	}
	if len(found.List) == 0 {
		return Versions{}, d.unknown(p)
	}
	return found, nil
}

func (d *Direct) base(ctx context.Context, p addrs.Provider) (*url.URL, error) {
	base, err := d.Client.Service(ctx, p.Host, "providers.v1")
	if registry.IsNoService(err) {
		return nil, &NoProviderError{Provider: p, Sources: []string{"the registry at " + p.Host},
			Hint: "host " + p.Host + " doesn't offer a provider registry"}
	}
	return base, err
}

func (d *Direct) unknown(p addrs.Provider) error {
	e := &NoProviderError{Provider: p, Sources: []string{"the registry at " + p.Host}}
	if p.Host == addrs.DefaultHost && p.Namespace == "hashicorp" {
		e.Hint = fmt.Sprintf("if a module in this configuration uses a provider %q of another namespace, it "+
			"needs an entry in required_providers with the provider's source", p.Type)
	}
	return e
}

// downloadDocument is the registry's description of a package.
type downloadDocument struct {
	Protocols   []string
	OS, Arch    string
	Filename    string
	DownloadURL string `json:"download_url"`
	SumsURL     string `json:"shasums_url"`
	SigURL      string `json:"shasums_signature_url"`
	Sum         string `json:"shasum"`
	Keys        struct {
		GPG []signingKey `json:"gpg_public_keys"`
	} `json:"signing_keys"`
	Packages map[string]struct {
		Hashes []string
		Size   int64 `json:"package_size"`
	}
}

// Package asks the registry for a package and verifies the signature of its checksums.
func (d *Direct) Package(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*Package, error) {
	doc, base, err := d.describe(ctx, p, v, platform)
	if err != nil {
		return nil, err
	}
	if err := checkProtocols(doc.Protocols); err != nil {
		return nil, err
	}
	location, err := base.Parse(doc.DownloadURL)
	sum, sumErr := hex.DecodeString(doc.Sum)
	switch {
	case doc.OS != platform.OS || doc.Arch != platform.Arch:
		return nil, fmt.Errorf("the registry was asked for platform %s, but its response is for %q", platform,
			doc.OS+"_"+doc.Arch)
	case err != nil || doc.DownloadURL == "" || location.Scheme != "https" && location.Scheme != "http":
		return nil, fmt.Errorf("the registry returned no usable URL for the package: %q", doc.DownloadURL)
	case sumErr != nil || len(sum) != 32:
		return nil, fmt.Errorf("the registry returned no valid SHA-256 checksum of the package: %q", doc.Sum)
	case doc.Filename == "":
		return nil, fmt.Errorf("the registry returned no file name for the package")
	}
	pkg := &Package{Provider: p, Version: v, Platform: platform, Name: doc.Filename,
		ArchiveHash: depsfile.Hash(depsfile.SchemeArchive + ":" + hex.EncodeToString(sum))}
	if err := d.authenticate(ctx, pkg, doc, base); err != nil {
		return nil, err
	}
	if err := d.reported(pkg, doc); err != nil {
		return nil, err
	}
	pkg.Fetch = func(ctx context.Context, dst *os.File, progress func(done, total int64)) error {
		return d.Client.Fetch(ctx, registry.Download{URL: location, Retries: d.Retries, Limit: pkg.Size,
			Progress: progress}, dst)
	}
	return pkg, nil
}

// describe asks the registry for its description of a package. URLs in it are relative to base.
func (d *Direct) describe(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (doc *downloadDocument, base *url.URL, err error) {
	service, err := d.base(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	answer, err := d.Client.Get(ctx, service.JoinPath(p.Namespace, p.Type, v.String(), "download", platform.OS,
		platform.Arch), p.Host)
	if registry.NotFound(err) {
		return nil, nil, &NoPackageError{p, v, platform}
	}
	if err != nil {
		return nil, nil, err
	}
	doc = &downloadDocument{}
	return doc, answer.URL, answer.JSON(doc)
}

// checkProtocols returns an error unless the list contains plugin protocol 5 or 6, in any minor
// version. An empty list is accepted, because registries may omit it.
func checkProtocols(protocols []string) error {
	if len(protocols) == 0 {
		return nil
	}
	for _, p := range protocols {
		major, minor, _ := strings.Cut(p, ".")
		n, err := strconv.Atoi(major)
		if _, minorErr := strconv.Atoi(minor); err != nil || minor != "" && minorErr != nil {
			return fmt.Errorf("the registry lists the plugin protocol %q, which is not a valid version", p)
		}
		if n == 5 || n == 6 {
			return nil
		}
	}
	return fmt.Errorf("the release supports only plugin protocols %s, and this program only 5 and 6; "+
		"set a version constraint that selects a compatible release", strings.Join(protocols, ", "))
}

// authenticate checks the package's checksum against the signed list of checksums.
func (d *Direct) authenticate(ctx context.Context, pkg *Package, doc *downloadDocument, base *url.URL) error {
	sums, err := d.side(ctx, base, doc.SumsURL, "the list of checksums")
	if err != nil {
		return err
	}
	listed := parseSums(sums)
	if listed[doc.Filename] != pkg.ArchiveHash {
		return fmt.Errorf("the list of checksums doesn't contain the checksum %s for %s reported by the "+
			"registry", pkg.ArchiveHash.Value(), doc.Filename)
	}
	if len(doc.Keys.GPG) == 0 && pkg.Provider.Host == addrs.DefaultHost && !d.Policy.Enforce {
		pkg.Auth = "verified checksum, signature validation was skipped because the registry has no keys for " +
			"this provider"
	} else {
		signature, err := d.side(ctx, base, doc.SigURL, "the signature of the list of checksums")
		if err != nil {
			return err
		}
		pkg.KeyID, err = verifySignature(sums, signature, doc.Keys.GPG, d.Policy, d.Now())
		if err != nil {
			return err
		}
		pkg.Auth = "signed"
	}
	pkg.Trusted = slices.Sorted(maps.Values(listed))
	return nil
}

// side fetches a checksum or signature file, without credentials.
func (d *Direct) side(ctx context.Context, base *url.URL, ref, what string) ([]byte, error) {
	u, err := base.Parse(ref)
	if err != nil || ref == "" {
		return nil, fmt.Errorf("the registry returned no valid URL for %s", what)
	}
	return d.sides.Do(u.String(), func() ([]byte, error) {
		doc, err := d.Client.Get(ctx, u, "")
		if err != nil {
			return nil, fmt.Errorf("fetching %s: %w", what, err)
		}
		return doc.Body, nil
	})
}

// parseSums parses lines of the form "HEX NAME" and ignores all others.
func parseSums(text []byte) map[string]depsfile.Hash {
	sums := make(map[string]depsfile.Hash)
	for line := range strings.SplitSeq(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if raw, err := hex.DecodeString(fields[0]); err == nil && len(raw) == 32 {
			sums[strings.TrimPrefix(fields[1], "*")] = depsfile.Hash(depsfile.SchemeArchive + ":" +
				hex.EncodeToString(raw))
		}
	}
	return sums
}

// reported checks the hashes that the registry reports for the packages of all platforms, and the
// size of this package. It trusts the hashes only if the registry is the default one and signatures
// aren't enforced. Registries may omit all of this.
func (d *Direct) reported(pkg *Package, doc *downloadDocument) error {
	if doc.Packages == nil {
		return nil
	}
	var all []depsfile.Hash
	for name, entry := range doc.Packages {
		platform, err := depsfile.ParsePlatform(name)
		if err != nil {
			return fmt.Errorf("the registry reports checksums for %q, which is not a valid platform", name)
		}
		for _, text := range entry.Hashes {
			h, err := depsfile.ParseHash(text)
			if err != nil {
				return fmt.Errorf("the registry reports an invalid checksum for %s: %w", name, err)
			}
			all = append(all, h)
			if platform == pkg.Platform && h.Scheme() == depsfile.SchemeContent {
				pkg.ContentHash = h
			}
		}
	}
	own, ok := doc.Packages[pkg.Platform.String()]
	switch {
	case !ok:
		return fmt.Errorf("the registry reports checksums by platform, but none for %s", pkg.Platform)
	case own.Size <= 0:
		return errors.New("the registry reports no valid size of the package")
	case !slices.Contains(own.Hashes, string(pkg.ArchiveHash)):
		return fmt.Errorf("the registry announces the checksum %s, but doesn't report it among the checksums "+
			"for %s", pkg.ArchiveHash, pkg.Platform)
	}
	pkg.Size = own.Size
	if pkg.Provider.Host == addrs.DefaultHost && !d.Policy.Enforce {
		pkg.Trusted = depsfile.Union(pkg.Trusted, depsfile.Known(all))
	} else {
		pkg.ContentHash = ""
	}
	return nil
}
