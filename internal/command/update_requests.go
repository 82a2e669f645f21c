package command

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/getmodules"
	"tofu/internal/memo"
	"tofu/internal/registry"
	"tofu/internal/upgrade"
)

// upgradeRequest is an option that selects the versions to raise.
type upgradeRequest struct {
	text    string // value of the option
	kind    upgrade.Kind
	source  string // source address, which may contain wildcards
	match   *regexp.Regexp
	version *depsfile.Version // version to raise to; nil for the newest or if replace is set
	replace string            // new text of the constraint; "" to raise the version in it
	met     bool              // whether a matching constraint was found
}

// upgradeOptions maps each kind of constraint that is selected by a source address to the name of
// its option.
var upgradeOptions = map[upgrade.Kind]string{upgrade.Provider: "provider", upgrade.Module: "module"}

func parseRequests(f *updateFlags) ([]*upgradeRequest, error) {
	var requests []*upgradeRequest
	for _, group := range []struct {
		kind  upgrade.Kind
		texts []string
	}{{upgrade.Provider, f.Providers}, {upgrade.Module, f.Modules}} {
		for _, text := range group.texts {
			w, err := parseRequest(group.kind, text)
			if err != nil {
				return nil, badUsage("Invalid option", "The value of -%s is not valid: %s.", upgradeOptions[group.kind], err)
			}
			requests = append(requests, w)
		}
	}
	if f.Required != "" {
		w := &upgradeRequest{text: "required_version", kind: upgrade.Program, match: regexp.MustCompile("")}
		if err := w.target(f.Required); err != nil {
			return nil, badUsage("Invalid option", "The value of -required-version is not valid: %s.", err)
		}
		requests = append(requests, w)
	}
	if len(requests) == 0 {
		return nil, badUsage("Nothing to update",
			"Select the version constraints to raise with -provider, -module or -required-version. "+
				"-provider=\"*\" selects those of all providers, and -module=\"*\" those of all modules.")
	}
	return requests, nil
}

// parseRequest parses SOURCE[@VERSION]. The address of a git repository may contain an "@".
func parseRequest(kind upgrade.Kind, text string) (*upgradeRequest, error) {
	w := &upgradeRequest{text: text, kind: kind, source: text}
	if i := strings.LastIndex(text, "@"); i > 0 && !strings.Contains(text[i:], "/") {
		w.source = text[:i]
		if err := w.target(text[i+1:]); err != nil {
			return nil, err
		}
	}
	if w.source != "*" && !strings.Contains(w.source, "*") {
		if kind == upgrade.Provider {
			p, err := addrs.ParseProvider(w.source)
			if err != nil {
				return nil, err
			}
			w.source = p.String()
		} else {
			s, err := addrs.ParseModuleSource(w.source, false)
			if err != nil || s.Kind == addrs.LocalModule {
				return nil, fmt.Errorf("%q is not the source address of a module in a registry or a git repository", w.source)
			}
			w.source, _, _ = strings.Cut(s.Address, "?")
		}
	}
	w.match = regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(w.source), `\*`, ".*") + "$")
	return w, nil
}

// target parses the version or constraint after the "@".
func (w *upgradeRequest) target(text string) error {
	if v, err := depsfile.ParseVersion(strings.TrimPrefix(text, "v")); err == nil {
		w.version = &v
		return nil
	}
	c, err := depsfile.ParseConstraints(text)
	if err != nil || len(c) == 0 {
		return fmt.Errorf("%q is neither a version like \"1.2.0\" nor a constraint like \"~> 1.2\"", text)
	}
	w.replace = text
	return nil
}

// matches reports whether the request applies to the constraint at p. The address in a request may
// omit the default host.
func (w *upgradeRequest) matches(p upgrade.Place) bool {
	kind := p.Kind
	if kind == upgrade.ModuleRef {
		kind = upgrade.Module
	}
	if kind != w.kind {
		return false
	}
	address := p.Provider.String()
	if kind == upgrade.Module {
		address, _, _ = strings.Cut(p.Source.Address, "?")
	}
	return w.match.MatchString(address) || w.match.MatchString(strings.TrimPrefix(address, addrs.DefaultHost+"/"))
}

// raise returns the new text of the constraint at a place.
func (w *upgradeRequest) raise(ctx context.Context, p upgrade.Place, chosen *releases) (string, error) {
	if w.replace != "" {
		if p.Kind == upgrade.ModuleRef {
			return "", fmt.Errorf("a ref can't be replaced by a constraint; specify a version like \"1.2.0\"")
		}
		return w.replace, nil
	}
	v := w.version
	if v == nil {
		newest, err := chosen.newest(ctx, p)
		if err != nil {
			return "", &noNewestError{err}
		}
		v = &newest
	}
	if p.Kind == upgrade.ModuleRef {
		return upgrade.RaiseRef(p.Text, *v)
	}
	return upgrade.Raise(p.Text, *v)
}

// noNewestError is the error for a source whose newest release is unknown. The user sees it once,
// even if the source is used in many places.
type noNewestError struct{ error }

// releases finds the newest releases. It asks each source only once.
type releases struct {
	cli    *cliconfig.Config
	known  memo.Map[string, depsfile.Version]
	client *registry.Client
	source sources.Source
}

func (r *releases) newest(ctx context.Context, p upgrade.Place) (depsfile.Version, error) {
	if r.client == nil {
		r.client = registry.New(r.cli)
		source, err := sources.FromConfig(r.cli, r.client)
		if err != nil {
			return depsfile.Version{}, err
		}
		r.source = source
	}
	key, prefix := p.String(), ""
	if p.Kind == upgrade.ModuleRef {
		var ok bool
		prefix, _, ok = upgrade.SplitRef(p.Text)
		if !ok {
			return depsfile.Version{}, fmt.Errorf("the ref %q doesn't end in a version", p.Text)
		}
		key += "?" + prefix
	}
	return r.known.Do(key, func() (depsfile.Version, error) { return r.find(ctx, p, prefix) })
}

func (r *releases) find(ctx context.Context, p upgrade.Place, prefix string) (depsfile.Version, error) {
	var all []depsfile.Version
	age := func(depsfile.Version) (sources.Age, error) { return sources.Age{}, nil }
	switch p.Kind {
	case upgrade.Provider:
		found, err := r.source.Versions(ctx, p.Provider)
		if err != nil {
			return depsfile.Version{}, err
		}
		all = found.List
		age = func(v depsfile.Version) (sources.Age, error) { return r.source.Age(ctx, p.Provider, v) }
	case upgrade.Module:
		host, module, _ := strings.Cut(p.Source.Address, "/")
		found, err := r.client.ModuleVersions(ctx, host, module)
		if err != nil {
			return depsfile.Version{}, err
		}
		all = found.List
		age = func(v depsfile.Version) (sources.Age, error) {
			return getmodules.Age(ctx, r.client, p.Source, v.String())
		}
	case upgrade.ModuleRef:
		tags, err := getmodules.Tags(ctx, p.Source.Address)
		if err != nil {
			return depsfile.Version{}, err
		}
		for _, tag := range tags {
			if before, v, ok := upgrade.SplitRef(tag); ok && before == prefix {
				all = append(all, v)
			}
		}
	default:
		panic("unreachable: required_version is given with a version")
	}
	v, young, ok, err := sources.OldEnough(all, depsfile.Acceptable(nil).Has, age)
	switch {
	case err != nil || ok:
		return v, err
	case len(young) > 0:
		return v, fmt.Errorf("no release is old enough: %s", sources.NoneOldEnough(young))
	case p.Kind == upgrade.ModuleRef:
		return v, fmt.Errorf("the repository has no tag like %q", prefix+"1.2.0")
	}
	return v, fmt.Errorf("there is no release of %s", p)
}
