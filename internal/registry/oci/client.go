package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"tofu/internal/httpclient"
	"tofu/internal/registry"
	"tofu/internal/transfer"
)

// zipLayer is the media type of the layer that contains a package.
const zipLayer = "archive/zip"

// maxManifest is the maximum size of a manifest.
const maxManifest = 8 << 20

// Client reads from OCI registries.
type Client struct {
	credentials *credentials
	http        *httpclient.Client
	userAgent   string

	caches sync.Map // issued tokens: an auth.Cache for each repository
}

// New returns a client that uses the CLI configuration of c.
func New(c *registry.Client) *Client {
	return &Client{
		credentials: newCredentials(c.Config()),
		http:        httpclient.New(httpclient.Options{}),
		userAgent:   c.UserAgent(),
	}
}

// CheckRepository returns an error if a repository's address is invalid.
func CheckRepository(name string) error {
	if _, err := remote.NewRepository(name); err != nil {
		return fmt.Errorf("%q is not a valid address of an OCI repository: %w", name, err)
	}
	return nil
}

func (c *Client) repository(name string) (*remote.Repository, error) {
	repo, err := remote.NewRepository(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a valid address of an OCI repository: %w", name, err)
	}
	repeating := *c.http.Std()
	repeating.Transport = &retry.Transport{Base: repeating.Transport, Policy: func() retry.Policy { return retries }}
	cache, _ := c.caches.LoadOrStore(name, auth.NewCache())
	client := &auth.Client{Client: &repeating, Cache: cache.(auth.Cache),
		Credential: func(ctx context.Context, host string) (auth.Credential, error) {
			return c.credentials.find(ctx, repo.Reference.Registry, repo.Reference.Repository)
		}}
	client.SetUserAgent(c.userAgent)
	repo.Client = client
	return repo, nil
}

// retries is the policy for repeating requests. All requests can be repeated, because they only
// read. A request to a silent server is not repeated, because it has already taken long enough.
var retries retry.Policy = &retry.GenericPolicy{
	Retryable: func(resp *http.Response, err error) (bool, error) {
		if _, ok := errors.AsType[*httpclient.SilenceError](err); ok {
			return false, err
		}
		return retry.DefaultPredicate(resp, err)
	},
	Backoff: retry.DefaultBackoff, MinWait: 200 * time.Millisecond, MaxWait: 3 * time.Second, MaxRetry: 5,
}

// ErrNotFound reports that a repository, tag or artifact doesn't exist.
var ErrNotFound = errdef.ErrNotFound

// Tags returns the tags of a repository.
func (c *Client) Tags(ctx context.Context, repository string) ([]string, error) {
	repo, err := c.repository(repository)
	if err != nil {
		return nil, err
	}
	var all []string
	err = repo.Tags(ctx, "", func(tags []string) error {
		all = append(all, tags...)
		return nil
	})
	return all, wrap(because(ctx, err), repository)
}

// because returns the cause of the cancellation if ctx was canceled, otherwise err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// wrap returns an error that says what failed. If what doesn't exist, the error wraps ErrNotFound.
// For a nil error, wrap returns nil.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	if status, ok := errors.AsType[*errcode.ErrorResponse](err); ok &&
		status.StatusCode == http.StatusNotFound || errors.Is(err, errdef.ErrNotFound) {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return fmt.Errorf("reading %s: %w", what, httpclient.Clean(err))
}

// Index returns the index manifest with a tag.
func (c *Client) Index(ctx context.Context, repository, tag string) (*ocispec.Index, error) {
	var index ocispec.Index
	if _, err := c.manifest(ctx, repository, tag, ocispec.MediaTypeImageIndex, &index); err != nil {
		return nil, err
	}
	return &index, nil
}

// Package reads the manifest with a tag or digest. It returns the layer with the package and the
// digest of the manifest.
func (c *Client) Package(
	ctx context.Context, repository, reference, artifactType string,
) (layer ocispec.Descriptor, digest string, err error) {
	var m ocispec.Manifest
	digest, err = c.manifest(ctx, repository, reference, ocispec.MediaTypeImageManifest, &m)
	if err != nil {
		return layer, "", err
	}
	if m.ArtifactType != artifactType {
		return layer, "", fmt.Errorf("%s is an artifact of type %q, not %q", artifactName(repository, reference),
			m.ArtifactType, artifactType)
	}
	var found []ocispec.Descriptor
	for _, layer := range m.Layers {
		if layer.MediaType == zipLayer {
			found = append(found, layer)
		}
	}
	if len(found) != 1 {
		return layer, "", fmt.Errorf("%s has %d layers of type %q instead of one", artifactName(repository, reference),
			len(found), zipLayer)
	}
	return found[0], digest, nil
}

// artifactName returns the usual name of the artifact with a tag or digest.
func artifactName(repository, reference string) string {
	if strings.Contains(reference, ":") {
		return repository + "@" + reference
	}
	return repository + ":" + reference
}

// manifest reads a manifest of the given type and returns its digest. The registry and the manifest
// itself must state the same type, because a digest doesn't protect a document that can be read as
// several types.
func (c *Client) manifest(
	ctx context.Context, repository, reference, kind string, into any,
) (digest string, err error) {
	repo, err := c.repository(repository)
	if err != nil {
		return "", err
	}
	what := artifactName(repository, reference)
	desc, body, err := repo.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return "", wrap(because(ctx, err), what)
	}
	defer body.Close()
	if desc.Size > maxManifest {
		return "", fmt.Errorf("the manifest %s has %d bytes, which exceeds the limit of %d", what, desc.Size,
			maxManifest)
	}
	data, err := content.ReadAll(body, desc) // also verifies the digest
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", what, because(ctx, err))
	}
	var own struct {
		MediaType string `json:"mediaType"`
	}
	err = json.Unmarshal(data, &own)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return "", fmt.Errorf("the manifest %s isn't valid: %w", what, err)
	}
	if own.MediaType != kind || desc.MediaType != kind {
		return "", fmt.Errorf("the manifest %s has the type %q (the registry reports %q), but %q is required",
			what, own.MediaType, desc.MediaType, kind)
	}
	return desc.Digest.String(), nil
}

// Fetch writes the content of a layer to dst, which must be empty, and verifies it. A stalled or
// interrupted transfer is resumed if the registry supports this. progress receives the number of
// bytes fetched so far and the total; it may be nil.
func (c *Client) Fetch(
	ctx context.Context, repository string, desc ocispec.Descriptor, dst *os.File, progress func(done, total int64),
) error {
	repo, err := c.repository(repository)
	if err != nil {
		return err
	}
	f := &transfer.File{Open: openBlob(repo, desc), Dst: dst, Limit: desc.Size, Progress: progress}
	farthest := int64(0)
	for attempt := 0; ; attempt++ {
		err := f.Attempt(ctx)
		farther := f.Written() > farthest
		farthest = max(farthest, f.Written())
		var silent *httpclient.SilenceError
		switch {
		case err == nil:
			return wrap(verify(dst, desc), repository+"@"+desc.Digest.String())
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.Is(err, transfer.ErrInterrupted) && !errors.As(err, &silent):
			return wrap(err, repository+"@"+desc.Digest.String())
		case attempt >= fetchRetries && !farther:
			err = fmt.Errorf("giving up after %d attempt(s): %w", attempt+1, err)
			return wrap(err, repository+"@"+desc.Digest.String())
		}
	}
}

// fetchRetries is the number of retries that are made even without progress. After them, an attempt
// is retried only if it has received more of the content than all earlier attempts.
const fetchRetries = 2

// openBlob returns a function that requests a blob from a given position to the end. If the
// registry doesn't support that, the function requests the whole blob.
func openBlob(repo *remote.Repository, desc ocispec.Descriptor) func(context.Context, int64) (*transfer.Part, error) {
	return func(ctx context.Context, from int64) (*transfer.Part, error) {
		body, err := repo.Blobs().Fetch(ctx, desc)
		if err != nil {
			return nil, because(ctx, err)
		}
		part := &transfer.Part{Body: body, Size: desc.Size}
		if seeker, ok := body.(io.Seeker); ok && from > 0 {
			if at, err := seeker.Seek(from, io.SeekStart); err == nil {
				part.Start = at
			}
		}
		return part, nil
	}
}

// verify returns an error if the content of dst doesn't have the expected digest.
func verify(dst *os.File, desc ocispec.Descriptor) error {
	if _, err := dst.Seek(0, io.SeekStart); err != nil {
		return err
	}
	verifier := desc.Digest.Verifier()
	if _, err := io.Copy(verifier, dst); err != nil {
		return err
	}
	if !verifier.Verified() {
		return fmt.Errorf("the content doesn't have the digest %s", desc.Digest)
	}
	return nil
}
