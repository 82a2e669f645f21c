package addrs

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzParseModuleSource checks that a source is either rejected or has a normalized form that is
// parsed to the same source, and that its subdirectory lies inside the package.
func FuzzParseModuleSource(f *testing.F) {
	for _, text := range []string{"./m", `..\m`, "../../x/./y/", "hashicorp/consul/aws",
		"example.com:8443/a/b/c//sub/dir",
		"github.com/owner/name//sub?ref=v1", "git@example.com:owner/name.git",
		"git::ssh://me@example.com/x//a/../b?depth=1",
		"git::https://user:secret@example.com/x.git", "https://example.com/x.zip?archive=tar.gz//y", "/abs//../x",
		"s3::https://s3.amazonaws.com/b/k",
		"b.s3.eu-west-1.amazonaws.com/k.zip", "oci://example.com/a//b?tag=1", "file:///a//./..", "git::/x",
		"git::-oProxyCommand=x@h:y", "//", "%", "a::b::c", "git:://", "registry:443/a/b/c", "0.\ufffd/0/0/0", "/a%",
	} {
		f.Add(text, false)
		f.Add(text, true)
	}
	f.Fuzz(func(t *testing.T, text string, versioned bool) {
		if !utf8.ValidString(text) {
			t.Skip("strings in configurations are valid UTF-8")
		}
		source, err := ParseModuleSource(text, versioned)
		if err != nil {
			return
		}
		if versioned && source.Kind != RegistryModule {
			t.Fatalf("%q has versions", text)
		}
		if source.Subdir != "" && (!filepath.IsLocal(filepath.FromSlash(source.Subdir)) || source.Kind == LocalModule) {
			t.Fatalf("%q has the subdirectory %q", text, source.Subdir)
		}
		if source.Kind == LocalModule && !strings.HasPrefix(source.Address, "./") &&
			!strings.HasPrefix(source.Address, "../") {
			t.Fatalf("%q is the directory %q", text, source.Address)
		}
		again, err := ParseModuleSource(source.String(), versioned)
		if err != nil || again != source {
			t.Fatalf("%q becomes %q, which becomes %#v instead of %#v: %v", text, source, again, source, err)
		}
	})
}
