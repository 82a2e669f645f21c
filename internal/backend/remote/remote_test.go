package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/remote"
	"tofu/internal/registry"
	"tofu/internal/testenv/remotetest"
	"tofu/internal/testenv/storetest"
)

const ws = backend.DefaultWorkspace

var (
	check     = storetest.Check
	wantError = storetest.WantError
	text      = cty.StringVal
)

func start(t *testing.T) *remotetest.Server {
	s := remotetest.Start()
	t.Cleanup(s.Close)
	return s
}

// services is the CLI configuration of a user with a token.
type services struct {
	url, token string
}

func (s services) Service(_ context.Context, host, name string) (*url.URL, error) {
	if s.url == "" {
		return nil, &registry.NoServiceError{Host: host, Service: name}
	}
	return url.Parse(s.url)
}

func (s services) Token(context.Context, string) (string, error) { return s.token, nil }

type settings = storetest.Args

// in returns settings with a workspaces block.
func in(workspaces settings) settings {
	return settings{"hostname": text("tfe.example.com"), "organization": text("acme"),
		"workspaces": cty.ObjectVal(workspaces)}
}

func tryOpen(t *testing.T, d *backend.Driver, services backend.Services, values settings) (backend.Store, error) {
	return storetest.Open(t, d, values, func(config any) { config.(backend.ServiceUser).UseServices(services) })
}

func open(t *testing.T, s *remotetest.Server, d *backend.Driver, workspaces settings) backend.Store {
	t.Helper()
	store, err := tryOpen(t, d, services{s.URL, "s3cret"}, in(workspaces))
	check(t, err)
	return store
}

var one = settings{"name": text("one")}

func TestStore(t *testing.T) {
	for name, inline := range map[string]bool{"upload": false, "inline": true} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
				s := start(t)
				s.Inline = inline
				return open(t, s, remote.Driver, one), open(t, s, remote.Driver, one)
			})
		})
	}
}

// TestWorkspaces checks workspaces that are selected by prefix and by tags, on several pages.
func TestWorkspaces(t *testing.T) {
	s := start(t)
	s.AddProject("team")
	tags := cty.ListVal([]cty.Value{text("app"), text("net")})
	for name, test := range map[string]struct {
		driver  *backend.Driver
		of      settings
		service string // the name of the workspace "a" in the service
	}{
		"prefix": {remote.Driver, settings{"prefix": text("net-")}, "net-a"},
		"tags":   {remote.CloudDriver, settings{"tags": tags, "project": text("team")}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			a := open(t, s, test.driver, test.of)
			want := []string{"a", "b", "c", "d", "e"}
			for _, name := range want {
				check(t, a.(backend.Maker).Make(t.Context(), name))
				check(t, a.Put(t.Context(), name, []byte("of "+name)))
			}
			made := s.Workspaces()[test.service]
			if made.Mode != "local" ||
				name == "tags" && (!slices.Equal(made.Tags, []string{"app", "net"}) || made.Project == "prj-0") {
				t.Errorf("made %+v", made)
			}
			s.Create("unrelated-"+name, "local", "app")
			names, err := a.List(t.Context())
			if err != nil || !slices.Equal(names, want) {
				t.Errorf("lists %q, %v", names, err)
			}
			if data, err := a.Get(t.Context(), "b"); err != nil || string(data) != "of b" {
				t.Errorf("%q, %v", data, err)
			}
			check(t, a.Delete(t.Context(), "b"))
			if data, err := a.Get(t.Context(), "b"); err != nil || data != nil {
				t.Errorf("%q, %v", data, err)
			}
			if data, err := a.Get(t.Context(), ws); err != nil || data != nil {
				t.Errorf("default: %q, %v", data, err)
			}
			_, err = a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{})
			wantError(t, err, `there is no workspace "default" here; select one`)
			if only := a.(backend.Undefaulted).Only(); only != "" {
				t.Errorf("the only workspace is %q", only)
			}
		})
	}
}

// TestOneWorkspace checks that a workspace that is selected by name is called "default" in the
// remote backend, and keeps its name with a cloud block.
func TestOneWorkspace(t *testing.T) {
	s := start(t)
	a := open(t, s, remote.Driver, one)
	if _, err := a.List(t.Context()); !errors.Is(err, backend.ErrNoWorkspaces) {
		t.Error(err)
	}
	check(t, a.Put(t.Context(), ws, []byte("1")))
	b := open(t, s, remote.CloudDriver, one)
	if data, err := b.Get(t.Context(), "one"); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	if names, err := b.List(t.Context()); err != nil || !slices.Equal(names, []string{"one"}) {
		t.Errorf("lists %q, %v", names, err)
	}
	wantError(t, b.Put(t.Context(), "two", nil), `the settings select the workspace "one"`)
	t.Setenv("TF_WORKSPACE", "three")
	c, err := tryOpen(t, remote.CloudDriver, services{s.URL, "s3cret"}, in(settings{}))
	check(t, err)
	wantError(t, c.(backend.Maker).Make(t.Context(), "three"), "which TF_WORKSPACE names; create it first")
	s.Create("three", "local")
	check(t, c.Put(t.Context(), "three", []byte("3")))
}

// TestTags checks that existing workspaces get the tags of the settings.
func TestTags(t *testing.T) {
	s := start(t)
	s.Create("a", "local", "net")
	a := open(t, s, remote.CloudDriver, settings{"tags": cty.ListVal([]cty.Value{text("net"), text("app")})})
	check(t, a.(backend.Maker).Make(t.Context(), "a"))
	if tags := s.Workspaces()["a"].Tags; !slices.Equal(tags, []string{"net", "app"}) {
		t.Errorf("tags %q", tags)
	}
}

func TestLocalOperations(t *testing.T) {
	t.Setenv("TF_FORCE_LOCAL_BACKEND", "")
	s := start(t)
	for mode, want := range map[string]string{"local": "", "remote": `the execution mode "remote"`,
		"agent": `the execution mode "agent"`} {
		s.Create(mode, mode)
		a := open(t, s, remote.CloudDriver, settings{"name": text(mode)})
		err := a.(backend.Runner).LocalOperations(t.Context(), mode)
		if want == "" {
			check(t, err)
			continue
		}
		wantError(t, err, want)
		wantError(t, err, `Set its execution mode to "local"`)
		t.Setenv("TF_FORCE_LOCAL_BACKEND", "1")
		check(t, a.(backend.Runner).LocalOperations(t.Context(), mode))
		t.Setenv("TF_FORCE_LOCAL_BACKEND", "")
	}
}

// TestSummary checks the serial, lineage and outputs that the store sends with a state.
func TestSummary(t *testing.T) {
	s := start(t)
	a := open(t, s, remote.Driver, one)
	check(t, a.Put(t.Context(), ws,
		[]byte(`{"version":4,"serial":7,"lineage":"l","outputs":{"x":{"value":"y","type":"string"}}}`)))
	state := s.Workspaces()["one"].States[0]
	if state.Serial != 7 || state.Lineage != "l" || fmt.Sprint(state.Outputs["x"].Value) != "y" ||
		string(state.Outputs["x"].Type) != `"string"` {
		t.Errorf("%+v", state)
	}
	// Write another lineage and a smaller serial, as "state push -force" does.
	check(t, a.Put(t.Context(), ws, []byte(`{"version":4,"serial":3,"lineage":"m"}`)))
	if state := s.Workspaces()["one"].States[1]; state.Serial != 3 || state.Lineage != "m" {
		t.Errorf("%+v", state)
	}
	if by := s.Workspaces()["one"].LockedBy; by != "" {
		t.Errorf("locked by %s", by)
	}
}

func TestOutputsOnly(t *testing.T) {
	s := start(t)
	a := open(t, s, remote.Driver, one)
	check(t, a.Put(t.Context(), ws,
		[]byte(`{"version":4,"serial":7,"lineage":"l","outputs":{"x":{"value":[1],"type":["list","number"]}}}`)))
	s.OutputsOnly = true
	if _, err := a.Get(t.Context(), ws); err == nil {
		t.Error("a state that may not be read was read")
	}
	data, err := a.(backend.OutputStore).GetOutputs(t.Context(), ws)
	check(t, err)
	want := `{"outputs":{"x":{"sensitive":false,"type":["list","number"],"value":[1]}},"resources":[],"serial":1,` +
		`"version":4}`
	if string(data) != want {
		t.Errorf("%s", data)
	}
}

func TestLocks(t *testing.T) {
	s := start(t)
	s.Users["other"] = "nobody"
	a := open(t, s, remote.Driver, one)
	b, err := tryOpen(t, remote.Driver, services{s.URL, "other"}, in(one))
	check(t, err)
	id, err := a.(backend.Locker).Lock(t.Context(),
		ws, backend.LockInfo{Operation: "OperationTypeApply", Who: "me@here", Info: "process 1"})
	check(t, err)
	if id != "acme/one" {
		t.Errorf("the lock has the ID %s", id)
	}
	var locked *backend.LockedError
	for _, store := range []backend.Store{a, b} {
		_, err = store.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "another"})
		if !errors.As(err, &locked) || locked.Info.Who != "user somebody" || locked.Info.ID != id ||
			locked.Info.Info != "OperationTypeApply by me@here, process 1" {
			t.Errorf("%v", err)
		}
	}
	if err := b.Put(t.Context(), ws, []byte("x")); !errors.As(err, &locked) {
		t.Errorf("writing what another has locked: %v", err)
	}
	wantError(t, b.(backend.Locker).Unlock(t.Context(), ws, "x"), `the lock has the ID "acme/one", not "x"`)
	check(t, b.(backend.Locker).Unlock(t.Context(), ws, id))
	_, version, err := a.(backend.Swapper).GetVersion(t.Context(), ws)
	check(t, err)
	_, err = a.(backend.Swapper).Swap(t.Context(), ws, version, []byte("1"))
	wantError(t, err, "must be locked by the user")
	wantError(t, a.(backend.Locker).Unlock(t.Context(), ws, id), "already unlocked")
}

// TestLostResponses checks that a request whose response is lost is not an error if it was carried
// out.
func TestLostResponses(t *testing.T) {
	s := start(t)
	a := open(t, s, remote.Driver, one)
	lose := func(part string) {
		lost := false
		s.Drop = func(r *http.Request) bool {
			drop := !lost && r.Method != http.MethodGet && strings.Contains(r.URL.Path, part)
			lost = lost || drop
			return drop
		}
	}
	lose("/organizations/acme/workspaces")
	check(t, a.(backend.Maker).Make(t.Context(), ws))
	lose("/actions/lock")
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{Who: "me"})
	check(t, err)
	version := ""
	for i, part := range []string{"/state-versions", "/uploads/"} {
		lose(part)
		version, err = a.(backend.Swapper).Swap(t.Context(), ws, version,
			fmt.Appendf(nil, `{"serial":%d,"lineage":"l"}`, i+1))
		check(t, err)
	}
	lose("/actions/unlock")
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	lose("/organizations/acme/workspaces/one")
	check(t, a.Delete(t.Context(), ws))
}

func TestErrors(t *testing.T) {
	t.Setenv("TF_WORKSPACE", "")
	s := start(t)
	s.Create("one", "local")
	with := func(name string, v cty.Value) settings {
		out := in(one)
		out[name] = v
		return out
	}
	for name, test := range map[string]struct {
		services services
		driver   *backend.Driver
		settings settings
		want     string
	}{
		"works":          {services{s.URL, "s3cret"}, remote.CloudDriver, in(one), ""},
		"token in block": {services{s.URL, ""}, remote.CloudDriver, with("token", text("s3cret")), ""},
		"no service":     {services{}, remote.Driver, in(one), "the host must offer a service that stores states"},
		"no token": {services{s.URL, ""}, remote.Driver, in(one),
			`run "tofu login tfe.example.com", or set the token in the environment variable TF_TOKEN_tfe_example_com`},
		"wrong token": {services{s.URL, "x"}, remote.CloudDriver, in(one),
			`run "tofu login tfe.example.com" for a new one`},
		"no organization": {services{s.URL, "s3cret"}, remote.Driver, func() settings {
			out := in(settings{"prefix": text("x")})
			out["organization"] = text("other")
			return out
		}(), `has no organization "other"`},
		"no project": {services{s.URL, "s3cret"}, remote.CloudDriver,
			in(settings{"tags": cty.ListVal([]cty.Value{text("a")}), "project": text("p")}), `has no project "p"`},
		"neither": {services{s.URL, "s3cret"}, remote.Driver, in(settings{}),
			"it needs a name, for one workspace, or a prefix"},
		"both": {services{s.URL, "s3cret"}, remote.Driver,
			in(settings{"name": text("a"), "prefix": text("b")}), `it can't be set together with "prefix"`},
		"neither, cloud": {services{s.URL, "s3cret"}, remote.CloudDriver, in(settings{}),
			"TF_WORKSPACE names the workspace"},
		"both, cloud": {services{s.URL, "s3cret"}, remote.CloudDriver, in(settings{"name": text("a"),
			"tags": cty.ListVal([]cty.Value{text("b")})}), `it can't be set together with "tags"`},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := tryOpen(t, test.driver, test.services, test.settings)
			if err == nil {
				_, err = store.List(t.Context())
			}
			if test.want == "" {
				check(t, err)
			} else {
				wantError(t, err, test.want)
			}
		})
	}
}
