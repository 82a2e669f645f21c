package statemgr_test

import (
	"os"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/backend/local"
	"tofu/internal/encryption"
	"tofu/internal/encryption/all"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// codec returns the encryption of a state with the given methods; n, m have fixed keys and open is
// unencrypted.
func codec(t *testing.T, methods string) *encryption.Target {
	t.Helper()
	f, hdiags := hclsyntax.ParseConfig([]byte(`
		method "aes_gcm" "m" {
			keys = { encryption_key = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }
		}
		method "aes_gcm" "n" {
			keys = { encryption_key = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }
		}
		method "unencrypted" "open" {}
		state {
			`+methods+`
		}`), "main.tf", hcl.InitialPos)
	if hdiags.HasErrors() {
		t.Fatal(hdiags)
	}
	c, err := encryption.Load(&encryption.Source{Blocks: []*hcl.Block{{Body: f.Body}}, Registry: all.Registry(),
		Getenv: os.Getenv,
		Eval: func(expr hcl.Expression, want cty.Type) (cty.Value, error) {
			v, _ := expr.Value(nil)
			return convert.Convert(v, want)
		}})
	check(t, err)
	return c.State()
}

func TestEncryption(t *testing.T) {
	setup(t, state("clear-text"))
	opts := &statemgr.Options{Codec: codec(t, "method = method.aes_gcm.m\nfallback {\nmethod = method.unencrypted.open\n}")}
	encrypted := func(c *encryption.Target) *statemgr.Manager {
		return statemgr.Open(local.New(nil, nil), ws, &statemgr.Options{Codec: c})
	}
	m := encrypted(opts.Codec.(*encryption.Target))
	begin(t, m, nil)
	m.Started(creating(1))
	m.Stored(addr(1), addrs.NotDeposed, object("journal-text"), provider)
	crash(t)
	check(t, m.Unlock())
	if data, _ := os.ReadFile("terraform.tfstate.journal"); strings.Contains(string(data), "journal-text") ||
		strings.Contains(string(data), "hunter2") {
		t.Errorf("the journal isn't encrypted: %s", data)
	}
	if _, err := open(t).Read(t.Context(), tfdiags.Drop); err == nil ||
		!strings.Contains(err.Error(), "it may be encrypted") {
		t.Errorf("an encrypted journal without a key: %v", err)
	}
	m = encrypted(opts.Codec.(*encryption.Target))
	begin(t, m, nil)
	check(t, m.Save(t.Context(), state("clear-text", "journal-text")))
	check(t, m.Unlock())
	data, err := os.ReadFile("terraform.tfstate")
	if err != nil || strings.Contains(string(data), "-text") ||
		!strings.HasPrefix(string(data), "{\n  \"serial\": 6,\n  \"lineage\": \"l\",\n  \"meta\": {},\n") ||
		!strings.HasSuffix(string(data), "\"v0\"\n}\n") {
		t.Errorf("%v\n%s", err, data)
	}
	if _, err := open(t).Read(t.Context(), tfdiags.Drop); err == nil ||
		!strings.Contains(err.Error(), "the state is encrypted") {
		t.Errorf("an encrypted state without a key: %v", err)
	}

	// A run without changes rewrites the state if its key is outdated, but only then.
	for _, methods := range []string{"method = method.aes_gcm.n\nfallback {\nmethod = method.aes_gcm.m\n}", "method = method.aes_gcm.n"} {
		before, _ := os.ReadFile("terraform.tfstate")
		m = encrypted(codec(t, methods))
		begin(t, m, nil)
		check(t, m.Save(t.Context(), state("clear-text", "journal-text")))
		check(t, m.Unlock())
		after, _ := os.ReadFile("terraform.tfstate")
		if rewritten := string(before) != string(after); rewritten != strings.Contains(methods, "fallback") {
			t.Errorf("%s: rewritten: %v", methods, rewritten)
		}
	}
}
