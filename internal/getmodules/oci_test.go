package getmodules

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tofu/internal/cliconfig"
	"tofu/internal/registry"
	"tofu/internal/testenv/registrytest"
)

// TestOCIAddresses checks that invalid addresses are reported without a request to a registry.
func TestOCIAddresses(t *testing.T) {
	f := newFetcher(registry.New(&cliconfig.Config{}))
	for address, want := range map[string]string{
		"oci://registry.invalid/acme/net?tag=":                   `"tag" of the oci: address is empty`,
		"oci://registry.invalid/acme/net?digest=":                `"digest" of the oci: address is empty`,
		"oci://registry.invalid/acme/net?tag=a&digest=sha256:00": "not both",
		"oci://registry.invalid/acme/net?ref=main":               `no parameter "ref"`,
		"oci://registry.invalid/acme/net:v1":                     "?tag=",
		"oci://registry.invalid/acme/net@sha256:00":              "?digest=",
		"oci::https://registry.invalid/acme/net":                 "oci://HOST/REPOSITORY",
		"oci://registry.invalid/Acme/net":                        "not a valid address of an OCI repository",
	} {
		_, err := f.into(t.Context(), request{location: location{address: address}}, filepath.Join(t.TempDir(), "m"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestOCITokens checks that one token per repository is used for all packages in it.
func TestOCITokens(t *testing.T) {
	reg := registrytest.StartOCI()
	defer reg.Close()
	reg.Tokens = true
	for _, name := range []string{"acme/net", "acme/dns"} {
		repo := reg.Repository(name)
		for _, tag := range []string{"v1", "v2"} {
			archive := registrytest.Zip(t, map[string]string{"main.tf": "# " + name + " " + tag})
			m := repo.Manifest(registrytest.OCIManifest, map[string]any{
				"artifactType": moduleArtifact, "layers": []any{repo.Blob("archive/zip", archive)},
			})
			repo.Tags[tag] = m["digest"].(string)
		}
	}
	login := cliconfig.OCICredentials{Registry: reg.Host, Username: "me", Password: "s3cret"}
	f := newFetcher(registry.New(&cliconfig.Config{OCICredentials: []cliconfig.OCICredentials{login}}))
	for _, name := range []string{"acme/net", "acme/dns"} {
		for _, tag := range []string{"v1", "v2"} {
			dir := filepath.Join(t.TempDir(), "m")
			asked := request{location: location{address: fmt.Sprintf("oci://%s/%s?tag=%s", reg.Host, name, tag)}}
			if _, err := f.into(t.Context(), asked, dir); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "main.tf"))
			if err != nil || string(text) != "# "+name+" "+tag {
				t.Errorf("%s %s: %q, %v", name, tag, text, err)
			}
		}
		if n := reg.Issued(name); n != 1 {
			t.Errorf("%d tokens were issued for %s", n, name)
		}
	}
}
