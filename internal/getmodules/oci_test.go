package getmodules

import (
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/cliconfig"
	"tofu/internal/registry"
)

// TestOCIAddresses: what is wrong with an address is said before any registry is asked.
func TestOCIAddresses(t *testing.T) {
	f := newFetcher(registry.New(&cliconfig.Config{}, "test"))
	for address, want := range map[string]string{
		"oci://registry.invalid/acme/net?tag=":                   `"tag" of the oci: address is empty`,
		"oci://registry.invalid/acme/net?digest=":                `"digest" of the oci: address is empty`,
		"oci://registry.invalid/acme/net?tag=a&digest=sha256:00": "not both",
		"oci://registry.invalid/acme/net?ref=main":               `no parameter "ref"`,
		"oci://registry.invalid/acme/net:v1":                     "?tag=",
		"oci://registry.invalid/acme/net@sha256:00":              "?digest=",
		"oci::https://registry.invalid/acme/net":                 "oci://HOST/REPOSITORY",
		"oci://registry.invalid/Acme/net":                        "no address of an OCI repository",
	} {
		_, err := f.into(t.Context(), request{address: address}, filepath.Join(t.TempDir(), "m"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
