package addrs

import (
	"strings"
	"testing"
)

var moduleSourceTests = []struct {
	text, want string // expected normalized form; "" if an error is expected
}{
	{"./m", "./m"},
	{"./m/../n/", "./n"},
	{"../shared//x", "../shared/x"},
	{"./", "./."},
	{"../", "./.."}, // as in the modules manifest of OpenTofu
	{`.\m\n`, "./m/n"},
	{`..\m`, "../m"},
	{"acme/net/lab", DefaultHost + "/acme/net/lab"},
	{"Modules.example.com/acme/net/lab//sub/dir", "modules.example.com/acme/net/lab//sub/dir"},
	{"acme/net/Lab", ""},
	{"m", ""},
	{"", ""},
	{"a/b/c/d", ""},
	{"github.com/acme/net", "git::https://github.com/acme/net.git"},
	{"github.com/acme/net//sub?ref=v1", "git::https://github.com/acme/net.git//sub?ref=v1"},
	{"git@github.com:acme/net.git", "git::ssh://git@github.com/acme/net.git"},
	{"git::file:///tmp/repo//sub/one?ref=v1.0.0", "git::file:///tmp/repo//sub/one?ref=v1.0.0"},
	{"https://example.com/x.zip", "https://example.com/x.zip"},
	{"https://example.com/x.zip//../y", ""},
	{"https://example.com/x.zip//sub?next=http://y//z", "https://example.com/x.zip//sub?next=http://y//z"},
	{"https://example.com/x.zip?next=http://y", "https://example.com/x.zip?next=http://y"},
	{"github.com/acme/net?next=http://y", "git::https://github.com/acme/net.git?next=http://y"},
	{"/abs/dir", "file:///abs/dir"},
	{"/abs/%", ""},
	{"/abs://dir", "file:///abs://dir"},
	{"git::/abs/dir", "git::file:///abs/dir"},
	{"git::/abs/dir//sub?ref=net/v1", "git::file:///abs/dir//sub?ref=net/v1"},
	{"git@example.com:/srv/net.git", "git::ssh://git@example.com/srv/net.git"},
	{"git::git@example.com:/srv/net.git//sub", "git::ssh://git@example.com/srv/net.git//sub"},
	{"git@example.com:net.git?ref=net/v1&depth=1", "git::ssh://git@example.com/net.git?depth=1&ref=net%2Fv1"},
	{"git@example.com:net.git//sub?ref=net%2Fv1", "git::ssh://git@example.com/net.git//sub?ref=net%2Fv1"},
	{"git::ssh://git@example.com/net.git?ref=net/v1", "git::ssh://git@example.com/net.git?ref=net/v1"},
	{"git::github.com/acme/net", "git::github.com/acme/net"},
	{"git::git@github.com:acme/net.git", "git::ssh://git@github.com/acme/net.git"},
	{"git::acme/net", ""},
	{"git::./net", ""},
	{"odd::net", ""},
	{"git::::net", ""},
	{"https://x y/z", ""},
	{"https://[x", ""},
	{"git::https://x/%zz", ""},
}

func TestParseModuleSource(t *testing.T) {
	for _, test := range moduleSourceTests {
		got, err := ParseModuleSource(test.text, false)
		if err != nil && test.want != "" || err == nil && got.String() != test.want {
			t.Errorf("%q: got %q, %v; want %q", test.text, got, err, test.want)
		}
	}
	for text, want := range map[string]string{
		"./m": "is a local directory", "acme/net": "is not a module registry address",
		"github.com/acme/net": "is not in a module registry", "git::https://x/y.git": "is not in a module registry",
	} {
		if got, err := ParseModuleSource(text, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q with a version: got %q, %v; want an error with %q", text, got, err, want)
		}
	}
}
