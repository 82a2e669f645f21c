package sources

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"tofu/internal/addrs"
	"tofu/internal/ages"
	"tofu/internal/depsfile"
	"tofu/internal/registry/oci"
)

// Age says when a version was published, and which age its source demands of it.
type Age struct {
	Published time.Time // zero if that is unknown
	Minimum   time.Duration
}

// PassedOver is a version that is too young to be selected.
type PassedOver struct {
	Version depsfile.Version
	Age
}

// String returns what is wrong with the version.
func (p PassedOver) String() string {
	return fmt.Sprintf("version %s was published on %s, and minimum_release_age is %s", p.Version,
		p.Published.UTC().Format("2006-01-02 15:04 UTC"), ages.Format(p.Minimum))
}

// OldEnough returns the newest acceptable version that is old enough, and the newer ones that are
// not. It asks for the ages of no others. Without a version, ok is false.
func OldEnough(
	list []depsfile.Version, acceptable func(depsfile.Version) bool, age func(depsfile.Version) (Age, error),
) (v depsfile.Version, young []PassedOver, ok bool, err error) {
	for {
		v, ok = Newest(list, acceptable)
		if !ok {
			return v, young, false, nil
		}
		a, err := age(v)
		switch {
		case err != nil:
			return v, young, false, fmt.Errorf("asking when version %s was published: %w", v, err)
		case a.Minimum == 0:
			return v, young, true, nil
		case a.Published.IsZero():
			return v, young, false, fmt.Errorf("minimum_release_age is %s, but it is unknown when version %s was "+
				"published; set minimum_release_age = \"0\" for its source in the CLI configuration to accept its "+
				"versions without a date", ages.Format(a.Minimum), v)
		case time.Since(a.Published) >= a.Minimum:
			return v, young, true, nil
		}
		young = append(young, PassedOver{v, a})
		list = slices.DeleteFunc(slices.Clone(list), func(other depsfile.Version) bool { return other == v })
	}
}

// NoneOldEnough describes versions that were passed over, in an error.
func NoneOldEnough(young []PassedOver) string {
	texts := make([]string, min(len(young), 3))
	for i := range texts {
		texts[i] = young[i].String()
	}
	if more := len(young) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("%d more are too young", more))
	}
	return strings.Join(texts, "; ")
}

// Age asks the registry when a version was published. If it doesn't say, the date of the file with
// the checksums counts, because servers set it when the file is uploaded.
func (d *Direct) Age(ctx context.Context, p addrs.Provider, v depsfile.Version) (Age, error) {
	a := Age{Minimum: d.MinAge}
	if a.Minimum < 0 {
		a.Minimum = d.Client.Config().RegistryAge(p.Host)
	}
	if a.Minimum == 0 {
		return a, nil
	}
	at, err := d.Client.Published(ctx, "providers.v1", p.Host, p.Namespace+"/"+p.Type, v.String())
	if err != nil || !at.IsZero() {
		a.Published = at
		return a, err
	}
	doc, base, err := d.describe(ctx, p, v, depsfile.CurrentPlatform())
	if err != nil {
		return a, err
	}
	sums, err := base.Parse(doc.SumsURL)
	if err != nil || doc.SumsURL == "" {
		return a, nil
	}
	a.Published, err = d.Client.Modified(ctx, sums, nil)
	return a, err
}

// Age asks the mirror when the archive for this machine was last modified.
func (m *NetworkMirror) Age(ctx context.Context, p addrs.Provider, v depsfile.Version) (Age, error) {
	a := Age{Minimum: m.MinAge}
	if a.Minimum == 0 {
		return a, nil
	}
	location, _, err := m.archive(ctx, p, v, depsfile.CurrentPlatform())
	if err != nil {
		return a, err
	}
	auth, err := m.credentials(ctx, location)
	if err != nil {
		return a, err
	}
	a.Published, err = m.Client.Modified(ctx, location, auth)
	return a, err
}

// Age returns the date in the annotation "org.opencontainers.image.created" of the release.
func (m *OCIMirror) Age(ctx context.Context, p addrs.Provider, v depsfile.Version) (Age, error) {
	a := Age{Minimum: m.MinAge}
	if a.Minimum == 0 {
		return a, nil
	}
	_, index, err := m.release(ctx, p, v)
	if errors.Is(err, oci.ErrNotFound) {
		err = &NoPackageError{Provider: p, Version: v, Platform: depsfile.CurrentPlatform()}
	}
	if err != nil {
		return a, err
	}
	a.Published, _ = time.Parse(time.RFC3339, index.Annotations[ocispec.AnnotationCreated])
	return a, nil
}

// Age demands none: who fills the directory decides what is in it.
func (f Filesystem) Age(ctx context.Context, p addrs.Provider, v depsfile.Version) (Age, error) {
	found, err := f.Versions(ctx, p)
	if err == nil && !slices.Contains(found.List, v) {
		err = &NoPackageError{Provider: p, Version: v, Platform: depsfile.CurrentPlatform()}
	}
	return Age{}, err
}

// Age asks the applicable methods in order, as Package does.
func (m Multi) Age(ctx context.Context, p addrs.Provider, v depsfile.Version) (Age, error) {
	return first(m, p, v, depsfile.CurrentPlatform(), func(s Source) (Age, error) { return s.Age(ctx, p, v) })
}

// Age asks the directories or the registry.
func (i Implied) Age(ctx context.Context, p addrs.Provider, v depsfile.Version) (Age, error) {
	return i.source(p).Age(ctx, p, v)
}

// Age returns an error.
func (n network) Age(_ context.Context, p addrs.Provider, v depsfile.Version) (Age, error) {
	return Age{}, &NoPackageError{Provider: p, Version: v, Platform: depsfile.CurrentPlatform()}
}
