package getmodules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"tofu/internal/registry/oci"
)

// moduleArtifact is the type of a module package in an OCI registry.
const moduleArtifact = "application/vnd.opentofu.modulepkg"

// oci fetches a package from an OCI registry, by tag or digest.
func (f *fetcher) oci(ctx context.Context, j job) error {
	tag, digest := j.query.Get("tag"), j.query.Get("digest")
	for name := range without(j.query, "tag", "digest") {
		return fmt.Errorf("an oci: address has no parameter %q; there are tag and digest", name)
	}
	reference := tag
	switch {
	case tag != "" && digest != "":
		return errors.New("an oci: address has a tag or a digest, not both")
	case digest != "":
		reference = digest
	case tag == "":
		reference = "latest"
	}
	reference = cmp.Or(j.want, reference)
	repository := j.url.Host + j.url.Path
	client := oci.New(f.client)
	layer, manifest, err := client.Package(ctx, repository, reference, moduleArtifact)
	if err != nil {
		return err
	}
	*j.got = manifest
	return j.unpackFetched("zip", checksum{}, func(dst *os.File) error { return client.Fetch(ctx, repository, layer, dst, nil) })
}
