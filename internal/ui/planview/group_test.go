package planview

import (
	"testing"

	"tofu/internal/addrs"
)

// TestWithoutKey checks where the key of an instance is taken for the expression, and where it may
// be something else.
func TestWithoutKey(t *testing.T) {
	for _, test := range []struct {
		key        addrs.InstanceKey
		text, want string
	}{
		{addrs.IntKey(1), `"web-1"`, `"web-${count.index}"`},
		{addrs.IntKey(1), `"web-1-db"`, `"web-${count.index}-db"`},
		{addrs.IntKey(1), `"web-11"`, `"web-11"`},
		{addrs.IntKey(10), `"10.0.0.0/16"`, `"10.0.0.0/16"`},
		{addrs.IntKey(80), `80`, `80`},
		{addrs.StringKey("a"), `"a"`, `"${each.key}"`},
		{addrs.StringKey("prod"), `"web.prod.example.com"`, `"web.${each.key}.example.com"`},
		{addrs.StringKey("prod"), `"production"`, `"production"`},
		{addrs.StringKey("443"), `"443"`, `"443"`},
		{addrs.NoKey, `"web"`, `"web"`},
	} {
		got := withoutKey([]Field{{After: test.text}}, test.key)
		if got[0].After != test.want {
			t.Errorf("%s with key %s: got %s, want %s", test.text, test.key, got[0].After, test.want)
		}
	}
}
