package azurerm_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"

	"tofu/internal/backend/azurerm"
	"tofu/internal/testenv/azuretest"
	"tofu/internal/tfdiags"
)

// certificate creates a certificate for the service principal, registers it with the test service
// and returns it with its key as a PKCS#12 file.
func certificate(t *testing.T, password string) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "principal"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	azure.SetCertificate(cert)
	file, err := pkcs12.Modern.Encode(key, cert, nil, password)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestMethods checks that each way to authenticate gives access to the blobs: with a token, and
// with an access key that is looked up with the token.
func TestMethods(t *testing.T) {
	container := newContainer(t)["container_name"].AsString()
	principal := map[string]string{"ARM_TENANT_ID": azuretest.Tenant, "ARM_CLIENT_ID": azuretest.ClientID,
		"ARM_SUBSCRIPTION_ID": azuretest.Subscription}
	and := func(pairs ...string) map[string]string {
		env := map[string]string{}
		maps.Copy(env, principal)
		for i := 0; i < len(pairs); i += 2 {
			env[pairs[i]] = pairs[i+1]
		}
		return env
	}
	pfx := certificate(t, "pw")
	token := write(t, "token", []byte(azuretest.OIDCToken))
	request := "https://" + azuretest.RequestHost + "/token?x=1"
	for name, env := range map[string]map[string]string{
		"secret":      and("ARM_CLIENT_SECRET", azuretest.Secret),
		"secret file": and("ARM_CLIENT_SECRET_FILE_PATH", write(t, "s", []byte(azuretest.Secret+"\n"))),
		"client ID file": and("ARM_CLIENT_ID", "", "ARM_CLIENT_ID_FILE_PATH",
			write(t, "c", []byte(azuretest.ClientID)), "ARM_CLIENT_SECRET", azuretest.Secret),
		"certificate": and("ARM_CLIENT_CERTIFICATE", base64.StdEncoding.EncodeToString(pfx),
			"ARM_CLIENT_CERTIFICATE_PASSWORD", "pw"),
		"certificate file": and("ARM_CLIENT_CERTIFICATE_PATH", write(t, "c.pfx", pfx),
			"ARM_CLIENT_CERTIFICATE_PASSWORD", "pw", "ARM_CLIENT_SECRET", "not used"),
		"OIDC token": and("ARM_USE_OIDC", "true", "ARM_OIDC_TOKEN", azuretest.OIDCToken),
		"OIDC file": and("ARM_USE_OIDC", "true", "ARM_OIDC_TOKEN_FILE_PATH",
			write(t, "t", []byte(azuretest.OIDCToken+"\n"))),
		"OIDC request": and("ARM_USE_OIDC", "1", "ACTIONS_ID_TOKEN_REQUEST_URL", request,
			"ACTIONS_ID_TOKEN_REQUEST_TOKEN", azuretest.RequestToken),
		"pipelines": and("ARM_USE_OIDC", "true", "SYSTEM_OIDCREQUESTURI", request, "SYSTEM_ACCESSTOKEN",
			azuretest.RequestToken, "AZURESUBSCRIPTION_SERVICE_CONNECTION_ID", "conn"),
		"MSI":             and("ARM_USE_MSI", "true"),
		"MSI of the host": {"ARM_USE_MSI": "true", "ARM_SUBSCRIPTION_ID": azuretest.Subscription},
		"other cloud":     and("ARM_CLIENT_SECRET", azuretest.Secret, "ARM_METADATA_HOSTNAME", azuretest.MetadataHost),
		"AKS":             and("ARM_USE_AKS_WORKLOAD_IDENTITY", "true"),
	} {
		for _, how := range []string{"use_azuread_auth", "resource_group_name"} {
			t.Run(name+" "+how, func(t *testing.T) {
				if name == "AKS" { // the backend has no variable of its own for this file
					t.Setenv("AZURE_FEDERATED_TOKEN_FILE", token)
				}
				s := text("storage_account_name", azuretest.Account, "container_name", container, "key", "k",
					how, map[string]string{"use_azuread_auth": "true", "resource_group_name": azuretest.Group}[how])
				config, err := decode(s, env, tfdiags.Drop)
				if err != nil {
					t.Fatal(err)
				}
				store, err := azurerm.Driver.Open(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				if data, err := store.Get(t.Context(), ws); err != nil || data != nil {
					t.Errorf("%q, %v", data, err)
				}
			})
		}
	}
}

// commandLine is a script that stands in for the Azure command line.
const commandLine = `#!/bin/sh
case "$*" in
"account show"*) echo '{"id": "` + azuretest.Subscription + `"}' ;;
*get-access-token*) echo '{"accessToken": "TOKEN", "expires_on": 4102444800}' ;;
*) echo "ERROR: unexpected: $*" >&2; exit 1 ;;
esac
`

func TestCommandLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a shell script")
	}
	container := newContainer(t)["container_name"].AsString()
	program := write(t, "az", nil)
	for how, token := range map[string]string{
		"use_azuread_auth":    azure.Token("https://storage.azure.com"),
		"resource_group_name": azure.Token("https://management.core.windows.net/"),
	} {
		if err := os.WriteFile(program, []byte(strings.ReplaceAll(commandLine, "TOKEN", token)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", filepath.Dir(program)+":/usr/bin:/bin")
		s := open(t, text("storage_account_name", azuretest.Account, "container_name", container, "key", "k",
			how, map[string]string{"use_azuread_auth": "true", "resource_group_name": azuretest.Group}[how]))
		if data, err := s.Get(t.Context(), ws); err != nil || data != nil {
			t.Errorf("%s: %q, %v", how, data, err)
		}
	}
}

// TestStringToSign compares the result with an example in the service's documentation.
func TestStringToSign(t *testing.T) {
	u, _ := url.Parse("https://myaccount.blob.core.windows.net/mycontainer?restype=container&comp=metadata&timeout=20")
	req := &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{
		"X-Ms-Date": {"Fri, 26 Jun 2015 23:39:12 GMT"}, "X-Ms-Version": {"2015-02-21"}, "User-Agent": {"tofu"}}}
	want := "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n" +
		"/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20"
	if got := azurerm.StringToSign(req, "myaccount", 0); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestSharedAccessSignature checks that the signature is sent, but not shown in errors.
func TestSharedAccessSignature(t *testing.T) {
	s := newContainer(t)
	delete(s, "access_key")
	a := open(t, s.with("sas_token", "?sv=2021-12-02&sp=r&sig=c2VjcmV0"))
	var query url.Values
	azure.Intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		query = r.URL.Query()
		return false
	})
	defer azure.Intercept(nil)
	err := get(t.Context(), a)
	if err == nil || strings.Contains(err.Error(), "c2VjcmV0") || query.Get("sig") != "c2VjcmV0" ||
		query.Get("sp") != "r" {
		t.Errorf("%v with %v", err, query)
	}
}

// TestErrors checks the errors for wrong settings and for requests that the service refuses.
func TestErrors(t *testing.T) {
	needService(t)
	good := newContainer(t)
	noKey := text("storage_account_name", azuretest.Account, "container_name",
		good["container_name"].AsString(), "key", "k")
	ad := noKey.with("use_azuread_auth", "true", "use_cli", "false")
	principal := ad.with("tenant_id", azuretest.Tenant, "client_id", azuretest.ClientID)
	lookup := noKey.with("tenant_id", azuretest.Tenant, "client_id", azuretest.ClientID, "client_secret",
		azuretest.Secret)
	refused := func(status int, code string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("X-Ms-Error-Code", code)
			w.WriteHeader(status)
			return true
		}
	}
	for _, test := range []struct {
		want     string
		settings settings
		answer   func(http.ResponseWriter, *http.Request) bool
	}{
		{"has no container other. Create it, or correct \"container_name\" (404 ContainerNotFound)",
			good.with("container_name", "other"), nil},
		{"doesn't accept the credentials",
			good.with("access_key", base64.StdEncoding.EncodeToString([]byte("wrong"))), nil},
		{"there are no Azure credentials", ad, nil},
		{"use_cli is false", ad, nil},
		{"a client secret: client_secret not set", principal, nil},
		{"AADSTS7000215: Invalid client secret provided.", principal.with("client_secret", "wrong"), nil},
		{"AADSTS90002: Tenant", principal.with("client_secret", azuretest.Secret, "tenant_id", "other"), nil},
		{"\"client_certificate_password\" is wrong",
			principal.with("client_certificate", base64.StdEncoding.EncodeToString(certificate(t, "pw"))), nil},
		{"is not a PKCS#12 file with a certificate and its key", principal.with("client_certificate", "eHh4"), nil},
		{"oidc.azure.example, which issues OpenID Connect tokens, responded with 401", principal.with("use_oidc",
			"true", "oidc_request_url", "https://"+azuretest.RequestHost, "oidc_request_token", "x"), nil},
		{"Identity not found", ad.with("use_msi", "true", "client_id", "unknown"), nil},
		{"\"subscription_id\" is required with a client secret, but is not set",
			lookup.with("resource_group_name", azuretest.Group), nil},
		{"responded with 404 ResourceNotFound",
			lookup.with("resource_group_name", "other", "subscription_id", azuretest.Subscription), nil},
		{"there is no Azure cloud \"mars\"", good.with("environment", "mars"), nil},
		{"metadata service none.azure.example, which \"metadata_host\" sets",
			good.with("metadata_host", "none.azure.example"), nil},
		{"the role \"Storage Blob Data Contributor\" for the container c",
			good, refused(403, "AuthorizationPermissionMismatch")},
		{"doesn't permit access keys. Set \"use_azuread_auth\"", good,
			refused(403, "KeyBasedAuthenticationNotPermitted")},
		{"the clock of this machine is off by ", good, func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Date", time.Now().UTC().Add(2*time.Hour).Format(http.TimeFormat))
			return refused(403, "AuthenticationFailed")(w, r)
		}},
		{"the service took longer than 1s, the limit of \"timeout_seconds\"", good.with("timeout_seconds", "1"),
			func(_ http.ResponseWriter, r *http.Request) bool {
				<-r.Context().Done()
				return true
			}},
		{"doesn't match the checksum", good, func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(make([]byte, 16)))
			_, _ = w.Write([]byte("{}"))
			return true
		}},
	} {
		azure.Intercept(test.answer)
		err := get(t.Context(), open(t, test.settings))
		azure.Intercept(nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got  %v\nwant %s", err, test.want)
		} else if strings.Contains(err.Error(), azuretest.Secret) {
			t.Errorf("a secret in an error: %v", err)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	base := text("storage_account_name", "account", "container_name", "c", "key", "k", "access_key", "eHh4")
	without := base.with()
	delete(without, "access_key")
	for want, s := range map[string]settings{
		`"storage_account_name" is invalid: it must have 3 to 24`: base.with("storage_account_name",
			"Upper.case"),
		`"container_name" is invalid: it is required`: text("storage_account_name", "account",
			"key", "k"),
		`"access_key" is invalid: it is not in Base64`: base.with("access_key", "%"),
		`"customer_provided_key" is invalid: it must be 32 bytes`: base.with("customer_provided_key",
			"eHh4"),
		`"customer_provided_key" is invalid: it can't be set together`: base.with("customer_provided_key",
			"eHh4", "encryption_scope", "s"),
		`"timeout_seconds" is invalid: it must not be negative`:       base.with("timeout_seconds", "-1"),
		`"resource_group_name" is invalid: it is required to look up`: without,
		`"client_id_file_path" is invalid: open none: no such file`: without.with("use_azuread_auth", "true",
			"client_id_file_path", "none"),
		`"client_secret_file_path" is invalid: the value in the file differs`: without.with("use_azuread_auth", "true",
			"client_secret", "x", "client_secret_file_path", write(t, "s", []byte("y"))),
		`"client_certificate_path" is invalid: it can't be set together`: without.with("use_azuread_auth", "true",
			"client_certificate", "x", "client_certificate_path", "y"),
	} {
		if _, err := decode(s, nil, tfdiags.Drop); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	var warnings tfdiags.Diagnostics
	if _, err := decode(base.with("endpoint", "x", "msi_endpoint", "y"), nil, warnings.Add); err != nil ||
		len(warnings) != 2 {
		t.Errorf("%v, %v", warnings, err)
	}
}

// TestReadOnly checks that a user who may only read can read the state, and that locking fails with
// an error that names the missing permission.
func TestReadOnly(t *testing.T) {
	s := newContainer(t)
	a := open(t, s)
	swap(t, a, "", "1")
	azure.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return false
		}
		w.Header().Set("X-Ms-Error-Code", "AuthorizationPermissionMismatch")
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	defer azure.Intercept(nil)
	b := open(t, s)
	if data, err := b.Get(t.Context(), ws); err != nil || !bytes.Equal(data, []byte("1")) {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := b.Lock(t.Context(), ws, info("x")); err == nil ||
		!strings.Contains(err.Error(), "locking the state: the credentials don't permit this request") {
		t.Error(err)
	}
	if err := b.Put(t.Context(), ws, []byte("2")); err == nil ||
		!strings.Contains(err.Error(), "writing the state: the credentials don't permit this request") {
		t.Error(err)
	}
}
