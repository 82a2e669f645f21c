package depsfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apparentlymart/go-versions/versions"
	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

const sample = header + `
provider "example.com/acme/spare" {
  version = "1.0.1+lab.5"
}

provider "registry.opentofu.org/hashicorp/tool" {
  version     = "1.1.0"
  constraints = "> 1.0.0, ~> 1.0"
  hashes = [
    "h1:ZVIpgTHysVGZSVy8vVFqChHNT7UEf+FqcdrnznB0jaY=",
    "h9:future",
    "zh:03dc53a72c265493e3a8ff06e1a9cbd50d2107e2ca7412acbfea3f12f8235542",
  ]
}
`

func TestParseAndWrite(t *testing.T) {
	locks, err := Parse([]byte(sample), "x", tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(locks.Bytes()); got != sample {
		t.Errorf("written:\n%s", got)
	}
	if got := string((&Locks{}).Bytes()); got != header {
		t.Errorf("without providers: %q", got)
	}
	path := filepath.Join(t.TempDir(), FileName)
	if err := locks.Save(path); err != nil {
		t.Fatal(err)
	}
	again, err := Load(path, tfdiags.Drop)
	if err != nil || !again.Equal(locks) {
		t.Errorf("read again: %v %v", again, err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the file: %v %v", left, err)
	}
}

// TestSaveOverLinks checks that saving follows a symbolic link to a lock file, which keeps its
// mode, and that it replaces any other link.
func TestSaveOverLinks(t *testing.T) {
	for _, test := range []struct {
		name, target string
		present      bool
		followed     bool
	}{
		{"another lock file", "shared/" + FileName, true, true},
		{"no lock file", "shared/notes", true, false},
		{"nothing there", "shared/" + FileName, false, false},
		{"a directory", "shared", false, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			target, link := filepath.Join(dir, test.target), filepath.Join(dir, FileName)
			if err := os.Mkdir(filepath.Join(dir, "shared"), 0o755); err != nil {
				t.Fatal(err)
			}
			if test.present {
				if err := os.WriteFile(target, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(test.target, link); err != nil {
				t.Skip("no symbolic links: ", err)
			}
			if err := (&Locks{}).Save(link); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(link); err != nil || string(got) != header {
				t.Errorf("saved: %q, %v", got, err)
			}
			to, _ := os.Readlink(link)
			info, err := os.Stat(target)
			switch {
			case test.followed && (to != test.target || err != nil || info.Size() != int64(len(header)) ||
				info.Mode().Perm() != 0o600):
				t.Errorf("the link leads to %q; the file there is %v, %v", to, info, err)
			case !test.followed &&
				(to != "" || test.present && info.Size() != 0 || !test.present && err == nil && !info.IsDir()):
				t.Errorf("the link leads to %q; what was there is %v, %v", to, info, err)
			}
		})
	}
}

func TestLoadMissing(t *testing.T) {
	locks, err := Load(filepath.Join(t.TempDir(), "none"), tfdiags.Drop)
	if err != nil || !locks.Empty() {
		t.Errorf("%v %v", locks, err)
	}
	if _, err := Load(t.TempDir(), tfdiags.Drop); err == nil {
		t.Error("a folder is read as a lock file")
	}
}

func TestParseErrors(t *testing.T) {
	const head = `provider "example.com/acme/tool" {` + "\n"
	for name, c := range map[string]struct {
		src  string
		line int
		want string
	}{
		"syntax":        {head + `version = "1.1.0"`, 1, "no closing brace"},
		"short address": {`provider "acme/tool" {}`, 1, "full source address"},
		"capitals":      {`provider "example.com/acme/Tool" {}`, 1, "normal form"},
		"legacy":        {`provider "example.com/-/tool" {}`, 1, "normal form"},
		"built-in":      {`provider "terraform.io/builtin/terraform" {}`, 1, "built in"},
		"two labels":    {`provider "example.com/acme/tool" "x" {}`, 1, "exactly one label"},
		"twice": {head + "version = \"1.0.0\"\n}\n" + head + "version = \"1.0.0\"\n}\n",
			4, "already a lock"},
		"short version":     {head + "version = \"1.1\"\n}\n", 2, "must be complete"},
		"number as version": {head + "version = 1\n}\n", 2, "string in quotes"},
		"no version":        {head + "}\n", 1, "has no \"version\""},
		"bad constraints":   {head + "version = \"1.0.0\"\nconstraints = \"about 1\"\n}\n", 3, "not valid"},
		"constraints not normal": {head + "version = \"1.0.0\"\nconstraints = \"~> 1.0, >= 1.0\"\n}\n", 3,
			`normal form: ">= 1.0.0, ~> 1.0"`},
		"no hashes":           {head + "version = \"1.0.0\"\nhashes = []\n}\n", 3, "at least one"},
		"hash without scheme": {head + "version = \"1.0.0\"\nhashes = [\n\"abc\"]\n}\n", 4, "scheme"},
		"hash without value":  {head + "version = \"1.0.0\"\nhashes = [\n\"zh:\"]\n}\n", 4, "no value"},
		"hashes no list":      {head + "version = \"1.0.0\"\nhashes = \"h1:a\"\n}\n", 3, "must be a list"},
		"unknown argument":    {head + "version = \"1.0.0\"\ncolour = 1\n}\n", 3, "colour"},
		"unknown block":       {"locker {\n}\n", 1, "locker"},
		"nested block":        {head + "version = \"1.0.0\"\nx {}\n}\n", 3, `"x"`},
		"argument outside":    {"a = 1\n", 1, `"a"`},
		"function":            {head + "version = upper(\"1.0.0\")\n}\n", 2, "without variables or functions"},
	} {
		t.Run(name, func(t *testing.T) {
			locks, err := Parse([]byte(c.src), "file", tfdiags.Drop)
			if locks != nil || err == nil {
				t.Fatalf("accepted: %s", locks.Bytes())
			}
			if d := tfdiags.FromError(err)[0]; d.Subject == nil || d.Subject.Start.Line != c.line ||
				!strings.Contains(d.Detail, c.want) {
				t.Errorf("%v: %s: %s", d.Subject, d.Summary, d.Detail)
			}
		})
	}
}

func TestEqual(t *testing.T) {
	p := addrs.Provider{Host: "example.com", Namespace: "acme", Type: "tool"}
	lock := func(version string, hashes ...Hash) *Locks {
		return (&Locks{}).With(p, Lock{Version: versions.MustParseVersion(version), Hashes: hashes})
	}
	base := lock("1.0.0", "h1:a", "zh:b")
	for name, c := range map[string]struct {
		other *Locks
		want  bool
	}{
		"same":     {lock("1.0.0", "h1:a", "zh:b"), true},
		"order":    {lock("1.0.0", "zh:b", "h1:a"), false},
		"hash":     {lock("1.0.0", "h1:a"), false},
		"version":  {lock("1.0.1", "h1:a", "zh:b"), false},
		"metadata": {lock("1.0.0+x", "h1:a", "zh:b"), false},
		"no locks": {nil, false},
		"one more": {base.With(addrs.Provider{Host: "example.com", Namespace: "acme", Type: "x"}, Lock{}), false},
		"constraint": {base.With(p, Lock{Version: versions.MustParseVersion("1.0.0"), Hashes: []Hash{"h1:a", "zh:b"},
			Constraints: mustConstraints("> 0.1")}), true},
	} {
		if got := base.Equal(c.other); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func mustConstraints(text string) Constraints {
	c, err := ParseConstraints(text)
	if err != nil {
		panic(err)
	}
	return c
}

// TestRoundTrip writes and reads random locks, and compares both the locks and the bytes.
func TestRoundTrip(t *testing.T) {
	part := rapid.StringMatching(`[a-z][a-z0-9]{0,5}(-[a-z0-9]{1,3})?`)
	hash := rapid.StringMatching(`(h1:[A-Za-z0-9+/]{3,8}=|zh:[0-9a-f]{8}|h[2-9]:[!-~]{1,6})`)
	version := rapid.StringMatching(`[0-9]{1,3}\.[0-9]{1,2}\.[0-9](-(beta|rc)[1-9])?(\+[a-z]{1,3})?`)
	constraint := rapid.StringMatching(`(=|!=|>|>=|<|<=|~>) [0-9]\.[0-9](\.[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		locks := &Locks{}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			p := addrs.Provider{Host: "example.com", Namespace: part.Draw(t, "namespace"), Type: part.Draw(t, "type")}
			if strings.HasPrefix(p.Type, "terraform-") {
				continue
			}
			v, err := ParseVersion(version.Draw(t, "version"))
			if err != nil {
				t.Skip(err)
			}
			c := mustConstraints(strings.Join(rapid.SliceOfN(constraint, 0, 4).Draw(t, "constraints"), ","))
			var hashes []Hash
			for _, h := range rapid.SliceOfN(hash, 0, 5).Draw(t, "hashes") {
				hashes = append(hashes, Hash(h))
			}
			locks = locks.With(p, Lock{Version: v, Constraints: c, Hashes: Union(hashes)})
		}
		bytes := locks.Bytes()
		again, err := Parse(bytes, "x", tfdiags.Drop)
		if err != nil {
			t.Fatalf("%s\n%v", bytes, err)
		}
		if !again.Equal(locks) || string(again.Bytes()) != string(bytes) {
			t.Fatalf("written\n%s\nread and written again\n%s", bytes, again.Bytes())
		}
	})
}

// FuzzParse checks that accepted files can be written and read again unchanged.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add(`provider "example.com/acme/tool" { version = "1.0.0" }`)
	f.Add("module \"x\" {}\n")
	f.Fuzz(func(t *testing.T, src string) {
		locks, err := Parse([]byte(src), "x", tfdiags.Drop)
		if err != nil {
			return
		}
		if !utf8.ValidString(src) {
			t.Skip("HCL replaces what isn't UTF-8")
		}
		first := locks.Bytes()
		again, err := Parse(first, "x", tfdiags.Drop)
		if err != nil {
			t.Fatalf("%q\nwritten as\n%s\n%v", src, first, err)
		}
		if string(again.Bytes()) != string(first) {
			t.Fatalf("%s\nbecomes\n%s", first, again.Bytes())
		}
	})
}

func TestThereAre(t *testing.T) {
	for want, texts := range map[string][]string{
		"there are none":                              nil,
		"there is only 1.0.0":                         {"1.0.0"},
		"there are 2.0.0, 2.0.0-beta1, 1.10.0, 1.9.0": {"1.9.0", "2.0.0-beta1", "1.10.0", "2.0.0"},
		"there are 7.0.0, 6.0.0, 5.0.0, 4.0.0, 3.0.0 and 2 more": {"1.0.0", "2.0.0", "3.0.0", "4.0.0", "5.0.0", "6.0.0",
			"7.0.0"},
	} {
		var list []Version
		for _, text := range texts {
			v, err := ParseVersion(text)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v)
		}
		if got := ThereAre(list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
