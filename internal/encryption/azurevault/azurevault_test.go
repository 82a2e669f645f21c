package azurevault_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/encryption"
	"tofu/internal/encryption/azurevault"
	"tofu/internal/testenv/azuretest"
	"tofu/internal/testenv/hosts"
	"tofu/internal/testenv/keytest"
)

const (
	vault = "states.vault.azure.net"
	hsm   = "states.managedhsm.azure.net"
)

var azure = azuretest.New(nil)

func TestMain(m *testing.M) {
	for host, names := range map[string][]string{vault: {"rsa"}, hsm: {"rsa", "aes128", "aes192", "aes256"}} {
		for _, name := range names {
			if err := azure.Rotate(host, name); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(hosts.RunTests(m, azure.Hosts()))
}

type settings = map[string]cty.Value

// good returns valid settings. pairs are the names and values of settings to change.
func good(pairs ...any) settings {
	s := settings{
		"vault_uri": cty.StringVal("https://" + vault), "vault_key_name": cty.StringVal("rsa"),
		"key_length": cty.NumberIntVal(32), "tenant_id": cty.StringVal(azuretest.Tenant),
		"client_id": cty.StringVal(azuretest.ClientID), "client_secret": cty.StringVal(azuretest.Secret),
	}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case string:
			s[pairs[i].(string)] = cty.StringVal(v)
		case int:
			s[pairs[i].(string)] = cty.NumberIntVal(int64(v))
		case bool:
			s[pairs[i].(string)] = cty.BoolVal(v)
		}
	}
	return s
}

func open(t *testing.T, s settings) encryption.KeyProvider {
	t.Helper()
	p, err := keytest.Open(azurevault.Driver, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKeys(t *testing.T) {
	for name, s := range map[string]settings{
		"rsa": good(),
		"hsm": good("vault_uri", "https://"+hsm+"/"),
		"aes128": good("vault_uri", "https://"+hsm, "vault_key_name", "aes128", "symmetric", true,
			"symmetric_key_size", 128),
		"aes192": good("vault_uri", "https://"+hsm, "vault_key_name", "aes192", "symmetric", true,
			"symmetric_key_size", 192),
		"aes256": good("vault_uri", "https://"+hsm, "vault_key_name", "aes256", "symmetric", true,
			"symmetric_key_size", 256),
	} {
		t.Run(name, func(t *testing.T) {
			keytest.Run(t, func(t *testing.T) encryption.KeyProvider { return open(t, s) })
		})
	}
}

// TestVersions checks that data keys can still be decrypted after the key in the vault has a new
// version, and after another type of key is configured.
func TestVersions(t *testing.T) {
	symmetric := good("vault_uri", "https://"+hsm, "vault_key_name", "aes256", "symmetric", true,
		"symmetric_key_size", 256)
	made, meta, err := open(t, symmetric).Keys(t.Context(), nil, encryption.Keys{})
	if err != nil {
		t.Fatal(err)
	}
	if err := azure.Rotate(hsm, "aes256"); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]settings{"new version": symmetric,
		"other type": good("vault_uri", "https://"+hsm, "vault_key_name", "aes256")} {
		found, _, err := open(t, s).Keys(t.Context(), meta, encryption.Keys{})
		if err != nil || !bytes.Equal(found.Decryption, made.Encryption) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMetadata checks that the metadata has the form that OpenTofu reads.
func TestMetadata(t *testing.T) {
	_, meta, err := open(t, good()).Keys(t.Context(), nil, encryption.Keys{})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(meta, &fields); err != nil {
		t.Fatal(err)
	}
	if len(fields) != 6 || fields["algo"] != "RSA-OAEP-256" || fields["key_version"] != strings.Repeat("0", 31)+"1" ||
		fields["iv"] != nil || fields["additional_authenticated_data"] != nil || fields["authentication_tag"] != nil {
		t.Errorf("%s", meta)
	}
}

func TestErrors(t *testing.T) {
	evil := func(w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("WWW-Authenticate",
			`Bearer authorization="https://login.microsoftonline.com/x", resource="https://vault.example.com"`)
		w.WriteHeader(http.StatusUnauthorized)
		return true
	}
	for _, test := range []struct {
		want     string
		settings settings
		answer   func(http.ResponseWriter, *http.Request) bool
	}{
		{`the vault states.vault.azure.net has no key "other"`, good("vault_key_name", "other"), nil},
		{"AADSTS7000215: Invalid client secret", good("client_secret", "wrong"), nil},
		{"there are no Azure credentials", good("client_secret", "", "use_cli", false), nil},
		{"the vault states.managedhsm.azure.net responded with 400 BadParameter operation is not allowed: algorithm " +
			"RSA-OAEP-256", good("vault_uri", "https://"+hsm, "vault_key_name", "aes256"), nil},
		{"asks for a token for https://vault.example.com, which is not its domain", good(), evil},
		{"instead of saying which tokens it accepts", good("vault_uri", "https://"+azuretest.MetadataHost), nil},
		{"the role \"Key Vault Crypto User\"", good(), func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == "" || r.Host != vault {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			return true
		}},
	} {
		azure.Intercept(test.answer)
		_, _, err := open(t, test.settings).Keys(t.Context(), nil, encryption.Keys{})
		azure.Intercept(nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), azuretest.Secret) {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}

func TestConfigErrors(t *testing.T) {
	for want, s := range map[string]settings{
		`"vault_uri" is invalid`:                                   good("vault_uri", "http://x"),
		`"key_length" is invalid: it must be at least 1`:           good("key_length", 0),
		`"symmetric_key_size" is invalid: it must be 128`:          good("symmetric", true),
		`"symmetric_key_size" is invalid: it requires "symmetric"`: good("symmetric_key_size", 128),
		`"client_secret_file_path" is invalid: open none: no such`: good("client_secret_file_path", "none"),
	} {
		if _, err := keytest.Open(azurevault.Driver, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
