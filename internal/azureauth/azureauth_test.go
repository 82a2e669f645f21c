package azureauth

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/httpclient"
	"tofu/internal/testenv"
)

// checkError reports a test failure unless err contains want. If want is empty, err must be nil.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got the error %v; want %q", err, want)
	}
}

// serve starts a server with the handler and returns its host and a client that trusts it.
func serve(t *testing.T, handler http.HandlerFunc) (host string, client *httpclient.Client) {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	client = httpclient.New(httpclient.Options{TLS: &tls.Config{RootCAs: roots}})
	t.Cleanup(client.Close)
	return server.Listener.Addr().String(), client
}

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	same, other, empty := filepath.Join(dir, "same"), filepath.Join(dir, "other"), filepath.Join(dir, "empty")
	testenv.WriteFile(t, same, "\n s3cret \n")
	testenv.WriteFile(t, other, "another")
	testenv.WriteFile(t, empty, " \n")
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{ClientSecret: "s3cret", ClientSecretFile: same}, ""},
		{Config{ClientSecretFile: same}, ""},
		{Config{ClientSecret: "s3cret", ClientSecretFile: other}, `differs from "client_secret"`},
		{Config{ClientID: "id", ClientIDFile: other}, `differs from "client_id"`},
		{Config{ClientIDFile: empty}, "is empty"},
		{Config{ClientIDFile: filepath.Join(dir, "absent")}, "no such file"},
		{Config{Certificate: "x", CertificatePath: other}, `together with "client_certificate"`},
	} {
		checkError(t, test.config.Check(), test.want)
	}
}

func TestPublicClouds(t *testing.T) {
	for name, want := range map[string]string{
		"": "core.windows.net", "public": "core.windows.net", "AzurePublicCloud": "core.windows.net",
		"usgovernment": "core.usgovcloudapi.net", "USGovernmentL5": "core.usgovcloudapi.net",
		"AzureChinaCloud": "core.chinacloudapi.cn", "china": "core.chinacloudapi.cn",
	} {
		got, err := (&Config{Environment: name}).Cloud(t.Context(), nil)
		if err != nil || got.StorageSuffix != want {
			t.Errorf("%q: %v, %v; want %s", name, got, err, want)
		}
	}
	_, err := (&Config{Environment: "germany"}).Cloud(t.Context(), nil)
	checkError(t, err, `no Azure cloud "germany"; set "environment" to public, usgovernment or china`)
}

// TestMetadataHost checks how the descriptions of clouds are read that a metadata service returns.
func TestMetadataHost(t *testing.T) {
	describe := func(name, storage string) string {
		return fmt.Sprintf(`{"name": %q, "authentication": {"loginEndpoint": "https://login.%[2]s/", "audiences": ["https://a/"]},
			"resourceManager": "https://manage.%[2]s/", "suffixes": {"storage": %[2]q}}`, name, storage)
	}
	for _, test := range []struct{ environment, answer, want, err string }{
		{"public", describe("private", "stack.example"), "stack.example", ""}, // the only one, whatever its name
		{"public", "[" + describe("AzureChinaCloud", "cn.example") + "," + describe("AzureCloud", "com.example") + "]",
			"com.example", ""},
		{"china", "[" + describe("AzureChinaCloud", "cn.example") + "," + describe("AzureCloud", "com.example") + "]",
			"cn.example", ""},
		{"usgovernment", "[" + describe("a", "a.example") + "," + describe("b", "b.example") + "]", "",
			`doesn't describe a cloud "usgovernment"`},
		{"public", `{"name": "AzureCloud"}`, "", "lacks the login endpoint"},
		{"public", "<html>", "", "doesn't describe clouds"},
		{"public", "", "", "it responded with 404"},
	} {
		host, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metadata/endpoints" || test.answer == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write([]byte(test.answer))
		})
		got, err := (&Config{Environment: test.environment, MetadataHost: host}).Cloud(t.Context(), client)
		checkError(t, err, test.err)
		if err == nil && (got.StorageSuffix != test.want || got.Login != "https://login."+test.want+"/" ||
			got.Audience != "https://a/" || !got.other) {
			t.Errorf("%+v, want the cloud of %s", got, test.want)
		}
	}
}

// TestMissing checks what the error for a configuration without credentials says of each method.
func TestMissing(t *testing.T) {
	for _, name := range []string{"AZURE_TENANT_ID", "AZURE_CLIENT_ID", "AZURE_FEDERATED_TOKEN_FILE"} {
		t.Setenv(name, "")
	}
	for _, test := range []struct {
		config Config
		want   []string
	}{
		{Config{}, []string{"a client secret: tenant_id, client_id, client_secret not set", "use_oidc is not true",
			"use_msi is not true", "use_aks_workload_identity is not true", "the Azure command line: use_cli is false"}},
		{Config{TenantID: "t", ClientID: "c", UseOIDC: true}, []string{"a client secret: client_secret not set",
			"a client certificate: client_certificate_path not set", "oidc_token, oidc_token_file_path, or both"}},
		{Config{UseOIDC: true, UseAKS: true}, []string{"an OpenID Connect token: tenant_id, client_id not set",
			"the environment variable AZURE_FEDERATED_TOKEN_FILE not set"}},
	} {
		client := httpclient.New(httpclient.Options{})
		_, err := test.config.Credential(clouds["public"], client).Token(t.Context(), "scope")
		for _, want := range test.want {
			checkError(t, err, want)
		}
	}
}

func TestCertificates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cert.pfx")
	testenv.WriteFile(t, file, "not a certificate")
	for _, test := range []struct{ content, path, want string }{
		{"%%%", "", `"client_certificate" is not a PKCS#12 file in Base64`},
		{base64.StdEncoding.EncodeToString([]byte("x")), "", "client_certificate is not a PKCS#12 file"},
		{"", file, file + " is not a PKCS#12 file"},
		{"", file + ".absent", "no such file"},
	} {
		c := Config{TenantID: "t", ClientID: "c", Certificate: test.content, CertificatePath: test.path}
		_, err := c.Credential(clouds["public"], httpclient.New(httpclient.Options{})).Token(t.Context(), "scope")
		checkError(t, err, test.want)
		checkError(t, err, "authenticating with a client certificate")
	}
}

// TestAssertions checks from where the token of the platform comes that is exchanged for another.
func TestAssertions(t *testing.T) {
	host, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer job" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		query := r.URL.Query()
		switch r.Method + " " + r.URL.Path {
		case "GET /actions":
			fmt.Fprintf(w, `{"value": "actions for %s"}`, query.Get("audience"))
		case "POST /pipelines":
			fmt.Fprintf(w, `{"oidcToken": "pipelines for %s, %s"}`, query.Get("serviceConnectionId"), query.Get("x"))
		case "GET /none":
			fmt.Fprint(w, `{}`)
		default:
			fmt.Fprint(w, "<html>")
		}
	})
	file := filepath.Join(t.TempDir(), "token")
	testenv.WriteFile(t, file, "first\n")
	at := func(path string) Config {
		return Config{OIDCRequestURL: "https://" + host + path, OIDCRequestToken: "job"}
	}
	pipelines, refused := at("/pipelines?x=1"), at("/actions")
	pipelines.ADOConnection, refused.OIDCRequestToken = "conn", "other"
	for _, test := range []struct {
		config    Config
		want, err string
	}{
		{Config{OIDCToken: "given", OIDCTokenFile: file}, "given", ""},
		{Config{OIDCTokenFile: file}, "first", ""},
		{at("/actions"), "actions for api://AzureADTokenExchange", ""},
		{at("/actions?audience=own"), "actions for own", ""},
		{pipelines, "pipelines for conn, 1", ""},
		{at("/none"), "", "the response from " + host + " has no token"},
		{at("/html"), "", "invalid response from " + host},
		{refused, "", "issues OpenID Connect tokens, responded with 403"},
		{Config{OIDCRequestURL: "actions", OIDCRequestToken: "job"}, "", "must be a URL with scheme and host"},
	} {
		got, err := test.config.assertion(t.Context(), client)
		checkError(t, err, test.err)
		if got != test.want {
			t.Errorf("got the token %q, want %q", got, test.want)
		}
	}
	if err := os.WriteFile(file, []byte("renewed"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := (&Config{OIDCTokenFile: file}).assertion(t.Context(), client); got != "renewed" || err != nil {
		t.Errorf("a renewed token is read as %q, %v", got, err)
	}
}
