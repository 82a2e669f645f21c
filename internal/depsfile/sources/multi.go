package sources

import (
	"context"
	"errors"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

// Method is a source for some providers only. Exclusions take precedence over inclusions. If there
// are no inclusions, all providers are included.
type Method struct {
	Source  Source
	Include Patterns
	Exclude Patterns
}

func (m Method) applies(p addrs.Provider) bool {
	return !m.Exclude.Match(p) && (len(m.Include) == 0 || m.Include.Match(p))
}

// Multi is a list of methods. It offers the versions of all applicable methods. A package comes
// from the first method that has its version.
type Multi []Method

// String lists the sources.
func (m Multi) String() string {
	names := make([]string, len(m))
	for i, method := range m {
		names[i] = method.Source.String()
	}
	return strings.Join(names, ", ")
}

// Versions returns the versions of all applicable methods.
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
		if none, ok := errors.AsType[*NoProviderError](err); ok {
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

// Package asks the applicable methods in order.
func (m Multi) Package(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*Package, error) {
	return first(m, p, v, platform,
		func(s Source) (*Package, error) { return s.Package(ctx, p, v, platform) })
}

// first returns what the first applicable method that has a version says about it.
func first[T any](
	m Multi, p addrs.Provider, v depsfile.Version, platform depsfile.Platform, ask func(Source) (T, error),
) (none T, err error) {
	for _, method := range m {
		if !method.applies(p) {
			continue
		}
		got, err := ask(method.Source)
		_, noProvider := errors.AsType[*NoProviderError](err)
		_, noPackage := errors.AsType[*NoPackageError](err)
		if noProvider || noPackage {
			continue
		}
		return got, err
	}
	return none, &NoPackageError{p, v, platform}
}

// Unpacked reports whether an applicable method has an unpacked package in a local directory.
func (m Multi) Unpacked(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) bool {
	for _, method := range m {
		if f, ok := method.Source.(Filesystem); ok && method.applies(p) && f.Unpacked(p, v, platform) {
			return true
		}
	}
	return false
}

// Implied is the source that is used if there is no provider_installation block. If a directory has
// a package of a provider, the provider is installed only from the directories. All other providers
// come from their registries.
type Implied struct {
	Folders []Filesystem
	Direct  Source
}

// String lists the sources.
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

// Versions asks the directories or the registry.
func (i Implied) Versions(ctx context.Context, p addrs.Provider) (Versions, error) {
	return i.source(p).Versions(ctx, p)
}

// Package asks the directories or the registry.
func (i Implied) Package(
	ctx context.Context, p addrs.Provider, v depsfile.Version, platform depsfile.Platform,
) (*Package, error) {
	return i.source(p).Package(ctx, p, v, platform)
}

// Unpacked reports whether one of the directories has an unpacked package.
func (i Implied) Unpacked(p addrs.Provider, v depsfile.Version, platform depsfile.Platform) bool {
	return i.local().Unpacked(p, v, platform)
}
