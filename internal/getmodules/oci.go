package getmodules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// moduleArtifact is the artifact type of module packages in OCI registries.
const moduleArtifact = "application/vnd.opentofu.modulepkg"

// oci fetches a package from an OCI registry by tag or digest.
func (f *fetcher) oci(ctx context.Context, j job) error {
	tag, digest := j.query.Get("tag"), j.query.Get("digest")
	if j.url.Scheme != "oci" || strings.ContainsAny(j.url.Path, "@:") {
		return errors.New("the form of an oci: address is oci://HOST/REPOSITORY, optionally followed by " +
			"?tag=… or ?digest=…")
	}
	for _, name := range []string{"tag", "digest"} {
		if j.query.Has(name) && j.query.Get(name) == "" {
			return fmt.Errorf("the parameter %q of the oci: address is empty", name)
		}
	}
	if others := slices.Sorted(maps.Keys(without(j.query, "tag", "digest"))); len(others) > 0 {
		return fmt.Errorf("an oci: address has no parameter %q, only tag and digest", others[0])
	}
	reference := tag
	switch {
	case tag != "" && digest != "":
		return errors.New("an oci: address may have a tag or a digest, not both")
	case digest != "":
		reference = digest
	case tag == "":
		reference = "latest"
	}
	reference = cmp.Or(j.want, reference)
	repository := j.url.Host + j.url.Path
	layer, manifest, err := f.images.Package(ctx, repository, reference, moduleArtifact)
	if err != nil {
		return err
	}
	*j.got = manifest
	return j.unpackFetched("zip", checksum{},
		func(dst *os.File) error { return f.images.Fetch(ctx, repository, layer, dst, f.received(j)) })
}
