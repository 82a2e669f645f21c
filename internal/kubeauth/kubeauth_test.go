package kubeauth_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"tofu/internal/kubeauth"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes files into a new directory and returns its path.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, []byte(text), 0o700))
	}
	return folder
}

// TestLoad checks that the first file with a value or an entry determines it, and that relative
// paths are relative to the directory of the file.
func TestLoad(t *testing.T) {
	folder := write(t, map[string]string{
		"a/config": `
current-context: one
contexts: [{name: one, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://a", certificate-authority: ca.pem}}]
users:
- {name: u, user: {exec: {apiVersion: v, command: ./bin/plugin}}}
- {name: numbers, user: {username: 17, password: 2.50}}
`,
		"b/config": `{"current-context": "two", "contexts": [{"name": "two", "context": {"cluster": "d", "user": "v"}}],
"clusters": [{"name": "c", "cluster": {"server": "https://ignored", "tls-server-name": "ignored"}},
  {"name": "d", "cluster": {"server": "https://b", "certificate-authority-data": "Zm9v"}}],
"users": [{"name": "v", "user": {"tokenFile": "token", "client-key": "/k", "exec": {"command": "plugin"}}}], "preferences": null}`,
		"empty":    "",
		"bad":      "a: [",
		"wrong":    `users: [{name: u, user: {exec: s3cret}}]`,
		"nothing":  "{}",
		"dangling": `{current-context: x, contexts: [{name: x, context: {cluster: nowhere}}]}`,
	})
	in := func(path string) string { return filepath.Join(folder, path) }
	both := []string{in("a/config"), in("b/config")}
	for name, test := range map[string]struct {
		paths    []string
		selected kubeauth.Selection
		cluster  kubeauth.Cluster
		user     kubeauth.User
		err      string
	}{
		"current": {both, kubeauth.Selection{},
			kubeauth.Cluster{Server: "https://a", CAFile: in("a/ca.pem")},
			kubeauth.User{Exec: &kubeauth.Exec{APIVersion: "v", Command: in("a/bin/plugin")}}, ""},
		"context": {both, kubeauth.Selection{Context: "two"},
			kubeauth.Cluster{Server: "https://b", CA: []byte("foo")},
			kubeauth.User{TokenFile: in("b/token"), KeyFile: "/k", Exec: &kubeauth.Exec{Command: "plugin"}}, ""},
		"user": {both, kubeauth.Selection{User: "numbers"},
			kubeauth.Cluster{Server: "https://a", CAFile: in("a/ca.pem")},
			kubeauth.User{Username: "17", Password: "2.5"}, ""},
		"cluster": {both[1:], kubeauth.Selection{Cluster: "c", User: "v"},
			kubeauth.Cluster{Server: "https://ignored", ServerName: "ignored"},
			kubeauth.User{TokenFile: in("b/token"), KeyFile: "/k", Exec: &kubeauth.Exec{Command: "plugin"}}, ""},
		"nothing":  {[]string{in("nothing")}, kubeauth.Selection{}, kubeauth.Cluster{}, kubeauth.User{}, ""},
		"empty":    {[]string{in("empty")}, kubeauth.Selection{}, kubeauth.Cluster{}, kubeauth.User{}, ""},
		"no files": {nil, kubeauth.Selection{}, kubeauth.Cluster{}, kubeauth.User{}, ""},
		"no context": {both, kubeauth.Selection{Context: "x"}, kubeauth.Cluster{}, kubeauth.User{},
			`the context "x" does not exist`},
		"no cluster": {[]string{in("dangling")}, kubeauth.Selection{}, kubeauth.Cluster{}, kubeauth.User{},
			`the cluster "nowhere" does not exist`},
		"no user": {both, kubeauth.Selection{User: "x"}, kubeauth.Cluster{}, kubeauth.User{},
			`the user "x" does not exist`},
		"no file": {[]string{in("x")}, kubeauth.Selection{}, kubeauth.Cluster{}, kubeauth.User{}, in("x")},
		"bad":     {[]string{in("bad")}, kubeauth.Selection{}, kubeauth.Cluster{}, kubeauth.User{}, "line"},
		"wrong": {[]string{in("wrong")}, kubeauth.Selection{}, kubeauth.Cluster{}, kubeauth.User{},
			"exec has a value of the wrong type: string"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, user, err := kubeauth.Load(test.paths, test.selected)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "s3cret") {
					t.Fatalf("error %v, want %s", err, test.err)
				}
				return
			}
			check(t, err)
			if !reflect.DeepEqual(*cluster, test.cluster) || !reflect.DeepEqual(*user, test.user) {
				t.Errorf("got\n%+v\n%+v, want\n%+v\n%+v", *cluster, *user, test.cluster, test.user)
			}
		})
	}
}

// server is a TLS server whose responses contain the credentials that it received. If it receives
// the refused token, it responds with 401.
type server struct {
	*httptest.Server
	ca      []byte
	refused string
	seen    []string
}

func serve(t *testing.T) *server {
	s := new(server)
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got := r.Header.Get("Authorization")
		if len(r.TLS.PeerCertificates) > 0 {
			got += " " + r.TLS.PeerCertificates[0].SerialNumber.String()
		}
		s.seen = append(s.seen, strings.TrimSpace(got+" "+string(body)))
		if s.refused != "" && strings.Contains(got, s.refused) {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_ = json.NewEncoder(w).Encode(r.Header)
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	s.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return s
}

// get sends a request with a body. It returns the status of the response and the headers that the
// server received.
func get(t *testing.T, cluster *kubeauth.Cluster, user *kubeauth.User) (int, http.Header) {
	t.Helper()
	client, err := kubeauth.NewClient(cluster, user)
	check(t, err)
	t.Cleanup(client.Close)
	return send(t, client.Std(), cluster.Server)
}

func send(t *testing.T, client *http.Client, to string) (int, http.Header) {
	t.Helper()
	resp, err := client.Post(to, "text/plain", bytes.NewReader([]byte("body")))
	check(t, err)
	defer resp.Body.Close()
	var header http.Header
	check(t, json.NewDecoder(resp.Body).Decode(&header))
	return resp.StatusCode, header
}

func TestStaticCredentials(t *testing.T) {
	s := serve(t)
	cluster := &kubeauth.Cluster{Server: s.URL, CA: s.ca}
	certificate, key := pair(t, 7)
	files := write(t, map[string]string{"token": "of file\n", "c": certificate, "k": key, "ca": string(s.ca)})
	for name, test := range map[string]struct {
		user kubeauth.User
		want string
	}{
		"token":      {kubeauth.User{Token: "t"}, "Bearer t body"},
		"token file": {kubeauth.User{Token: "t", TokenFile: files + "/token"}, "Bearer of file body"},
		"password":   {kubeauth.User{Username: "a", Password: "b"}, "Basic YTpi body"},
		"nothing":    {kubeauth.User{}, "body"},
		"certificate": {kubeauth.User{Certificate: []byte(certificate), Key: []byte(key), CertificateFile: "/ignored"},
			"7 body"},
		"certificate files": {kubeauth.User{CertificateFile: files + "/c", KeyFile: files + "/k"}, "7 body"},
		"token over plugin": {kubeauth.User{Token: "t", Exec: &kubeauth.Exec{Command: "/x"}}, "Bearer t body"},
	} {
		t.Run(name, func(t *testing.T) {
			s.seen = nil
			get(t, cluster, &test.user)
			if !reflect.DeepEqual(s.seen, []string{test.want}) {
				t.Errorf("got %q, want %q", s.seen, test.want)
			}
		})
	}
	s.seen = nil
	get(t, &kubeauth.Cluster{Server: s.URL, CAFile: files + "/ca", ServerName: "example.com"}, new(kubeauth.User))
	get(t, &kubeauth.Cluster{Server: s.URL, Insecure: true, CA: []byte("ignored")}, new(kubeauth.User))
	proxy, err := kubeauth.NewClient(&kubeauth.Cluster{Server: s.URL, CA: s.ca, Proxy: "http://127.0.0.1:1"},
		new(kubeauth.User))
	check(t, err)
	if _, err := proxy.Std().Get(s.URL); err == nil || !strings.Contains(err.Error(), "proxyconnect") {
		t.Errorf("through a proxy that doesn't exist: %v", err)
	}
}

// pair returns a new certificate with a serial number, and its key, in PEM.
func pair(t *testing.T, serial int64) (string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	check(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

func TestImpersonation(t *testing.T) {
	s := serve(t)
	_, header := get(t, &kubeauth.Cluster{Server: s.URL, CA: s.ca}, &kubeauth.User{As: "a", AsUID: "1",
		AsGroups: []string{"g", "h"}, AsExtra: map[string][]string{"Team/x": {"y"}}})
	for name, want := range map[string][]string{"Impersonate-User": {"a"}, "Impersonate-Uid": {"1"},
		"Impersonate-Group": {"g", "h"}, "Impersonate-Extra-Team%2fx": {"y"}} {
		if got := header[name]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// TestRedirect checks that credentials are not sent to a host that the cluster redirects to.
func TestRedirect(t *testing.T) {
	other := serve(t)
	s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer s.Close()
	client, err := kubeauth.NewClient(&kubeauth.Cluster{Server: s.URL, Insecure: true}, &kubeauth.User{Token: "t"})
	check(t, err)
	if resp, err := client.Std().Get(s.URL); err == nil {
		_ = resp.Body.Close()
	}
	if strings.Contains(fmt.Sprint(other.seen), "Bearer") {
		t.Errorf("the other host received %q", other.seen)
	}
}

// run returns a plugin that is a shell script with the given lines. In the script, $n is the number
// of times the script has run.
func run(t *testing.T, lines string) *kubeauth.Exec {
	if runtime.GOOS == "windows" {
		t.Skip("the plugins are shell scripts")
	}
	folder := write(t, map[string]string{"plugin": "#!/bin/sh\ncd " + `"$(dirname "$0")"` +
		"\necho x >> runs\nn=$(wc -l < runs | tr -d ' ')\n" + lines})
	return &kubeauth.Exec{APIVersion: "client.authentication.k8s.io/v1", Command: folder + "/plugin",
		Interactive: kubeauth.Never, Env: []kubeauth.Variable{{Name: "WHAT", Value: "v"}}}
}

// answer returns a shell command that prints credentials as a plugin does.
func answer(status string) string {
	return `echo "{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":` +
		strings.ReplaceAll(status, `"`, `\"`) + "}\"\n"
}

func TestPlugin(t *testing.T) {
	s := serve(t)
	cluster := &kubeauth.Cluster{Server: s.URL, CA: s.ca}
	ask := func(e *kubeauth.Exec, times int) []string {
		s.seen = nil
		client, err := kubeauth.NewClient(cluster, &kubeauth.User{Exec: e})
		check(t, err)
		defer client.Close()
		for range times {
			send(t, client.Std(), s.URL)
		}
		return s.seen
	}
	want := func(got []string, want ...string) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	want(ask(run(t, answer(`{"token":"$WHAT$n"}`)), 2), "Bearer v1 body", "Bearer v1 body")
	expired := ask(run(t, answer(`{"token":"$n","expirationTimestamp":"2020-01-01T00:00:00Z"}`)), 2)
	if expired[0] == expired[1] {
		t.Errorf("expired credentials are used again: %q", expired)
	}
	want(ask(run(t, answer(`{"token":"$n","expirationTimestamp":"2120-01-01T00:00:00Z"}`)), 2), "Bearer 1 body",
		"Bearer 1 body")

	s.refused = "Bearer 1"
	want(ask(run(t, answer(`{"token":"$n"}`)), 2), "Bearer 1 body", "Bearer 2 body", "Bearer 2 body")
	s.refused = "Bearer"
	want(ask(run(t, answer(`{"token":"$n"}`)), 1), "Bearer 1 body", "Bearer 2 body")

	certificates := map[string]string{}
	for i := range 2 {
		c, k := pair(t, int64(i+1))
		certificates[fmt.Sprint(i+1)] = fmt.Sprintf(`{"clientCertificateData":%q,"clientKeyData":%q}`, c, k)
	}
	e := run(t, "cat $n")
	folder := filepath.Dir(e.Command)
	for n, status := range certificates {
		text := `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":` + status + `}`
		check(t, os.WriteFile(filepath.Join(folder, n), []byte(text), 0o600))
	}
	s.refused = " 1"
	want(ask(e, 2), "1 body", "2 body", "2 body")
}

// TestPluginInformation checks that a plugin gets information about the cluster if it asks for it.
func TestPluginInformation(t *testing.T) {
	s := serve(t)
	e := run(t, `printf '%s' "$KUBERNETES_EXEC_INFO" > info`+"\n"+answer(`{"token":"t"}`))
	e.ProvideCluster = true
	cluster := &kubeauth.Cluster{Server: s.URL, CA: s.ca}
	check(t, json.Unmarshal([]byte(`[{"name":"client.authentication.k8s.io/exec","extension":{"audience":"a"}}]`),
		&cluster.Extensions))
	get(t, cluster, &kubeauth.User{Exec: e})
	info, err := os.ReadFile(filepath.Join(filepath.Dir(e.Command), "info"))
	check(t, err)
	want := `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","spec":{"cluster":{"server":"` +
		s.URL +
		`","certificate-authority-data":"` + base64.StdEncoding.EncodeToString(s.ca) +
		`","config":{"audience":"a"}},"interactive":false}}`
	if string(info) != want {
		t.Errorf("got %s, want %s", info, want)
	}
}

func TestPluginErrors(t *testing.T) {
	s := serve(t)
	with := func(e *kubeauth.Exec, f func(e *kubeauth.Exec)) *kubeauth.Exec { f(e); return e }
	good := func() *kubeauth.Exec { return run(t, answer(`{"token":"t"}`)) }
	for name, test := range map[string]struct {
		exec *kubeauth.Exec
		want string
	}{
		"status":    {run(t, "exit 3"), "exit status 3"},
		"no JSON":   {run(t, "echo s3cret"), "its output is not an ExecCredential in JSON"},
		"no status": {run(t, answer("null")), "neither a token nor a client certificate"},
		"half":      {run(t, answer(`{"clientCertificateData":"x"}`)), "a client certificate without a key"},
		"bad pair": {run(t, answer(`{"clientCertificateData":"x","clientKeyData":"s3cret"}`)),
			"the client certificate in its output"},
		"not there": {with(good(), func(e *kubeauth.Exec) { e.Command, e.InstallHint = "/nonexistent", "Get it." }),
			"is not installed. Get it."},
		"no command": {with(good(), func(e *kubeauth.Exec) { e.Command = "" }), "it has no command"},
		"version": {with(good(),
			func(e *kubeauth.Exec) { e.APIVersion = "client.authentication.k8s.io/v1alpha1" }),
			"use one of: client.authentication.k8s.io/v1,"},
		"other": {with(good(), func(e *kubeauth.Exec) { e.APIVersion = "client.authentication.k8s.io/v1beta1" }),
			`has the API version "client.authentication.k8s.io/v1", not`},
		"mode":         {with(good(), func(e *kubeauth.Exec) { e.Interactive = "x" }), `unknown interactiveMode "x"`},
		"missing mode": {with(good(), func(e *kubeauth.Exec) { e.Interactive = "" }), "has no interactiveMode"},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := kubeauth.NewClient(&kubeauth.Cluster{Server: s.URL, CA: s.ca},
				&kubeauth.User{Exec: test.exec})
			if err == nil {
				_, err = client.Std().Get(s.URL)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// TestPod checks that the token of a pod is read from its file for each request, because it may be
// replaced.
func TestPod(t *testing.T) {
	s := serve(t)
	folder := write(t, map[string]string{"token": "1", "ca.crt": string(s.ca)})
	u, err := url.Parse(s.URL)
	check(t, err)
	host, port, err := net.SplitHostPort(u.Host)
	check(t, err)
	t.Setenv("KUBERNETES_SERVICE_HOST", host)
	t.Setenv("KUBERNETES_SERVICE_PORT", port)
	cluster, user, err := kubeauth.PodIn(folder)
	check(t, err)
	client, err := kubeauth.NewClient(cluster, user)
	check(t, err)
	defer client.Close()
	send(t, client.Std(), s.URL)
	check(t, os.WriteFile(filepath.Join(folder, "token"), []byte("2"), 0o600))
	send(t, client.Std(), s.URL)
	if want := []string{"Bearer 1 body", "Bearer 2 body"}; !reflect.DeepEqual(s.seen, want) {
		t.Errorf("got %q, want %q", s.seen, want)
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, _, err := kubeauth.Pod(); err == nil || !strings.Contains(err.Error(), "does not run in a pod") {
		t.Errorf("error %v", err)
	}
}
