package gcpkms_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/encryption"
	"tofu/internal/encryption/gcpkms"
	"tofu/internal/testenv/gcptest"
	"tofu/internal/testenv/hosts"
	"tofu/internal/testenv/keytest"
)

var google *gcptest.Server

func TestMain(m *testing.M) {
	var err error
	google, err = gcptest.New(nil)
	if err != nil {
		panic(err)
	}
	os.Exit(hosts.RunTests(m, google.Hosts()))
}

type settings = map[string]cty.Value

// good returns valid settings. pairs are the names and values of settings to change.
func good(pairs ...any) settings {
	s := settings{"kms_encryption_key": cty.StringVal(gcptest.Key), "key_length": cty.NumberIntVal(32),
		"access_token": cty.StringVal(google.Token("https://www.googleapis.com/auth/cloud-platform"))}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case string:
			s[pairs[i].(string)] = cty.StringVal(v)
		case int:
			s[pairs[i].(string)] = cty.NumberIntVal(int64(v))
		case []string:
			s[pairs[i].(string)] = cty.ListVal([]cty.Value{cty.StringVal(v[0])})
		}
	}
	return s
}

func open(t *testing.T, s settings) encryption.KeyProvider {
	t.Helper()
	p, err := keytest.Open(gcpkms.Driver, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKeys(t *testing.T) {
	account, err := google.AccountFile()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "account.json")
	if err := os.WriteFile(file, account, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]settings{
		"token":        good(),
		"data":         good("additional_authenticated_data", base64.StdEncoding.EncodeToString([]byte("prod"))),
		"long":         good("key_length", 1024),
		"account":      good("access_token", "", "credentials", string(account)),
		"account file": good("access_token", "", "credentials", file),
		"user":         good("access_token", "", "credentials", string(google.UserFile(gcptest.RefreshToken))),
		"impersonated": good("access_token", "", "credentials", file, "impersonate_service_account",
			gcptest.Impersonated,
			"impersonate_service_account_delegates", []string{"middle@project.iam.gserviceaccount.com"}),
	} {
		t.Run(name, func(t *testing.T) {
			keytest.Run(t, func(t *testing.T) encryption.KeyProvider { return open(t, s) })
		})
	}
}

// TestDefaultCredentials checks Application Default Credentials from a file and from the metadata
// server.
func TestDefaultCredentials(t *testing.T) {
	machine := httptest.NewServer(google.Hosts()["metadata.google.internal"]) // requests to it don't use proxies
	defer machine.Close()
	t.Setenv("GCE_METADATA_HOST", strings.TrimPrefix(machine.URL, "http://"))
	keytest.Run(t, func(t *testing.T) encryption.KeyProvider { return open(t, good("access_token", "")) })
	file := filepath.Join(t.TempDir(), "adc.json")
	if err := os.WriteFile(file, google.UserFile(gcptest.RefreshToken), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	keytest.Run(t, func(t *testing.T) encryption.KeyProvider { return open(t, good("access_token", "")) })
}

// TestData checks that a key can be decrypted only with its additional authenticated data.
func TestData(t *testing.T) {
	with := func(data string) encryption.KeyProvider {
		return open(t, good("additional_authenticated_data", base64.StdEncoding.EncodeToString([]byte(data))))
	}
	made, meta, err := with("prod").Keys(t.Context(), nil, encryption.Keys{})
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := with("prod").Keys(t.Context(), meta, encryption.Keys{}); err != nil ||
		!bytes.Equal(got.Decryption, made.Encryption) {
		t.Errorf("got %x, %v", got.Decryption, err)
	}
	if _, _, err := with("test").Keys(t.Context(), meta, encryption.Keys{}); err == nil ||
		!strings.Contains(err.Error(), "decryption failed") {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	account, err := google.AccountFile()
	if err != nil {
		t.Fatal(err)
	}
	damage := func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = w.Write([]byte(`{"ciphertext": "eHh4", "ciphertextCrc32c": "1"}`))
		return true
	}
	for _, test := range []struct {
		want     string
		settings settings
		answer   func(http.ResponseWriter, *http.Request) bool
	}{
		{"there is no key projects/p/locations/global/keyRings/r/cryptoKeys/other",
			good("kms_encryption_key", strings.TrimSuffix(gcptest.Key, "k")+"other"), nil},
		{"the credentials are not valid, or have expired", good("access_token", "hunter2"), nil},
		{"the Google credentials in \"credentials\"",
			good("access_token", "", "credentials", "{"), nil},
		{"reading the file that \"credentials\" names: open none: no such file",
			good("access_token", "", "credentials", "none"), nil},
		{"the credentials are not accepted by Google: they have expired",
			good("access_token", "", "credentials", string(google.UserFile("hunter2"))), nil},
		{"impersonating the service account other@x: https://iamcredentials.googleapis.com/v1/projects/-/" +
			"serviceAccounts/other@x:generateAccessToken responded with 403 Forbidden: Permission " +
			"'iam.serviceAccounts.getAccessToken' denied", good("access_token", "", "credentials", string(account),
			"impersonate_service_account", "other@x"), nil},
		{"the role \"Cloud KMS CryptoKey Encrypter/Decrypter\"", good(),
			func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusForbidden)
				return true
			}},
		{"was damaged in transit", good(), damage},
	} {
		google.Intercept(test.answer)
		_, _, err := open(t, test.settings).Keys(t.Context(), nil, encryption.Keys{})
		google.Intercept(nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for want, s := range map[string]settings{
		`"kms_encryption_key" is invalid: it must have the form`: good("kms_encryption_key", "k"),
		`"key_length" is invalid: it must be from 1 to 1024`:     good("key_length", 1025),
		`"additional_authenticated_data" is invalid`:             good("additional_authenticated_data", "%"),
	} {
		if _, err := keytest.Open(gcpkms.Driver, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
