package sources

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/yosida95/uritemplate/v3"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/registry/oci"
)

// OCIMirror is a set of repositories in OCI registries, one for each provider.
type OCIMirror struct {
	Client     *oci.Client
	MinAge     time.Duration
	text       string // text of the template
	repository func(addrs.Provider) (string, error)
}

// NewOCIMirror returns a mirror for an HCL template such as
// "example.com/providers/${namespace}/${type}". The template must contain each part of a provider
// address for which the inclusion patterns allow several values. Otherwise several providers would
// share a repository.
func NewOCIMirror(client *oci.Client, template string, include Patterns) (*OCIMirror, error) {
	expr, diags := hclsyntax.ParseTemplate([]byte(template), "repository_template", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, fmt.Errorf("the repository_template %q isn't valid: %w", template, diags)
	}
	used := make(map[string]bool)
	for _, v := range expr.Variables() {
		used[v.RootName()] = true
	}
	m := &OCIMirror{Client: client, text: template, repository: func(p addrs.Provider) (string, error) {
		return evalTemplate(expr, template, p)
	}}
	if err := m.check(); err != nil {
		return nil, err
	}
	open := openParts(include)
	for _, part := range addressParts {
		if open[part] && !used[part] {
			return nil, fmt.Errorf("the repository_template %q must contain ${%s}, unless \"include\" allows "+
				"only one %s", template, part, part)
		}
	}
	return m, nil
}

// NewOCIMirrorURI returns a mirror for a URI template (RFC 6570) such as
// "example.com/providers/{namespace}/{type}".
func NewOCIMirrorURI(client *oci.Client, template string) (*OCIMirror, error) {
	parsed, err := uritemplate.New(template)
	if err != nil {
		return nil, fmt.Errorf("the URI template %q isn't valid: %w", template, err)
	}
	for _, name := range parsed.Varnames() {
		if !slices.Contains(addressParts, name) {
			return nil, fmt.Errorf("the URI template %q has a variable %q; "+
				"only hostname, namespace and type are allowed", template, name)
		}
	}
	if strings.Contains(template, "${") {
		return nil, fmt.Errorf("the URI template %q has variables in the form ${…}; "+
			"write them as {hostname}, {namespace} and {type}", template)
	}
	m := &OCIMirror{Client: client, text: template, repository: func(p addrs.Provider) (string, error) {
		return parsed.Expand(uritemplate.Values{"hostname": uritemplate.String(p.Host),
			"namespace": uritemplate.String(p.Namespace), "type": uritemplate.String(p.Type)})
	}}
	if err := m.check(); err != nil {
		return nil, err
	}
	m.repository = unshared(m.repository)
	return m, nil
}

// addressParts are the variables of templates.
var addressParts = []string{"hostname", "namespace", "type"}

// check returns an error if the template doesn't result in a valid repository address.
func (m *OCIMirror) check() error {
	example, err := m.repository(addrs.Provider{Host: "x.example", Namespace: "x", Type: "x"})
	if err != nil {
		return err
	}
	return oci.CheckRepository(example)
}

// unshared wraps repository in a function that fails if two providers have the same repository.
func unshared(repository func(addrs.Provider) (string, error)) func(addrs.Provider) (string, error) {
	var owners sync.Map // maps each repository to its addrs.Provider
	return func(p addrs.Provider) (string, error) {
		name, err := repository(p)
		if err != nil {
			return "", err
		}
		if owner, _ := owners.LoadOrStore(name, p); owner != p {
			return "", fmt.Errorf("%s and %s have the same OCI repository %s; "+
				"use {hostname}, {namespace} or {type} in the template, or run the command for one provider at a time", owner, p, name)
		}
		return name, nil
	}
}

// openParts returns the parts of a provider address for which patterns allow several values,
// because of a wildcard or several patterns.
func openParts(include Patterns) map[string]bool {
	open := map[string]bool{"hostname": len(include) == 0, "namespace": len(include) == 0, "type": len(include) == 0}
	for _, p := range include {
		first := include[0]
		open["hostname"] = open["hostname"] || p.Host == "*" || p.Host != first.Host
		open["namespace"] = open["namespace"] || p.Namespace == "*" || p.Namespace != first.Namespace
		open["type"] = open["type"] || p.Type == "*" || p.Type != first.Type
	}
	return open
}

// String returns a description with the template.
func (m *OCIMirror) String() string { return "the OCI mirror " + m.text }

// evalTemplate returns the value of an HCL template for a provider.
func evalTemplate(expr hclsyntax.Expression, text string, p addrs.Provider) (string, error) {
	v, diags := expr.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"hostname": cty.StringVal(p.Host), "namespace": cty.StringVal(p.Namespace), "type": cty.StringVal(p.Type)}})
	if diags.HasErrors() {
		return "", fmt.Errorf("the repository_template %q can't be evaluated; its variables are hostname, "+
			"namespace and type: %w", text, diags)
	}
	name, err := convert.Convert(v, cty.String)
	if err != nil || name.IsNull() || !name.IsKnown() {
		return "", fmt.Errorf("the result of the repository_template %q is not an address", text)
	}
	return name.AsString(), nil
}

// Versions returns the tags that are versions.
func (m *OCIMirror) Versions(ctx context.Context, p addrs.Provider) (Versions, error) {
	repository, err := m.repository(p)
	if err != nil {
		return Versions{}, err
	}
	tags, err := m.Client.Tags(ctx, repository)
	if err != nil && !errors.Is(err, oci.ErrNotFound) {
		return Versions{}, err
	}
	var found Versions
	for _, tag := range tags {
		text := strings.ReplaceAll(tag, "_", "+")
		if v, err := depsfile.ParseVersion(text); err == nil && v.String() == text {
			found.List = append(found.List, v)
		}
	}
	if len(found.List) == 0 {
		return Versions{}, &NoProviderError{Provider: p, Sources: []string{m.String()}}
	}
	return found, nil
}

const (
	releaseArtifact = "application/vnd.opentofu.provider"
	packageArtifact = "application/vnd.opentofu.provider-target"
)

// release returns the repository of a provider and the index that has the version's tag.
func (m *OCIMirror) release(
	ctx context.Context, p addrs.Provider, v depsfile.Version,
) (repository string, index *ocispec.Index, err error) {
	repository, err = m.repository(p)
	if err == nil {
		index, err = m.Client.Index(ctx, repository, strings.ReplaceAll(v.String(), "+", "_"))
	}
	return repository, index, err
}

// Package finds the platform in the index that has the version's tag.
func (m *OCIMirror) Package(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*Package, error) {
	repository, index, err := m.release(ctx, p, v)
	if errors.Is(err, oci.ErrNotFound) {
		return nil, &NoPackageError{p, v, platform}
	}
	if err != nil {
		return nil, err
	}
	if index.ArtifactType != releaseArtifact {
		return nil, fmt.Errorf("%s has an artifact of type %q under %s, not a release of a provider", repository,
			index.ArtifactType, v)
	}
	var found []ocispec.Descriptor
	for _, desc := range index.Manifests {
		// Skip packages for a specific version of the operating system.
		if p := desc.Platform; desc.ArtifactType == packageArtifact && p != nil && p.OS == platform.OS &&
			p.Architecture == platform.Arch && p.OSVersion == "" {
			found = append(found, desc)
		}
	}
	switch {
	case len(found) == 0:
		return nil, &NoPackageError{p, v, platform}
	case len(found) > 1:
		return nil, fmt.Errorf("%s has %d packages of version %s for %s", repository, len(found), v, platform)
	}
	layer, _, err := m.Client.Package(ctx, repository, found[0].Digest.String(), packageArtifact)
	if err != nil {
		return nil, err
	}
	pkg := &Package{Provider: p, Version: v, Platform: platform, Name: ArchiveName(p, v, platform),
		Size: layer.Size, Auth: "verified checksum",
		Fetch: func(ctx context.Context, dst *os.File, progress func(done, total int64)) error {
			return m.Client.Fetch(ctx, repository, layer, dst, progress)
		}}
	if layer.Digest.Algorithm() == "sha256" {
		pkg.ArchiveHash = depsfile.Hash(depsfile.SchemeArchive + ":" + layer.Digest.Encoded())
		pkg.Reported = []depsfile.Hash{pkg.ArchiveHash}
	}
	return pkg, nil
}
