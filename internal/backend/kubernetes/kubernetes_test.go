package kubernetes_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/kubernetes"
	"tofu/internal/testenv/kubetest"
	"tofu/internal/testenv/storetest"
)

const ws = backend.DefaultWorkspace

var (
	check     = storetest.Check
	wantError = storetest.WantError
	text      = cty.StringVal
)

func start(t *testing.T) *kubetest.Server {
	s := kubetest.Start()
	s.Token = "s3cret"
	t.Cleanup(s.Close)
	return s
}

type settings = storetest.Args

var arguments = settings{"secret_suffix": text("state")}

// direct returns settings with the address of the server and the credentials for it.
func direct(s *kubetest.Server) settings {
	return settings{"host": text(s.URL), "cluster_ca_certificate": text(s.CA), "token": text("s3cret")}
}

func open(t *testing.T, more settings) backend.Store {
	t.Helper()
	return storetest.MustOpen(t, kubernetes.Driver, storetest.With(arguments, more))
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
		s := start(t)
		return open(t, direct(s)), open(t, direct(s))
	})
}

// realServer returns the path of a kubeconfig file for a real API server.
func realServer(t *testing.T) string {
	t.Helper()
	path := os.Getenv("TEST_KUBERNETES_CONFIG")
	if path == "" {
		t.Skip("there is no API server: run `make services-heavy`, and this test with " +
			"testing/services/run.sh kubernetes")
	}
	return path
}

// TestRealServer runs the suite against a real API server, if there is one, and checks the maximum
// size and the forced removal of a lock.
func TestRealServer(t *testing.T) {
	path := realServer(t)
	count := 0
	next := func(t *testing.T) (backend.Store, backend.Store) {
		count++
		s := settings{"config_path": text(path), "secret_suffix": text(fmt.Sprintf("real-%d-%d", os.Getpid(), count))}
		return open(t, s), open(t, s)
	}
	storetest.Run(t, next)
	a, b := next(t)
	large := noise(1<<20 - 1000)
	check(t, a.Put(t.Context(), ws, large))
	if got, err := b.Get(t.Context(), ws); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "first", Who: "me"})
	check(t, err)
	_, err = b.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "2"})
	storetest.WantHolder(t, err, "me")
	check(t, b.(backend.Locker).Unlock(t.Context(), ws, id))
	check(t, b.Delete(t.Context(), ws))
}

// write writes a file and returns its path.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	check(t, os.WriteFile(path, []byte(content), 0o700))
	return path
}

// kubeconfig returns the path of a kubeconfig file with the given user. Its context for the server
// is not the current context.
func kubeconfig(t *testing.T, s *kubetest.Server, user string) string {
	return write(t, "config", fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: elsewhere
contexts:
- {name: elsewhere, context: {cluster: elsewhere, user: nobody, namespace: ignored}}
- {name: here, context: {cluster: here, user: me}}
clusters:
- {name: elsewhere, cluster: {server: "https://127.0.0.1:1"}}
- name: here
  cluster:
    server: %q
    certificate-authority: %q
users:
- {name: nobody, user: {}}
- {name: me, user: %s}
`, s.URL, write(t, "ca.pem", s.CA), user))
}

// TestCredentials checks the ways to find the cluster and the credentials.
func TestCredentials(t *testing.T) {
	s := start(t)
	plugin := write(t, "plugin", `#!/bin/sh
echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":{\"token\":\"$WHAT\"}}"
`)
	exec := func(secret string) cty.Value {
		return cty.ListVal([]cty.Value{cty.ObjectVal(settings{
			"api_version": text("client.authentication.k8s.io/v1"), "command": text(plugin),
			"env": cty.MapVal(settings{"WHAT": text(secret)})})})
	}
	file := kubeconfig(t, s, `{token: s3cret}`)
	without := func(names ...string) settings {
		out := direct(s)
		for _, name := range names {
			delete(out, name)
		}
		return out
	}
	with := func(in settings, name string, v cty.Value) settings {
		in[name] = v
		return in
	}
	for name, test := range map[string]struct {
		settings settings
		want     string
	}{
		"direct":      {direct(s), ""},
		"insecure":    {with(without("cluster_ca_certificate"), "insecure", cty.True), ""},
		"unknown CA":  {without("cluster_ca_certificate"), "certificate signed by unknown authority"},
		"no token":    {without("token"), "the cluster requires credentials"},
		"wrong token": {with(direct(s), "token", text("x")), `which come from the argument "token" or KUBE_TOKEN`},
		"wrong password": {with(with(without("token"), "username", text("a")), "password", text("b")),
			`"username" and "password"`},
		"file": {settings{"config_path": text(file), "config_context": text("here")}, ""},
		"files": {settings{"config_paths": cty.ListVal([]cty.Value{text(file)}),
			"config_context": text("here")}, ""},
		"cluster and user": {settings{"config_path": text(file), "config_context_cluster": text("here"),
			"config_context_auth_info": text("me")}, ""},
		"token over file": {settings{"config_path": text(kubeconfig(t, s, `{token: x}`)),
			"config_context": text("here"), "token": text("s3cret")}, ""},
		"wrong file": {settings{"config_path": text(kubeconfig(t, s, `{token: x}`)), "config_context": text("here")},
			"which come from " + filepath.Dir(filepath.Dir(file))},
		"no context": {settings{"config_path": text(file), "config_context": text("x")},
			`context "x" does not exist`},
		"no file":      {settings{"config_path": text("/nonexistent")}, "the kubeconfig file can't be read"},
		"plugin":       {with(without("token"), "exec", exec("s3cret")), ""},
		"wrong plugin": {with(without("token"), "exec", exec("x")), `in the "exec" block`},
		"plugin in file": {settings{"config_context": text("here"), "config_path": text(kubeconfig(t, s,
			fmt.Sprintf(`{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: %q, `+
				`env: [{name: WHAT, value: s3cret}]}}`, plugin)))}, ""},
		"no pod":             {settings{"in_cluster_config": cty.True}, "does not run in a pod"},
		"arguments over pod": {with(direct(s), "in_cluster_config", cty.True), ""},
		"suffix": {with(direct(s), "secret_suffix", text("A_b")),
			"it is part of the names of secrets and of labels"},
		"label": {with(direct(s), "labels", cty.MapVal(settings{"a": text("b c")})),
			`the value "b c" of the label "a"`},
		"half a pair": {with(direct(s), "client_key", text("x")), `it must be set together with "client_key"`},
		"bad key pair": {with(with(direct(s), "client_key", text("x")), "client_certificate", text("x")),
			"certificates of the cluster and the user"},
		"bad authority": {with(direct(s), "cluster_ca_certificate", text("x")), "certificates of the cluster and the user"},
		"bad address":   {with(direct(s), "host", text("https://")), "must be a URL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBE_CONFIG_PATHS", "")
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			if strings.HasSuffix(name, "over pod") {
				t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
				t.Setenv("KUBERNETES_SERVICE_PORT", "1")
			}
			store, err := storetest.Open(t, kubernetes.Driver, storetest.With(arguments, test.settings))
			if err == nil {
				_, err = store.List(t.Context())
			}
			if test.want == "" {
				check(t, err)
			} else {
				wantError(t, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error contains a secret: %v", err)
			}
		})
	}
}

func TestConfigPathsVariable(t *testing.T) {
	s := start(t)
	file := kubeconfig(t, s, `{token: s3cret}`)
	t.Setenv("KUBE_CONFIG_PATHS", file)
	_, err := open(t, settings{"config_context": text("here")}).List(t.Context())
	check(t, err)
}

// TestLayout checks that the store writes the same objects into the cluster as OpenTofu, and that
// Unlock and Delete clear them.
func TestLayout(t *testing.T) {
	s := start(t)
	more := direct(s)
	more["labels"] = cty.MapVal(settings{"team": text("a")})
	a := open(t, more)
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "lock-id", Who: "me"})
	check(t, err)
	check(t, a.Put(t.Context(), ws, []byte("{}")))
	objects := s.Objects()
	for name, want := range map[string]string{
		"Secret/tfstate-default-state": "map[encoding:gzip] map[app.kubernetes.io/managed-by:terraform team:a " +
			"tfstate:true tfstateSecretSuffix:state tfstateWorkspace:default]",
		"Lease/lock-tfstate-default-state": `map[app.terraform.io/lock-info:{"ID":"lock-id","Operation":"","Info":"",` +
			`"Who":"me","Version":"","Created":"0001-01-01T00:00:00Z","Path":""}] map[app.kubernetes.io/` +
			`managed-by:terraform team:a tfstate:true tfstateSecretSuffix:state tfstateWorkspace:default]`,
	} {
		m, _ := objects[name]["metadata"].(kubetest.Object)
		if got := fmt.Sprint(m["annotations"], " ", m["labels"]); got != want {
			t.Errorf("%s has %s, want %s", name, got, want)
		}
	}
	if spec := fmt.Sprint(objects["Lease/lock-tfstate-default-state"]["spec"]); spec != "map[holderIdentity:lock-id]" {
		t.Errorf("the lease has %s", spec)
	}
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	lease := s.Objects()["Lease/lock-tfstate-default-state"]
	if spec, m := lease["spec"], lease["metadata"].(kubetest.Object); fmt.Sprint(spec) != "map[]" ||
		m["annotations"] != nil {
		t.Errorf("the released lease is %v", lease)
	}
	check(t, a.Delete(t.Context(), ws))
	if left := s.Objects(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// noise returns data that can't be compressed much.
func noise(size int) []byte {
	out := make([]byte, size)
	for i, n := 0, uint32(1); i < size; i++ {
		n = n*1664525 + 1013904223
		out[i] = byte(n >> 24)
	}
	return out
}

func TestTooLarge(t *testing.T) {
	s := start(t)
	a := open(t, direct(s))
	check(t, a.Put(t.Context(), ws, slices.Repeat([]byte(`{"a":"b"}`), 50<<20/9))) // compressed, it is small
	check(t, a.Put(t.Context(), ws, noise(1<<20-1000)))
	wantError(t, a.Put(t.Context(), ws, noise(1<<20)),
		"but a secret can't have more than 1048576: divide the configuration")
	if data, err := a.Get(t.Context(), ws); err != nil || len(data) != 1<<20-1000 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}

// TestLostResponses checks that a write whose response is lost is not an error if it was carried
// out.
func TestLostResponses(t *testing.T) {
	s := start(t)
	a := open(t, direct(s))
	lose := func(method string) {
		lost := false
		s.Drop = func(r *http.Request) bool {
			drop := !lost && r.Method == method
			lost = lost || drop
			return drop
		}
	}
	locker := a.(backend.Locker)
	for _, method := range []string{http.MethodPost, http.MethodPut} { // POST creates the lease, PUT updates it
		lose(method)
		id, err := locker.Lock(t.Context(), ws, backend.LockInfo{ID: "of " + method})
		check(t, err)
		lose(http.MethodPut)
		check(t, locker.Unlock(t.Context(), ws, id))
	}
	version := ""
	for _, method := range []string{http.MethodPost, http.MethodPut} {
		var err error
		lose(method)
		version, err = a.(backend.Swapper).Swap(t.Context(), ws, version, []byte(method))
		check(t, err)
	}
	lose(http.MethodDelete)
	check(t, a.Delete(t.Context(), ws))
}

func TestForceUnlock(t *testing.T) {
	s := start(t)
	a, b := open(t, direct(s)), open(t, direct(s))
	unlock := func(id string) error { return b.(backend.Locker).Unlock(t.Context(), ws, id) }
	wantError(t, unlock("x"), "the state isn't locked")
	_, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "first"})
	check(t, err)
	wantError(t, unlock("x"), `the lock has the ID "first", not "x"`)
	check(t, unlock("first"))
	wantError(t, unlock("first"), "the state isn't locked")
}

// TestRequests checks which requests are sent when workspaces are listed, and when an apply runs in
// a workspace whose lease exists.
func TestRequests(t *testing.T) {
	s := start(t)
	a := open(t, direct(s))
	locker := a.(backend.Locker)
	id, err := locker.Lock(t.Context(), ws, backend.LockInfo{ID: "1"})
	check(t, err)
	check(t, locker.Unlock(t.Context(), ws, id))
	before := len(s.Requests())
	id, err = locker.Lock(t.Context(), ws, backend.LockInfo{ID: "2"})
	check(t, err)
	_, version, err := a.(backend.Swapper).GetVersion(t.Context(), ws)
	check(t, err)
	_, err = a.(backend.Swapper).Swap(t.Context(), ws, version, []byte("{}"))
	check(t, err)
	check(t, locker.Unlock(t.Context(), ws, id))
	_, err = a.List(t.Context())
	check(t, err)
	const api, lease = "/api/v1/namespaces/default/secrets",
		"/apis/coordination.k8s.io/v1/namespaces/default/leases/lock-tfstate-default-state"
	want := []string{"GET " + lease, "PUT " + lease, "GET " + api + "/tfstate-default-state", "POST " + api,
		"GET " + lease,
		"PUT " + lease, "GET " + api + "?labelSelector=tfstate%3Dtrue%2CtfstateSecretSuffix%3Dstate"}
	if got := s.Requests()[before:]; !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

// TestReadOnly checks that an account that may only read can read the state, and gets a clear error
// when it locks.
func TestReadOnly(t *testing.T) {
	s := start(t)
	a := open(t, direct(s))
	check(t, a.Put(t.Context(), ws, []byte("1")))
	s.Intercept = func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprint(w, `{"kind":"Status","reason":"Forbidden","message":"leases is forbidden: User \"me\" `+
			`cannot create resource \"leases\""}`)
		return true
	}
	if data, err := a.Get(t.Context(), ws); err != nil || string(data) != "1" {
		t.Errorf("%q, %v", data, err)
	}
	_, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "x"})
	wantError(t, err, `cannot create resource "leases"`)
}

// TestForeignSecret checks that secrets that aren't states are not read, overwritten or deleted.
func TestForeignSecret(t *testing.T) {
	s := start(t)
	a := open(t, direct(s))
	check(t, a.Put(t.Context(), ws, []byte("1")))
	delete(s.Objects()["Secret/tfstate-default-state"]["metadata"].(kubetest.Object)["labels"].(kubetest.Object),
		"tfstate")
	for _, err := range []error{
		func() error { _, err := a.Get(t.Context(), ws); return err }(),
		a.Put(t.Context(), ws, []byte("2")), a.Delete(t.Context(), ws),
		func() error { _, err := a.(backend.Swapper).Swap(t.Context(), ws, "", []byte("2")); return err }(),
	} {
		wantError(t, err, "isn't a state: it doesn't have the label tfstate=true")
	}
	if _, err := a.Get(t.Context(), "A_b"); !errors.Is(err, backend.ErrWorkspaceName) {
		t.Errorf("an impossible name: %v", err)
	}
}
