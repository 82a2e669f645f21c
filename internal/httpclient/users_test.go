package httpclient_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/awsapi"
	"tofu/internal/backend"
	httpbackend "tofu/internal/backend/http"
	"tofu/internal/backend/s3"
	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/depsfile/sources"
	"tofu/internal/encryption"
	"tofu/internal/encryption/openbao"
	"tofu/internal/getmodules"
	"tofu/internal/otlp"
	"tofu/internal/registry"
	"tofu/internal/registry/oci"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
	"tofu/internal/version"
)

// secret is part of all credentials in these tests.
const secret = "SEKRET"

// user is a part of the program that sends requests. Its fields hold the properties that tests
// depend on.
type user struct {
	name string
	send func(t *testing.T, at *url.URL) error // sends one request, which may be repeated after a failure
	// writes reports whether the user sends a request other than GET.
	writes bool
	// repeats reports whether failed requests are repeated.
	repeats bool
	// large reports whether the maximum size of a response is too large for a test to exceed it.
	large bool
	// bare reports whether the server's address is only a host, not a URL that could have a query
	// or password.
	bare bool
	// deaf reports whether the user ignores the body of the response.
	deaf bool
}

var users = []user{
	{name: "http backend, reading", send: readState, repeats: true, large: true},
	{name: "http backend, writing", send: writeState, writes: true, repeats: true, deaf: true},
	{name: "http backend, locking", send: lockState, writes: true, repeats: true, deaf: true},
	{name: "s3 backend, reading", send: readS3, repeats: true, large: true, bare: true},
	{name: "registry, document", send: document, repeats: true},
	{name: "registry, discovery", send: discovery, repeats: true, bare: true},
	{name: "registry, download", send: download, repeats: true},
	{name: "login", send: login, writes: true},
	{name: "network mirror", send: mirror, repeats: true},
	{name: "OCI registry", send: manifest, repeats: true, bare: true},
	{name: "module archive", send: module(func(at *url.URL) string { return at.JoinPath("m.zip").String() }),
		repeats: true, large: true},
	{name: "module in S3", send: module(s3Address), repeats: true, large: true},
	{name: "openbao", send: dataKey, writes: true},
	{name: "traces", send: trace, writes: true, deaf: true},
}

func store(t *testing.T, at *url.URL) backend.Store {
	t.Helper()
	s, err := httpbackend.Driver.Open(t.Context(),
		&httpbackend.Config{Address: at.String(), LockAddress: at.String(), UpdateMethod: "POST", LockMethod: "LOCK",
			Username: "me", Password: secret, RetryMax: 1, Headers: map[string]string{"X-Key": secret}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func readState(t *testing.T, at *url.URL) error {
	_, err := store(t, at).Get(t.Context(), backend.DefaultWorkspace)
	return err
}

func writeState(t *testing.T, at *url.URL) error {
	return store(t, at).Put(t.Context(), backend.DefaultWorkspace, []byte(secret))
}

func lockState(t *testing.T, at *url.URL) error {
	_, err := store(t, at).(backend.Locker).Lock(t.Context(), backend.DefaultWorkspace, backend.LockInfo{ID: secret})
	return err
}

func readS3(t *testing.T, at *url.URL) error {
	s, err := s3.Driver.Open(t.Context(),
		&s3.Config{Bucket: "b", Key: "k", PathStyle: true, Endpoints: s3.Endpoints{S3: at.Scheme + "://" + at.Host},
			Config: awsapi.Config{Region: "us-east-1", AccessKey: "a", SecretKey: secret, Token: secret, MaxRetries: 1,
				CABundle: os.Getenv("SSL_CERT_FILE")}})
	if err == nil {
		_, err = s.Get(t.Context(), backend.DefaultWorkspace)
	}
	return err
}

func client(at *url.URL) *registry.Client {
	return registry.New(&cliconfig.Config{RegistryRetries: 1, RegistryTimeout: 5 * time.Second, DownloadRetries: 1,
		Credentials: map[string]cliconfig.Credentials{at.Host: {"token": secret}}})
}

func document(t *testing.T, at *url.URL) error {
	_, err := client(at).Get(t.Context(), at, at.Host)
	return err
}

func discovery(t *testing.T, at *url.URL) error {
	_, err := client(at).Service(t.Context(), at.Host, "modules.v1")
	return err
}

func download(t *testing.T, at *url.URL) error {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return client(at).Fetch(t.Context(), registry.Download{URL: at, Host: at.Host, Retries: 1, Limit: 1 << 20}, f)
}

func login(t *testing.T, at *url.URL) error {
	_, err := client(at).Exchange(t.Context(), &registry.Login{Client: "x", Token: at}, secret, secret,
		"http://localhost/")
	return err
}

func mirror(t *testing.T, at *url.URL) error {
	m := &sources.NetworkMirror{Client: client(at), URL: at}
	_, err := m.Versions(t.Context(), addrs.Provider{Host: "example.com", Namespace: "a", Type: "b"})
	return err
}

func manifest(t *testing.T, at *url.URL) error {
	cfg := &cliconfig.Config{RegistryTimeout: time.Second,
		OCICredentials: []cliconfig.OCICredentials{{Registry: at.Host, Username: "me", Password: secret}}}
	_, err := oci.New(registry.New(cfg)).Index(t.Context(), at.Host+"/x/y", "1.0.0")
	return err
}

func s3Address(at *url.URL) string {
	u := *at
	u.Path, u.User = "/bucket/m.zip", nil
	query := u.Query()
	query.Set("aws_access_key_id", secret)
	query.Set("aws_access_key_secret", secret)
	u.RawQuery = query.Encode()
	return "s3::" + u.String()
}

func module(address func(*url.URL) string) func(*testing.T, *url.URL) error {
	return func(t *testing.T, at *url.URL) error {
		t.Chdir(t.TempDir())
		with := *at
		if with.User == nil {
			with.User = url.UserPassword("me", secret)
		}
		if err := os.WriteFile("main.tf", fmt.Appendf(nil, "module \"m\" {\n  source = %q\n}\n", address(&with)),
			0o600); err != nil {
			t.Fatal(err)
		}
		in, err := getmodules.NewInstaller(&getmodules.Options{Dir: ".terraform/modules", Client: client(at)})
		if err != nil {
			t.Fatal(err)
		}
		_, err = configs.LoadRoot(t.Context(), ".", &configs.LoadOptions{Resolve: in.Resolve}, tfdiags.Drop)
		return errors.Join(err, in.Finish())
	}
}

func dataKey(t *testing.T, at *url.URL) error {
	p, err := openbao.Driver.Open(&openbao.Config{KeyName: "k", Token: secret, Address: at.String(), Path: "/transit",
		KeyLength: 32}, false)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = p.Keys(t.Context(), nil, encryption.Keys{})
	return err
}

func trace(t *testing.T, at *url.URL) error {
	variables := map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": at.String(),
		"OTEL_EXPORTER_OTLP_HEADERS": "x-key=" + secret}
	e, err := otlp.New(func(name string) string { return variables[name] }, version.Info{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := timings.New()
	r.Trace(e.Trace(), e.Span)
	r.Command("x", e.Parent())(nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return e.Close(ctx)
}

// archive returns a zip archive with a module.
func archive() []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	f, _ := w.Create("main.tf")
	_, _ = f.Write([]byte(strings.Repeat("# module\n", 10)))
	_ = w.Close()
	return out.Bytes()
}
