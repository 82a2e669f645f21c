package gcpauth

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/httpclient"
	"tofu/internal/restapi"
	"tofu/internal/testenv"
)

func sign(t *testing.T, c Config) (authorization string, err error) {
	t.Helper()
	client := httpclient.New(httpclient.Options{})
	t.Cleanup(client.Close)
	req, err := http.NewRequest(http.MethodGet, "https://storage.googleapis.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Source("scope", "", client).Sign(t.Context(), req, nil)
	return req.Header.Get("Authorization"), err
}

// account returns the credentials of a service account in JSON. uri issues its tokens.
func account(t *testing.T, uri string) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]string{"type": "service_account", "client_email": "robot@example.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": uri})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSign checks which credentials sign a request, and what refusals say.
func TestSign(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/token":
			fmt.Fprint(w, `{"access_token": "issued", "token_type": "Bearer", "expires_in": 3600}`)
		case "/expired":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "invalid_grant", "error_description": "Token has been revoked."}`)
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	good := account(t, server.URL+"/token")
	testenv.WriteFile(t, filepath.Join(home, "robot.json"), good)
	for _, test := range []struct {
		config    Config
		want, err string
	}{
		{Config{AccessToken: "given", Credentials: "{"}, "Bearer given", ""},
		{Config{Credentials: good}, "Bearer issued", ""},
		{Config{Credentials: "  " + good}, "Bearer issued", ""},
		{Config{Credentials: "~/robot.json"}, "Bearer issued", ""},
		{Config{Credentials: filepath.Join(home, "robot.json")}, "Bearer issued", ""},
		{Config{Credentials: account(t, server.URL+"/expired")}, "", "expired or were revoked, or the clock of this machine"},
		{Config{Credentials: account(t, server.URL+"/down")}, "", "requesting a token from Google: 503"},
		{Config{Credentials: "{"}, "", "are not valid JSON"},
		{Config{Credentials: `{"type": "unheard_of"}`}, "", `"credentials" can't be used`},
		{Config{Credentials: "absent.json"}, "", "absent.json"},
	} {
		got, err := sign(t, test.config)
		if got != test.want || (err == nil) != (test.err == "") ||
			err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%.40q: got %q, %v; want %q, %q", test.config.Credentials, got, err, test.want, test.err)
		}
	}
	secret := strings.Repeat("k", 300)
	if _, err := sign(t, Config{Credentials: secret}); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("mangled credentials: %v", err)
	}

	before := asked
	source := (&Config{Credentials: good}).Source("scope", "", httpclient.New(httpclient.Options{}))
	for range 3 {
		if err := source.Sign(t.Context(), httptest.NewRequest(http.MethodGet, "/", nil), nil); err != nil {
			t.Fatal(err)
		}
	}
	if asked != before+1 {
		t.Errorf("%d tokens were requested for three calls, want 1", asked-before)
	}
}

func TestFailure(t *testing.T) {
	for body, want := range map[string]string{
		`{"error": {"status": "NOT_FOUND", "message": "No such bucket."}}`: "host responded with 404 Not Found: No such bucket.",
		`<html>`: "host responded with 404 Not Found", ``: "host responded with 404 Not Found",
	} {
		if got := Failure(&restapi.Response{Status: 404, Body: []byte(body), From: "host"}).Error(); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
