package install

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/tfdiags"
)

const day = 24 * time.Hour

// passed installs the test provider and returns the selected version, and the versions that were
// passed over.
func (s *server) passed(constraint string, prev *depsfile.Locks) (version string, young []string, err error) {
	s.Helper()
	s.opts.Observe = func(e Event) {
		if p, ok := e.(PassedOver); ok {
			young = append(young, p.Version.String())
		}
	}
	locks, err := Ensure(s.Context(), s.reqs(tool, constraint), prev, s.opts, tfdiags.Drop)
	if err != nil {
		return "", young, err
	}
	lock, _ := locks.Provider(tool)
	return lock.Version.String(), young, nil
}

// TestMinimumAge checks with dates of uploaded files that a registry and a mirror pass over what is too
// young.
func TestMinimumAge(t *testing.T) {
	for _, mirror := range []bool{false, true} {
		s := newServer(newBench(t))
		s.Add(tool.Type, "1.2.0", here(), content(tool, "1.2.0", here()))
		s.Uploaded = map[string]time.Time{"1.0.0": time.Now().Add(-30 * day), "1.1.0": time.Now().Add(-10 * day),
			"1.2.0": time.Now().Add(-2 * day)}
		source := func(global, own time.Duration) {
			cfg := s.config()
			cfg.MinAge = global
			method := cliconfig.Method{Kind: cliconfig.Direct, MinAge: own, Retries: -1}
			if mirror {
				method.Kind, method.Location = cliconfig.NetworkMirror, s.URL+"/mirror/"
			}
			cfg.Methods = []cliconfig.Method{method}
			s.opts.Source, _ = sources.FromConfig(cfg, registry.New(cfg))
		}
		for _, c := range []struct {
			global, own time.Duration
			constraint  string
			want        string
			passed      string
			wrong       string
		}{
			{0, -1, "", "1.2.0", "", ""},
			{day, -1, "", "1.2.0", "", ""},
			{7 * day, -1, "", "1.1.0", "1.2.0", ""},
			{20 * day, -1, "~> 1.0", "1.0.0", "1.2.0 1.1.0", ""},
			{20 * day, -1, "1.1.0", "", "", "version 1.1.0 was published on"},
			{20 * day, 0, "", "1.2.0", "", ""},
			{0, 7 * day, "", "1.1.0", "1.2.0", ""},
			{0, 365 * day, "", "", "", "minimum_release_age is 365d; version 1.1.0"},
		} {
			source(c.global, c.own)
			s.opts.Dir = s.path("work" + c.passed + c.want)
			got, young, err := s.passed(c.constraint, nil)
			if got != c.want || strings.Join(young, " ") != c.passed || (err == nil) != (c.wrong == "") ||
				err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("mirror %t, %+v: %s, %q, %v", mirror, c, got, young, err)
			}
		}
		// What the lock file selects has been accepted, also by an upgrade.
		source(0, -1)
		locks := s.ensure(s.reqs(tool, ""), nil)
		source(7*day, -1)
		for _, s.opts.Upgrade = range []bool{false, true} {
			if got, young, err := s.passed("", locks); got != "1.2.0" || young != nil || err != nil {
				t.Errorf("upgrade %t: %s, %q, %v", s.opts.Upgrade, got, young, err)
			}
		}
		// Without a date, nothing is selected.
		s.opts.Upgrade = false
		delete(s.Uploaded, "1.2.0")
		if _, _, err := s.passed("", nil); err == nil || !strings.Contains(err.Error(), "unknown when version 1.2.0") {
			t.Errorf("without a date: %v", err)
		}
	}
}

// TestPublishedAt checks that the registry's own date counts before that of the files, and that an
// answer without one doesn't.
func TestPublishedAt(t *testing.T) {
	s := newServer(newBench(t))
	cfg := s.config()
	cfg.HostAges = map[string]time.Duration{"example.com": 3 * day}
	s.opts.Source = sources.NewDirect(registry.New(cfg), 2)
	s.Uploaded = map[string]time.Time{"1.0.0": time.Now().Add(-9 * day), "1.1.0": time.Now().Add(-9 * day)}
	for answer, want := range map[string]string{
		"2d":   "1.0.0",
		"4d":   "1.1.0",
		"none": "1.1.0",
		"403":  "1.1.0",
	} {
		s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/v1/acme/tool/1.1.0" {
				return false
			}
			doc := map[string]any{"id": "acme/tool/1.1.0"}
			switch answer {
			case "403":
				w.WriteHeader(http.StatusForbidden)
			case "2d":
				doc["published_at"] = time.Now().Add(-2 * day).Format(time.RFC3339)
			case "4d":
				doc["published_at"] = time.Now().Add(-4 * day).Format(time.RFC3339)
			}
			if err := json.NewEncoder(w).Encode(doc); err != nil {
				t.Error(err)
			}
			return true
		}
		s.opts.Dir = s.path("work-" + answer)
		if got, _, err := s.passed("", nil); got != want || err != nil {
			t.Errorf("%s: %s, %v", answer, got, err)
		}
	}
}

// TestMinimumAgeOfOthers checks the lock command and mirrors.
func TestMinimumAgeOfOthers(t *testing.T) {
	s := newServer(newBench(t))
	cfg := s.config()
	cfg.MinAge = 7 * day
	s.opts.Source = sources.NewDirect(registry.New(cfg), 2)
	s.Uploaded = map[string]time.Time{"1.0.0": time.Now().Add(-30 * day), "1.1.0": time.Now().Add(-day)}
	var young []string
	s.opts.Observe = func(e Event) {
		if p, ok := e.(PassedOver); ok {
			young = append(young, p.String())
		}
	}
	here := depsfile.CurrentPlatform()
	locks, _, err := NewLocker(s.opts).Lock(t.Context(), s.reqs(tool, ""), nil, []depsfile.Platform{here})
	if err != nil {
		t.Fatal(err)
	}
	s.version(locks, tool, "1.0.0")
	err = Mirror(t.Context(), s.reqs(tool, ""), nil, []depsfile.Platform{here}, s.path("mirror"), s.opts)
	if err != nil {
		t.Error(err)
	}
	archives := sources.Filesystem{Dir: s.path("mirror")}.Archives(tool)
	if len(archives) != 1 || archives[0].Version.String() != "1.0.0" {
		t.Errorf("the mirror has %v", archives)
	}
	if len(young) != 2 || slices.ContainsFunc(young, func(text string) bool { return !strings.HasPrefix(text, "version 1.1.0") }) {
		t.Errorf("passed over: %q", young)
	}
}
