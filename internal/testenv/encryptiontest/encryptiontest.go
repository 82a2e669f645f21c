// Package encryptiontest encrypts states in tests of packages that store them.
//
//	codec := encryptiontest.State(t, "method = method.aes_gcm.a")
package encryptiontest

import (
	"os"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/encryption"
	"tofu/internal/encryption/all"
)

const methods = `
method "aes_gcm" "a" {
	keys = { encryption_key = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }
}
method "aes_gcm" "b" {
	keys = { encryption_key = [0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }
}
key_provider "pbkdf2" "p" {
	passphrase = "a long enough passphrase"
	iterations = 200000
}
method "aes_gcm" "p" {
	keys = key_provider.pbkdf2.p
}
method "unencrypted" "open" {}
`

// State returns the encryption of a state. target is the content of the state block, which can
// refer to these methods: method.aes_gcm.a and method.aes_gcm.b, which have different keys;
// method.aes_gcm.p, whose key comes from a passphrase; and method.unencrypted.open.
func State(t testing.TB, target string) *encryption.Target {
	t.Helper()
	f, diags := hclsyntax.ParseConfig([]byte(methods+"state {\n"+target+"\n}"), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	c, err := encryption.Load(&encryption.Source{Blocks: []*hcl.Block{{Body: f.Body}}, Registry: all.Registry(),
		Getenv: os.Getenv,
		Eval: func(expr hcl.Expression, want cty.Type) (cty.Value, error) {
			v, _ := expr.Value(nil)
			return convert.Convert(v, want)
		}})
	if err != nil {
		t.Fatal(err)
	}
	return c.State()
}
