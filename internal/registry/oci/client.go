package oci

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"tofu/internal/registry"
)

// ZipLayer is the media type of the one layer that holds a package.
const ZipLayer = "archive/zip"

// maxManifest is the most that a manifest may have.
const maxManifest = 8 << 20

// Client reads from OCI registries.
type Client struct {
	credentials *credentials
	http        *http.Client
	userAgent   string
}

// New makes a client that follows the same rules as another one.
func New(c *registry.Client) *Client {
	return &Client{
		credentials: newCredentials(c.Config()),
		http:        &http.Client{Transport: retry.NewTransport(nil), CheckRedirect: registry.CheckRedirect},
		userAgent:   c.UserAgent(),
	}
}

func (c *Client) repository(name string) (*remote.Repository, error) {
	repo, err := remote.NewRepository(name)
	if err != nil {
		return nil, fmt.Errorf("%q is no address of an OCI repository: %w", name, err)
	}
	client := &auth.Client{Client: c.http, Cache: auth.NewCache(),
		Credential: func(ctx context.Context, host string) (auth.Credential, error) {
			return c.credentials.find(ctx, repo.Reference.Registry, repo.Reference.Repository)
		}}
	client.SetUserAgent(c.userAgent)
	repo.Client = client
	return repo, nil
}

// ErrNotFound tells that a repository, tag or artifact isn't there.
var ErrNotFound = errdef.ErrNotFound

// Tags lists a repository's tags.
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
	return all, wrap(err, repository)
}

// wrap tells a repository that isn't there from other failures.
func wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	if status := new(errcode.ErrorResponse); errors.As(err, &status) && status.StatusCode == http.StatusNotFound || errors.Is(err, errdef.ErrNotFound) {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return fmt.Errorf("reading %s: %w", what, err)
}

// Index reads the index manifest with a tag.
func (c *Client) Index(ctx context.Context, repository, tag string) (*ocispec.Index, error) {
	var index ocispec.Index
	if _, err := c.manifest(ctx, repository, tag, &index); err != nil {
		return nil, err
	}
	if index.MediaType != "" && index.MediaType != ocispec.MediaTypeImageIndex {
		return nil, fmt.Errorf("%s:%s is a manifest of type %q, not an index of platforms", repository, tag, index.MediaType)
	}
	return &index, nil
}

// Package reads the manifest with a tag or digest and gives the layer with the package, and the manifest's own digest.
func (c *Client) Package(ctx context.Context, repository, reference, artifactType string) (layer ocispec.Descriptor, digest string, err error) {
	var m ocispec.Manifest
	if digest, err = c.manifest(ctx, repository, reference, &m); err != nil {
		return layer, "", err
	}
	if m.ArtifactType != artifactType {
		return layer, "", fmt.Errorf("%s@%s is an artifact of type %q, not %q", repository, reference, m.ArtifactType, artifactType)
	}
	var found []ocispec.Descriptor
	for _, layer := range m.Layers {
		if layer.MediaType == ZipLayer {
			found = append(found, layer)
		}
	}
	if len(found) != 1 {
		return layer, "", fmt.Errorf("%s@%s has %d layers of type %q; a package has one", repository, reference, len(found), ZipLayer)
	}
	return found[0], digest, nil
}

// manifest reads a manifest and gives its digest.
func (c *Client) manifest(ctx context.Context, repository, reference string, into any) (digest string, err error) {
	repo, err := c.repository(repository)
	if err != nil {
		return "", err
	}
	what := repository + ":" + reference
	desc, body, err := repo.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return "", wrap(err, what)
	}
	defer body.Close()
	if desc.Size > maxManifest {
		return "", fmt.Errorf("the manifest %s has %d bytes, more than a manifest may have", what, desc.Size)
	}
	data, err := content.ReadAll(body, desc) // verifies the digest
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", what, err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return "", fmt.Errorf("the manifest %s isn't valid: %w", what, err)
	}
	return desc.Digest.String(), nil
}

// Fetch writes a layer's content to dst and verifies it.
func (c *Client) Fetch(ctx context.Context, repository string, desc ocispec.Descriptor, dst *os.File) error {
	repo, err := c.repository(repository)
	if err != nil {
		return err
	}
	body, err := repo.Blobs().Fetch(ctx, desc)
	if err != nil {
		return wrap(err, repository+"@"+desc.Digest.String())
	}
	defer body.Close()
	verified := content.NewVerifyReader(body, desc)
	if _, err := io.Copy(dst, verified); err != nil {
		return fmt.Errorf("fetching %s@%s: %w", repository, desc.Digest, err)
	}
	if err := verified.Verify(); err != nil {
		return fmt.Errorf("fetching %s@%s: %w", repository, desc.Digest, err)
	}
	return nil
}
