package addrs_test

import (
	"testing"

	"tofu/internal/addrs"
)

// TestProviderHost checks that both forms of a host name denote the same provider, displayed with
// Unicode letters.
func TestProviderHost(t *testing.T) {
	for source, want := range map[string]string{
		"café.example.com/acme/tool":        "café.example.com/acme/tool",
		"xn--caf-dma.example.com/acme/tool": "café.example.com/acme/tool",
		"café.example.com:8443/acme/tool":   "café.example.com:8443/acme/tool",
		"Example.com/acme/tool":             "example.com/acme/tool",
		"registry.opentofu.org/acme/tool":   "registry.opentofu.org/acme/tool",
	} {
		p, err := addrs.ParseProvider(source)
		if err != nil || p.String() != want {
			t.Errorf("%s: got %s, %v", source, p, err)
		}
		again, err := addrs.ParseProvider(p.String())
		if err != nil || again != p {
			t.Errorf("%s: got %#v, want %#v: %v", p, again, p, err)
		}
	}
}

// TestParseProviderRefuses checks that invalid addresses are rejected, and that a single dash is
// accepted as a namespace, but not as a type.
func TestParseProviderRefuses(t *testing.T) {
	if p, err := addrs.ParseProvider("-/tool"); err != nil || p.Namespace != "-" {
		t.Errorf("-/tool: got %v, %v", p, err)
	}
	for _, source := range []string{"-", "acme/-", "", "acme/", "/tool", "a/b/c/d", "acme/to_ol", "acme/-tool",
		"acme/to--ol", "acme/terraform-provider-tool", "--/tool"} {
		if p, err := addrs.ParseProvider(source); err == nil {
			t.Errorf("%q: got %s, want an error", source, p)
		}
	}
}

func TestParseHost(t *testing.T) {
	for given, want := range map[string]string{
		"Example.com": "example.com", "example.com:443": "example.com", "example.com:08443": "example.com:8443",
		"bücher.example": "xn--bcher-kva.example",
		"":               "", "example.com:": "", "example.com:x": "", "example.com:0": "",
		"example.com:65536": "", "no host": "",
	} {
		got, err := addrs.ParseHost(given)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
}
