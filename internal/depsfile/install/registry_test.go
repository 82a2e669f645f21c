package install

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
	"tofu/internal/registry"
	"tofu/internal/testenv"
	"tofu/internal/testenv/registrytest"
	"tofu/internal/tfdiags"
)

func TestDirect(t *testing.T) {
	s := newServer(newBench(t))
	s.opts.Source = s.direct()
	locks := s.ensure(s.reqs(tool, "~> 1.0"), nil)
	s.version(locks, tool, "1.1.0")
	lock, _ := locks.Provider(tool)
	if len(lock.Hashes) != 3 || lock.Hashes[0].Scheme() != "h1" {
		t.Errorf("one h1 and two zh hashes are expected: %v", lock.Hashes)
	}
	s.Requests("")
	s.ensure(s.reqs(tool, "~> 1.0"), locks)
	s.opts.Dir = s.path("other")
	s.ensure(s.reqs(tool, "~> 1.0"), locks)
	if n := s.Requests(""); n != 0 {
		t.Errorf("%d requests with a warm store", n)
	}
	// Without a lock file, a new directory is filled from the store. If packages are removed from a
	// directory that was filled before, they are downloaded again.
	s.opts.Dir = s.path("third")
	s.ensure(s.reqs(tool, ""), nil)
	if n := s.Requests(".zip"); n != 0 {
		t.Errorf("%d downloads of a stored package", n)
	}
	s.ensure(s.reqs(tool, ""), nil)
	if n := s.Requests(".zip"); n != 1 {
		t.Errorf("%d downloads", n)
	}
}

// TestRegistryWarnings checks that each run shows the registry's warnings, and says if the locked release
// has been withdrawn. For an installed package, the registry is asked again after a day.
func TestRegistryWarnings(t *testing.T) {
	const withdrawn, other = "selects example.com/acme/tool 1.1.0", "about example.com/acme/tool: "
	s := newServer(newBench(t))
	s.opts.Source = s.direct()
	ensure := func(dir string, upgrade bool, prev *depsfile.Locks, want ...string) *depsfile.Locks {
		t.Helper()
		s.opts.Dir, s.opts.Upgrade = s.path(dir), upgrade
		var warnings tfdiags.Diagnostics
		locks, err := Ensure(t.Context(), s.reqs(tool, "~> 1.0"), prev, s.opts, warnings.Add)
		if err != nil {
			t.Fatal(err)
		}
		if len(warnings) != len(want) {
			t.Errorf("%s: warnings: %v", dir, warnings)
			return locks
		}
		for i, w := range warnings {
			if !strings.Contains(w.Detail, want[i]) {
				t.Errorf("%s: warning %v doesn't say %q", dir, w, want[i])
			}
		}
		return locks
	}
	s.Edit = func(path string, doc map[string]any) {
		if strings.HasSuffix(path, "/versions") {
			doc["warnings"] = []any{"moved to acme/new", "unsafe"}
		}
	}
	locks := ensure("a", false, nil, other+"moved to acme/new", other+"unsafe")
	s.Requests("")
	ensure("a", false, locks, other+"moved to acme/new", other+"unsafe")
	ensure("b", false, locks, other+"moved to acme/new", other+"unsafe") // from the store
	if n := s.Requests(""); n != 0 {
		t.Errorf("%d requests on the same day", n)
	}
	ensure("a", true, locks, other+"moved to acme/new", other+"unsafe")
	s.forget()
	ensure("c", false, locks, other+"moved to acme/new", other+"unsafe")
	s.Edit = func(path string, doc map[string]any) {
		if strings.HasSuffix(path, "/versions") {
			doc["versions"] = []any{map[string]any{"version": "1.0.0"}}
		}
	}
	// The release can still be downloaded.
	s.forget()
	s.version(ensure("d", false, locks, withdrawn), tool, "1.1.0")
	ensure("d", false, locks, withdrawn)
	s.version(ensure("d", true, locks), tool, "1.0.0")
	// The registry doesn't list the versions.
	s.forget()
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/versions") {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		return false
	}
	ensure("e", false, locks, withdrawn) // as it said last
	ensure("e", false, locks, withdrawn)
	s.Fault = nil
	s.Edit = func(string, map[string]any) {} // the release is there again
	ensure("e", false, locks, withdrawn)
	notes, err := filepath.Glob(s.path("store/notes/*"))
	if err != nil || len(notes) == 0 {
		t.Fatalf("no notes: %v", err)
	}
	for _, note := range notes {
		if err := os.Chtimes(note, time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	s.Requests("")
	ensure("e", false, locks)
	ensure("e", false, locks)
	if n := s.Requests("/versions"); n != 1 {
		t.Errorf("%d requests for versions after a day", n)
	}
}

// TestDirectFaults installs from registries with one fault each. A failure must have the expected
// error and leave no files behind.
func TestDirectFaults(t *testing.T) {
	status := func(part string, code, times int) func(http.ResponseWriter, *http.Request) bool {
		var count atomic.Int32
		return func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, part) || int(count.Add(1)) > times {
				return false
			}
			w.WriteHeader(code)
			return true
		}
	}
	set := func(key string, value any) func(string, map[string]any) {
		return func(path string, doc map[string]any) {
			if strings.Contains(path, "/download/") {
				doc[key] = value
			}
		}
	}
	for name, c := range map[string]struct {
		fault func(http.ResponseWriter, *http.Request) bool
		edit  func(string, map[string]any)
		want  string // text expected in the error; "" if the installation succeeds
	}{
		"500 once":           {fault: status("/versions", 500, 1)},
		"429 once":           {fault: status("/download/", 429, 1)},
		"500 twice":          {fault: status("/versions", 500, 2), want: "versions giving up after 2 attempt(s): the server"},
		"404":                {fault: status("/versions", 404, 1), want: "was not found in the registry"},
		"no package":         {fault: status("/download/", 404, 1), want: "isn't available for"},
		"archive 500 twice":  {fault: status(".zip", 500, 2)},
		"archive 502 thrice": {fault: status(".zip", 502, 3), want: ".zip giving up after 3 attempt(s): the server"},
		"archive 404":        {fault: status(".zip", 404, 1), want: "status 404"},
		"archive 204":        {fault: status(".zip", 204, 3), want: "status 204"},
		"no sums":            {fault: status("SUMS", 404, 1), want: "list of checksums"},
		"no signature":       {fault: status(".sig", 404, 1), want: "signature"},
		"wrong sum":          {edit: set("shasum", strings.Repeat("0", 64)), want: "doesn't contain the checksum"},
		"short sum":          {edit: set("shasum", "abc"), want: "SHA-256"},
		"other platform":     {edit: set("os", "other"), want: `is for "other_amd64"`},
		"other file":         {edit: set("filename", "x.zip"), want: "doesn't contain the checksum"},
		"no file name":       {edit: set("filename", nil), want: "no file name"},
		"strange URL":        {edit: set("download_url", "ftp://x/y"), want: "ftp"},
		"protocol 4":         {edit: set("protocols", []any{"4.0"}), want: "plugin protocols"},
		"protocols 4 and 6":  {edit: set("protocols", []any{"4.0", "6.9"})},
		"no protocols":       {edit: set("protocols", nil)},
		"bad protocols":      {edit: set("protocols", []any{"five"}), want: "not a valid version"},
		"other archive": {edit: set("download_url",
			"/files/tool/1.1.0/terraform-provider-tool_1.1.0_plan9_arm.zip"), want: "replaced"},
		"packages incomplete": {edit: set("packages", map[string]any{
			"plan9_arm": map[string]any{"hashes": []any{"h1:a"}, "package_size": 1}}), want: "by platform, but none for"},
		"keys missing": {edit: set("signing_keys", map[string]any{}), want: "no signing keys"},
		"redirects": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			return redirectForever(w,
				r, ".zip")
		}, want: "redirected too many times"},
		"archive cut once": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, ".zip") || r.Header.Get("Range") != "" {
				return false
			}
			w.Header().Set("Content-Length", "1000000")
			w.Header().Set("Accept-Ranges", "bytes")
			w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
			w.Write([]byte("PK\x03\x04"))
			return true
		}},
		"archive is none": {fault: func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.HasSuffix(r.URL.Path, ".zip") {
				return false
			}
			w.Write([]byte("hello"))
			return true
		}, want: "replaced"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(newBench(t))
			s.Fault, s.Edit = c.fault, c.edit
			s.opts.Source = s.direct()
			if c.want == "" {
				s.version(s.ensure(s.reqs(tool, ""), nil), tool, "1.1.0")
				return
			}
			s.refuse(s.reqs(tool, ""), nil, c.want)
			for _, pattern := range []string{"work/providers/*/*/*/*/*", "store/tmp/*"} {
				if left, err := filepath.Glob(s.path(pattern)); err != nil || len(left) > 0 {
					t.Errorf("left over: %v", left)
				}
			}
		})
	}
}

func redirectForever(w http.ResponseWriter, r *http.Request, part string) bool {
	if !strings.Contains(r.URL.Path, part) {
		return false
	}
	http.Redirect(w, r, r.URL.Path, http.StatusFound)
	return true
}

// TestResume checks that an interrupted download is resumed.
func TestResume(t *testing.T) {
	s := newServer(newBench(t))
	s.opts.Source = s.direct()
	var ranges []string
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, ".zip") {
			return false
		}
		ranges = append(ranges, r.Header.Get("Range"))
		if len(ranges) > 1 {
			return false
		}
		data := s.Archive(tool.Type, "1.1.0", here())
		w.Header().Set("Accept-Ranges", "bytes")
		w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", "100000")
		w.Write(data[:10])
		w.(http.Flusher).Flush()
		return true
	}
	s.ensure(s.reqs(tool, ""), nil)
	if !slices.Equal(ranges, []string{"", "bytes=10-"}) {
		t.Errorf("ranges asked for: %q", ranges)
	}
}

func TestSignatures(t *testing.T) {
	b := newBench(t)
	s := newServer(b)
	source := s.direct()
	s.opts.Source = source
	good, other := s.Key, registrytest.NewKey(b, time.Now().Add(-time.Hour), 0)
	old := registrytest.NewKey(b, time.Now().Add(-48*time.Hour), time.Hour)
	listed := func(keys ...any) { // listed sets the keys that the registry lists
		s.Edit = func(path string, doc map[string]any) {
			if strings.Contains(path, "/download/") {
				doc["signing_keys"] = map[string]any{"gpg_public_keys": keys}
			}
		}
	}
	entry := func(armor string) any { return map[string]any{"key_id": "K", "ascii_armor": armor} }
	host := tool
	host.Host = addrs.DefaultHost

	listed(entry(registrytest.Armored(b, other)))
	s.refuse(s.reqs(tool, ""), nil, "isn't signed by any of the keys")
	listed(entry(registrytest.Armored(b, other)), entry(registrytest.Armored(b, good)))
	s.ensure(s.reqs(tool, ""), nil)
	s.forget()
	listed(entry("no signing keys"))
	s.refuse(s.reqs(tool, ""), nil, "can't be read")
	listed()
	s.refuse(s.reqs(tool, ""), nil, "no signing keys")
	s.ensure(s.reqs(host, ""), nil)
	s.forget()
	source.Policy.Enforce = true
	s.refuse(s.reqs(host, ""), nil, "no signing keys")
	source.Policy.Enforce = false

	renew := func() { // renew creates a new source, because a source caches what it fetches
		policy := source.Policy
		source = s.direct()
		source.Policy, s.opts.Source = policy, source
	}
	s.Key = old
	renew()
	listed(entry(registrytest.Armored(b, old)))
	s.ensure(s.reqs(tool, ""), nil)
	s.forget()
	source.Policy.EnforceExpiry = true
	s.refuse(s.reqs(tool, ""), nil, "isn't valid")
	s.Key = good
	renew()
	listed(entry(registrytest.Armored(b, good)))
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, ".sig") {
			return false
		}
		sig := s.Signature(tool.Type, "1.1.0")
		sig[len(sig)-1] ^= 1
		w.Write(sig)
		return true
	}
	s.refuse(s.reqs(tool, ""), nil, "isn't valid")
}

func TestReportedPackages(t *testing.T) {
	s := newServer(newBench(t))
	source := s.direct()
	s.opts.Source = source
	zh := func(platform string) string {
		for line := range strings.SplitSeq(string(s.Sums(tool.Type, "1.1.0")), "\n") {
			if strings.HasSuffix(line, platform+".zip") {
				return "zh:" + line[:64]
			}
		}
		t.Fatal("no such platform")
		return ""
	}
	h1 := "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	own := map[string]any{"hashes": []any{zh(here())}, "package_size": len(s.Archive(tool.Type, "1.1.0", here()))}
	s.Edit = func(path string, doc map[string]any) {
		if strings.Contains(path, "/download/") {
			doc["packages"] = map[string]any{here(): own, "plan9_arm": map[string]any{"hashes": []any{zh("plan9_arm"),
				h1}, "package_size": len(s.Archive(tool.Type, "1.1.0", "plan9_arm"))}}
		}
	}
	host := tool
	host.Host = addrs.DefaultHost
	lock, _ := s.ensure(s.reqs(host, ""), nil).Provider(host)
	if !slices.Contains(lock.Hashes, depsfile.Hash(h1)) || len(lock.Hashes) != 4 {
		t.Errorf("%v", lock.Hashes)
	}
	lock, _ = s.ensure(s.reqs(tool, ""), nil).Provider(tool)
	if slices.Contains(lock.Hashes, depsfile.Hash(h1)) {
		t.Errorf("unsigned hashes of another host are recorded: %v", lock.Hashes)
	}
	s.forget()
	own["package_size"] = 3
	s.refuse(s.reqs(host, ""), nil, "more than the limit of 3")
	own["package_size"] = 0
	s.refuse(s.reqs(host, ""), nil, "no valid size of the package")
	own["package_size"], own["hashes"] = len(s.Archive(tool.Type, "1.1.0", here())), []any{h1}
	s.refuse(s.reqs(host, ""), nil, "doesn't report it")
}

func TestNetworkMirror(t *testing.T) {
	s := newServer(newBench(t))
	u, err := url.Parse(s.URL + "/mirror/")
	if err != nil {
		t.Fatal(err)
	}
	mirror := &sources.NetworkMirror{Client: s.client(), URL: u}
	s.opts.Source = mirror
	lock, _ := s.ensure(s.reqs(tool, ""), nil).Provider(tool)
	if len(lock.Hashes) != 2 {
		t.Errorf("h1 and zh of this platform are expected: %v", lock.Hashes)
	}
	s.forget()
	mirror.TrustAllHashes = true
	if lock, _ := s.ensure(s.reqs(tool, ""), nil).Provider(tool); len(lock.Hashes) != 3 {
		t.Errorf("h1 and both zh are expected: %v", lock.Hashes)
	}
	s.forget()
	s.Edit = func(path string, doc map[string]any) {
		if archives, ok := doc["archives"].(map[string]any); ok {
			archives[here()].(map[string]any)["hashes"] = []any{"zh:" + strings.Repeat("0", 64)}
		}
	}
	s.refuse(s.reqs(tool, ""), nil, "checksums reported by its source")
	s.Edit = func(path string, doc map[string]any) { // no hash for this platform, and an invalid one for another
		if archives, ok := doc["archives"].(map[string]any); ok {
			archives["plan9_arm"].(map[string]any)["hashes"] = []any{"nonsense"}
			archives[here()].(map[string]any)["hashes"] = []any{}
		}
	}
	if lock, _ := s.ensure(s.reqs(tool, ""), nil).Provider(tool); len(lock.Hashes) != 1 {
		t.Errorf("h1 of what was fetched is expected: %v", lock.Hashes)
	}
	s.forget()
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte("{}"))
		return true
	}
	s.refuse(s.reqs(tool, ""), nil, "application/json")
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }
	s.refuse(s.reqs(tool, ""), nil, "was not found in the network mirror")
}

// TestCredentials checks that a token is sent with requests for the registry's documents only. It
// must be sent neither with requests for checksum and signature files nor, after a redirect, to
// another origin, even on the same host.
func TestCredentials(t *testing.T) {
	b := newBench(t)
	s := newServer(b)
	var leaks []string
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaks = append(leaks, "elsewhere "+r.URL.Path)
		}
		s.ServeHTTP(w, r)
	}))
	defer elsewhere.Close()
	var with []string
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		if token := r.Header.Get("Authorization"); token == "Bearer s3cret" {
			with = append(with, r.URL.Path)
		}
		if strings.HasSuffix(r.URL.Path, "/versions") && r.Host == strings.TrimPrefix(s.URL, "https://") {
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusFound)
			return true
		}
		return false
	}
	t.Setenv("TF_TOKEN_example_com", "s3cret")
	s.opts.Source = s.direct()
	s.ensure(s.reqs(tool, ""), nil)
	want := []string{"/v1/acme/tool/versions", "/v1/acme/tool/1.1.0/download/" + strings.ReplaceAll(here(), "_", "/")}
	if !slices.Equal(with, want) || len(leaks) > 0 {
		t.Errorf("the token went to %v and leaked to %v", with, leaks)
	}
}

// TestMirrorCredentials checks that a mirror's credentials go to its own origin, for documents and
// archives, and nowhere else. The mirror answers no request without them. Its URL may lack the last
// slash.
func TestMirrorCredentials(t *testing.T) {
	s := newServer(newBench(t))
	var asked []string
	elsewhere := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, "other "+path.Ext(r.URL.Path)+r.Header.Get("Authorization"))
		fault := s.Fault
		s.Fault = nil
		s.ServeHTTP(w, r)
		s.Fault = fault
	})
	other, plain := httptest.NewTLSServer(elsewhere), httptest.NewServer(elsewhere)
	defer other.Close()
	defer plain.Close()
	var archives string // the server that the mirror names for archives
	s.Edit = func(_ string, doc map[string]any) {
		list, _ := doc["archives"].(map[string]any)
		for _, entry := range list {
			a := entry.(map[string]any)
			a["url"] = archives + a["url"].(string)
		}
	}
	const basic = "Basic bWU6czNjcmV0" // me:s3cret
	var want string
	s.Fault = func(w http.ResponseWriter, r *http.Request) bool {
		asked = append(asked, "mirror "+path.Ext(r.URL.Path))
		switch {
		case r.Header.Get("Authorization") != want:
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case strings.HasPrefix(r.URL.Path, "/moved/"):
			http.Redirect(w, r, other.URL+strings.TrimPrefix(r.URL.Path, "/moved"), http.StatusFound)
		default:
			return false
		}
		return true
	}
	host := strings.TrimPrefix(s.URL, "https://")
	for _, c := range []struct{ kind, token, login, netrc, want string }{
		{"token", "s3cret", "", "", "Bearer s3cret"},
		{"token before others", "s3cret", "you:x@", "machine 127.0.0.1 login me password x", "Bearer s3cret"},
		{"login in the URL", "", "me:s3cret@", "machine 127.0.0.1 login you password x", basic},
		{"netrc", "", "", "machine 127.0.0.1 login me password s3cret", basic},
	} {
		want = c.want
		testenv.WriteFile(t, s.path("logins"), c.netrc)
		t.Setenv("NETRC", s.path("logins"))
		for archive, requests := range map[string]string{
			"":               "mirror .json, mirror .json, mirror .zip",
			s.URL:            "mirror .json, mirror .json, mirror .zip",
			other.URL:        "mirror .json, mirror .json, other .zip",
			plain.URL:        "mirror .json, mirror .json, other .zip",
			s.URL + "/moved": "mirror .json, mirror .json, mirror .zip, other .zip",
		} {
			cfg := s.config()
			if c.token != "" {
				cfg.Credentials = map[string]cliconfig.Credentials{host: {"token": c.token}}
			}
			for _, slash := range []string{"", "/"} {
				source, err := sources.NewNetworkMirror(registry.New(cfg), "https://"+c.login+host+"/mirror"+slash, 0)
				if err != nil {
					t.Fatal(err)
				}
				archives, asked, s.opts.Source = archive, nil, source
				s.forget()
				s.ensure(s.reqs(tool, ""), nil)
				if got := strings.Join(asked, ", "); got != requests {
					t.Errorf("%s, archives at %q, slash %q: %s", c.kind, archive, slash, got)
				}
			}
		}
	}
}

func TestLockerDirect(t *testing.T) {
	s := newServer(newBench(t))
	s.opts.Source = s.direct()
	l := NewLocker(s.opts)
	platforms := []depsfile.Platform{depsfile.CurrentPlatform(), plan9}
	for range 3 {
		locks, _, err := l.Lock(t.Context(), s.reqs(tool, ""), nil, platforms)
		if err != nil {
			t.Fatal(err)
		}
		if lock, _ := locks.Provider(tool); len(lock.Hashes) != 4 {
			t.Errorf("two h1 and two zh are expected: %v", lock.Hashes)
		}
	}
	if n := s.Requests("/versions"); n != 1 {
		t.Errorf("%d requests for versions", n)
	}
	l = NewLocker(s.opts)
	if _, _, err := l.Lock(t.Context(), s.reqs(tool, ""), nil, platforms); err != nil {
		t.Fatal(err)
	}
	if n := s.Requests(".zip"); n != 0 {
		t.Errorf("%d downloads of archives that the store knows", n)
	}
}
