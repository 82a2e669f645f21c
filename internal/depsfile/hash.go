package depsfile

import (
	"fmt"
	"slices"
	"strings"
)

// Hash is a checksum of a provider package with its scheme, "h1:…" or "zh:…".
type Hash string

// The hash schemes that packages can be checked against. Hashes of other schemes are kept but never
// match.
const (
	// SchemeContent is SHA-256 over the sorted names and SHA-256 sums of the package's files.
	// Archives and directories with the same content have the same hash.
	SchemeContent = "h1"
	// SchemeArchive is SHA-256 of the .zip file.
	SchemeArchive = "zh"
)

// ParseHash parses text of the form SCHEME:VALUE.
func ParseHash(text string) (Hash, error) {
	scheme, value, ok := strings.Cut(text, ":")
	if !ok || scheme == "" {
		return "", fmt.Errorf("%q doesn't start with the name of a hash scheme and a colon, like \"h1:\"", text)
	}
	if value == "" && (scheme == SchemeContent || scheme == SchemeArchive) {
		return "", fmt.Errorf("%q has no value after the scheme", text)
	}
	notAllowed := func(r rune) bool { return r <= ' ' || r > '~' }
	if strings.ContainsFunc(text, notAllowed) {
		return "", fmt.Errorf("%q contains characters that are not allowed in a hash", text)
	}
	return Hash(text), nil
}

// Scheme returns the part before the colon.
func (h Hash) Scheme() string {
	scheme, _, _ := strings.Cut(string(h), ":")
	return scheme
}

// Value returns the part after the colon.
func (h Hash) Value() string {
	_, value, _ := strings.Cut(string(h), ":")
	return value
}

// Known returns the hashes with a scheme that packages can be checked against.
func Known(hashes []Hash) []Hash {
	var known []Hash
	for _, h := range hashes {
		if s := h.Scheme(); s == SchemeContent || s == SchemeArchive {
			known = append(known, h)
		}
	}
	return known
}

// Union returns the hashes of all lists in the order of the lock file, without duplicates.
func Union(lists ...[]Hash) []Hash {
	all := slices.Concat(lists...)
	slices.Sort(all)
	return slices.Compact(all)
}
