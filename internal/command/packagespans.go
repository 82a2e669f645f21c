package command

import (
	"errors"
	"strings"

	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/timings"
)

// packageSpans records the installation of packages as spans of a trace. Its methods receive
// one event at a time.
type packageSpans struct {
	timings *timings.Recorder
	open    map[string]*timings.Open
}

func newPackageSpans(rec *timings.Recorder) *packageSpans {
	return &packageSpans{timings: rec, open: make(map[string]*timings.Open)}
}

func (s *packageSpans) provider(e install.Event) {
	switch e := e.(type) {
	case install.Installing:
		s.begin("install provider", e.Provider.String(), e.Version.String())
	case install.Installed:
		s.done(e.Provider.String(), e.Version.String())
	case install.Fetching:
		s.begin("fetch provider", e.Provider.String(), e.Version.String(), e.Platform.String())
	case install.Fetched:
		s.done(e.Provider.String(), e.Version.String(), e.Platform.String())
	}
}

func (s *packageSpans) module(e getmodules.Event) {
	switch e := e.(type) {
	case getmodules.Downloading:
		s.begin("install module", e.Key, e.Version)
	case getmodules.InPlace:
		s.done(e.Key, e.Version)
	}
}

// begin starts a span. pkg holds the name, version and platform of a package, as far as they
// are known.
func (s *packageSpans) begin(what string, pkg ...string) {
	var about []timings.Attribute
	for i, key := range []string{"opentofu.package.name", "opentofu.package.version", "opentofu.package.platform"} {
		if i < len(pkg) && pkg[i] != "" {
			about = append(about, timings.Attribute{Key: key, Value: pkg[i]})
		}
	}
	s.open[strings.Join(pkg, " ")] = s.timings.Begin(what, about...)
}

func (s *packageSpans) done(pkg ...string) {
	key := strings.Join(pkg, " ")
	s.open[key].End(nil)
	delete(s.open, key)
}

// errNotInstalled is the error of a span that ended before its package was installed.
var errNotInstalled = errors.New("the package was not installed")

// end ends all open spans with an error.
func (s *packageSpans) end() {
	for key, span := range s.open {
		span.End(errNotInstalled)
		delete(s.open, key)
	}
}
