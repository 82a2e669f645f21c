package command

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
)

// onePackage is a source with one package.
type onePackage struct {
	pkg *sources.Package
	err error
}

func (s onePackage) String() string { return "the registry" }

func (s onePackage) Age(context.Context, addrs.Provider, depsfile.Version) (sources.Age, error) {
	return sources.Age{}, nil
}

func (s onePackage) Versions(context.Context, addrs.Provider) (sources.Versions, error) {
	return sources.Versions{}, s.err
}

func (s onePackage) Package(
	context.Context, addrs.Provider, depsfile.Version, depsfile.Platform,
) (*sources.Package, error) {
	return s.pkg, s.err
}

// TestVerifyWithSource compares locks with what a source says about a package.
func TestVerifyWithSource(t *testing.T) {
	signed := &sources.Package{ArchiveHash: "zh:a", Trusted: []depsfile.Hash{"zh:a", "zh:b"}, Auth: "signed", KeyID: "K"}
	for _, c := range []struct {
		name   string
		locked []depsfile.Hash
		source onePackage
		want   string // a part of the only problem, or "" if there must be none
	}{
		{"signed", []depsfile.Hash{"h1:x", "zh:a", "zh:b"}, onePackage{pkg: signed}, ""},
		{"only the installed files are locked", []depsfile.Hash{"h1:x"}, onePackage{pkg: signed}, ""},
		{"a checksum that isn't signed", []depsfile.Hash{"zh:a", "zh:c"}, onePackage{pkg: signed}, "1 checksums of archives"},
		{"another platform only", []depsfile.Hash{"zh:b"}, onePackage{pkg: signed}, "none of the checksums"},
		{"no directory", []depsfile.Hash{"h1:x"}, onePackage{pkg: &sources.Package{Dir: "missing"}}, "can't be read"},
		{"another content", []depsfile.Hash{"h1:x"}, onePackage{pkg: &sources.Package{ContentHash: "h1:y"}}, "none of the"},
		{"reported", []depsfile.Hash{"h1:x"},
			onePackage{pkg: &sources.Package{Reported: []depsfile.Hash{"h1:z", "h1:x"}}}, ""},
		{"a bad signature", nil, onePackage{err: errors.New("the signature isn't valid")}, "the signature isn't valid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got verified
			v := &providerVerifier{source: c.source}
			v.ask(t.Context(), addrs.Provider{Type: "x"}, depsfile.Lock{Hashes: c.locked}, &got)
			found := slices.ContainsFunc(got.Problems, func(p string) bool { return strings.Contains(p, c.want) })
			if len(got.Problems) > 0 != (c.want != "") || c.want != "" && !found {
				t.Errorf("the problems are %q, want %q", got.Problems, c.want)
			}
		})
	}
}
