package install

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/tfdiags"
)

// versions asks the source for the versions of a provider.
func (in *installer) versions(ctx context.Context, p addrs.Provider) (sources.Versions, error) {
	list, err := in.Source.Versions(ctx, p)
	// The text of a NoProviderError already names the provider.
	if _, none := errors.AsType[*sources.NoProviderError](err); err != nil && !none {
		err = fmt.Errorf("could not resolve provider %s: %w", p.ForDisplay(), err)
	}
	return list, err
}

const (
	// patience is the time that an installation waits for a list of versions that it can do without.
	patience = 10 * time.Second
	// askAgain is the age of an answer about a locked version after which its source is asked again.
	askAgain = 24 * time.Hour
)

// notice is the information that the source of a package gives about one version.
type notice struct {
	Warnings  []string `json:"warnings,omitempty"`  // the registry's warnings about the provider
	Withdrawn bool     `json:"withdrawn,omitempty"` // whether the source no longer offers the version
}

func newNotice(list sources.Versions, v depsfile.Version) notice {
	return notice{list.Warnings, !slices.Contains(list.List, v)}
}

// ask asks the source of a package about its locked version. If the source doesn't answer, the last
// answer counts, because the package is installed all the same.
func (in *installer) ask(ctx context.Context, p addrs.Provider, v depsfile.Version) notice {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, _, _ := in.lastNotice(p, v)
	if list, err := in.versions(ctx, p); err == nil {
		n = newNotice(list, v)
	}
	in.record(p, v, n)
	return n
}

// remind returns what the source of an installed package has said about it. It asks the source at most
// once a day, and not if it was never asked before: an installation from what is at hand needs no
// network.
func (in *installer) remind(ctx context.Context, p addrs.Provider, v depsfile.Version) notice {
	n, at, asked := in.lastNotice(p, v)
	if asked && time.Since(at) > askAgain {
		return in.ask(ctx, p, v)
	}
	return n
}

func (in *installer) lastNotice(p addrs.Provider, v depsfile.Version) (n notice, at time.Time, asked bool) {
	text, at, ok := in.Store.Note(in.noticeKey(p, v))
	return n, at, ok && json.Unmarshal(text, &n) == nil
}

func (in *installer) record(p addrs.Provider, v depsfile.Version, n notice) {
	if text, err := json.Marshal(n); err == nil {
		in.Store.SetNote(in.noticeKey(p, v), text)
	}
}

func (in *installer) noticeKey(p addrs.Provider, v depsfile.Version) string {
	return fmt.Sprintf("notice %s %s %s", in.Source, p, v)
}

// warnings returns the warnings about an installed version. source is the source that was asked.
func (n notice) warnings(p addrs.Provider, v depsfile.Version, source sources.Source) tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	for _, w := range n.Warnings {
		out.Add(tfdiags.Warningf("Additional provider information from registry",
			"The registry returned a warning about %s: %s", p.ForDisplay(), w))
	}
	if n.Withdrawn {
		out.Add(tfdiags.Warningf("Withdrawn provider release",
			"The lock file selects %s %s, which %s no longer offers. It may have been withdrawn because it is "+
				"faulty or unsafe. It was installed nevertheless, since its checksum is in the lock file. "+
				"\"tofu init -upgrade\" selects another release.", p.ForDisplay(), v, source))
	}
	return out
}
