package sources

import (
	"context"
	"errors"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

// Method is a source for some providers only. Exclusions go before inclusions; without inclusions all are included.
type Method struct {
	Source  Source
	Include Patterns
	Exclude Patterns
}

func (m Method) applies(p addrs.Provider) bool {
	return !m.Exclude.Match(p) && (len(m.Include) == 0 || m.Include.Match(p))
}

// Multi is a list of methods. The versions are those of all methods that apply; a package comes from the first that
// has its version.
type Multi []Method

// String lists the sources.
func (m Multi) String() string {
	names := make([]string, len(m))
	for i, method := range m {
		names[i] = method.Source.String()
	}
	return strings.Join(names, ", ")
}

// Versions gives the versions of all methods that apply.
func (m Multi) Versions(ctx context.Context, p addrs.Provider) (Versions, error) {
	var found Versions
	var missing NoProviderError
	missing.Provider = p
	seen := make(map[depsfile.Version]bool)
	for _, method := range m {
		if !method.applies(p) {
			continue
		}
		got, err := method.Source.Versions(ctx, p)
		var none *NoProviderError
		if errors.As(err, &none) {
			missing.Sources = append(missing.Sources, method.Source.String())
			missing.Hint = none.Hint
			continue
		}
		if err != nil {
			return Versions{}, err
		}
		for _, v := range got.List {
			if !seen[v] {
				seen[v] = true
				found.List = append(found.List, v)
			}
		}
		found.Warnings = append(found.Warnings, got.Warnings...)
	}
	if len(found.List) == 0 {
		return Versions{}, &missing
	}
	return found, nil
}

// Package asks the methods that apply, in order.
func (m Multi) Package(ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform) (*Package, error) {
	for _, method := range m {
		if !method.applies(p) {
			continue
		}
		got, err := method.Source.Package(ctx, p, v, platform)
		var noProvider *NoProviderError
		var noPackage *NoPackageError
		if errors.As(err, &noProvider) || errors.As(err, &noPackage) {
			continue
		}
		return got, err
	}
	return nil, &NoPackageError{p, v, platform}
}

// Unpacked tells whether a package lies in a folder of one of the methods that apply.
func (m Multi) Unpacked(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) bool {
	for _, method := range m {
		if f, ok := method.Source.(Filesystem); ok && method.applies(p) && f.Unpacked(p, v, platform) {
			return true
		}
	}
	return false
}

// Implied is what applies without a provider_installation block: a provider that lies in one of the folders is taken
// from the folders only, all others directly.
type Implied struct {
	Folders []Filesystem
	Direct  Source
}

// String names the sources.
func (i Implied) String() string {
	if len(i.Folders) == 0 {
		return i.Direct.String()
	}
	return i.local().String() + ", " + i.Direct.String()
}

func (i Implied) local() Multi {
	m := make(Multi, len(i.Folders))
	for n, f := range i.Folders {
		m[n] = Method{Source: f}
	}
	return m
}

func (i Implied) source(p addrs.Provider) Source {
	for _, f := range i.Folders {
		if f.Has(p) {
			return i.local()
		}
	}
	return i.Direct
}

// Versions asks the folders or the registry.
func (i Implied) Versions(ctx context.Context, p addrs.Provider) (Versions, error) {
	return i.source(p).Versions(ctx, p)
}

// Package asks the folders or the registry.
func (i Implied) Package(ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform) (*Package, error) {
	return i.source(p).Package(ctx, p, v, platform)
}

// Unpacked tells whether a package lies in one of the folders.
func (i Implied) Unpacked(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) bool {
	return i.local().Unpacked(p, v, platform)
}
