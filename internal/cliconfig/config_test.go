package cliconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// load reads a configuration file with the content src. The environment is otherwise empty.
func load(t *testing.T, src string) (*Config, tfdiags.Diagnostics) {
	t.Helper()
	return loadIn(t, t.TempDir(), src)
}

// loadIn loads a configuration in the given home directory.
func loadIn(t *testing.T, home, src string) (*Config, tfdiags.Diagnostics) {
	t.Helper()
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "TOFU_CLI_CONFIG_FILE",
		"TF_PLUGIN_CACHE_DIR", "TERRAFORM_CONFIG",
		"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", "TF_REGISTRY_CLIENT_TIMEOUT"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	file := filepath.Join(home, "test.tfrc")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TF_CLI_CONFIG_FILE", file)
	return collect()
}

func collect() (*Config, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	cfg, err := Load(diags.Add)
	return cfg, diags.AppendError(err)
}

func TestLoad(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("MY_CACHE", cache)
	cfg, diags := load(t, `
# comments // of all /* kinds */
plugin_cache_dir = "${MY_CACHE}/."
plugin_cache_may_break_dependency_lock_file = true
disable_checkpoint = "1"
credentials "Example.com:443" { token = "s3cret" }
credentials "other.example" {
  token = "a\"b"
  more  = { x = [1, 2,] }
}
minimum_release_age = "1w"
host "slow.example" { minimum_release_age = "36h" }
host "example.com" { services = { "modules.v1" = "https://x/" } }
provider_installation { dev_overrides { "hashicorp/null" = "/dev/null" } filesystem_mirror { path = "/m" include = ["a.example/*/*"] }
  network_mirror {
    url              = "https://mirror.example/x"
    exclude          = ["b/c"]
    trust_all_hashes = true
    minimum_release_age = "2d"
  }
  direct { minimum_release_age = 0 }
}
registry_protocols {
  retry_count             = 3
  request_timeout_seconds = 7
}
oci_credentials "ghcr.io/me" {
  username = "u"
  password = "p"
}
oci_default_credentials { discover_ambient_credentials = false }
`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	cfg.Dir, cfg.CacheDir, cfg.ImpliedDirs = "", "", nil
	want := &Config{
		PluginCacheDir: cache, PluginCacheMayBreakLock: true,
		Credentials: map[string]Credentials{"example.com": {"token": "s3cret"},
			"other.example": {"token": "a\"b", "more": map[string]any{"x": []any{1.0, 2.0}}}},
		Hosts: map[string]Host{"example.com": {map[string]any{"modules.v1": "https://x/"}}},
		Methods: []Method{{Kind: FilesystemMirror, Location: "/m", Include: []string{"a.example/*/*"}, Retries: -1, MinAge: -1},
			{Kind: NetworkMirror, Location: "https://mirror.example/x", Exclude: []string{"b/c"}, Retries: -1,
				TrustAllHashes: true, MinAge: 48 * time.Hour},
			{Kind: Direct, Retries: -1}},
		MinAge: 7 * 24 * time.Hour, HostAges: map[string]time.Duration{"slow.example": 36 * time.Hour},
		DevOverrides: map[addrs.Provider]string{{Host: addrs.DefaultHost, Namespace: "hashicorp",
			Type: "null"}: "/dev/null"},
		RegistryRetries: 3, RegistryTimeout: 7 * time.Second, DownloadRetries: 2,
		OCICredentials: []OCICredentials{{Registry: "ghcr.io", Path: "me", Username: "u", Password: "p"}},
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v\nwant %+v", cfg, want)
	}
}

func TestMinimumReleaseAge(t *testing.T) {
	for _, text := range []string{`minimum_release_age = "soon"`, `minimum_release_age = "-1d"`, `minimum_release_age = 7`,
		`minimum_release_age = true`, `host "a.example" { minimum_release_age = "1y" }`,
		`provider_installation { direct { minimum_release_age = "1d12h" } }`} {
		cfg, diags := load(t, text)
		if len(diags) != 1 || !strings.Contains(diags[0].Detail, "minimum_release_age") || cfg.MinAge != 0 {
			t.Errorf("%s: %v", text, diags)
		}
	}
	_, diags := load(t, `provider_installation { filesystem_mirror {
  path = "/m"
  minimum_release_age = "1d"
} }`)
	if len(diags) != 1 || !strings.Contains(diags[0].Detail, "has no setting") {
		t.Errorf("a directory with an age: %v", diags)
	}
}

func TestLoadJSON(t *testing.T) {
	cfg, diags := load(t,
		`{"credentials": {"example.com": {"token": "x"}}, "provider_installation": {"direct": {"include": ["a/b"]}}}`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if cfg.Credentials["example.com"]["token"] != "x" || len(cfg.Methods) != 1 || cfg.Methods[0].Include[0] != "a/b" {
		t.Errorf("%+v", cfg)
	}
}

// TestLoadLiberties checks that lenient notations are accepted: repeated blocks written as lists in
// JSON, and numbers where strings are expected. A negative number of retries is treated as zero.
func TestLoadLiberties(t *testing.T) {
	cfg, diags := load(t, `{"provider_installation": [{"direct": [{"exclude": ["a/b"]}, {"download_retry_count": -1}]}],
		"disable_checkpoint": "maybe", "plugin_cache_dir": "", "registry_protocols": {"retry_count": "-2", "request_timeout_seconds": -1}}`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	want := []Method{{Exclude: []string{"a/b"}, Retries: -1, MinAge: -1}, {Retries: 0, MinAge: -1}}
	if !reflect.DeepEqual(cfg.Methods, want) || cfg.RegistryRetries != 0 || cfg.RegistryTimeout != 10*time.Second {
		t.Errorf("%+v", cfg)
	}
	if cfg, diags := load(t, `provider_installation { filesystem_mirror { path = 5 } }`); len(diags) > 0 ||
		cfg.Methods[0].Location != "5" {
		t.Errorf("%+v %v", cfg.Methods, diags)
	}
	t.Setenv("TF_PLUGIN_CACHE_DIR", "$HOME") // variables are expanded only in files
	t.Setenv("TF_CLI_CONFIG_FILE", "/dev/null")
	if cfg, _ := Load(tfdiags.Drop); filepath.Base(cfg.PluginCacheDir) != "$HOME" {
		t.Errorf("%q", cfg.PluginCacheDir)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, test := range []struct {
		src  string
		line int
		text string
	}{
		{"\nprovider_installation {\n", 3, "closing brace"},
		{"a = \n", 2, "is expected here"},
		{"= 1", 1, "name of a setting"},
		{"plugin_cache_dir = \"C:\\temp\\x\"\n", 1, "backslash"},
		{"plugin_cache_dir = \"${f(\"x\")}\"\n", 1, "contains quotes"},
		{"plugin_cache_dir [1]", 1, "after \"plugin_cache_dir\""},
		{"plugin_cache_dir = true", 1, "must be a string"},
		{"provider_installation {\n carrier_pigeon {}\n}\n", 2, "carrier_pigeon"},
		{"provider_installation {\n filesystem_mirror {}\n}\n", 2, `needs the setting "path"`},
		{"provider_installation {}\nprovider_installation {}", 2, "another one is at"},
		{"credentials \"no host!\" { token = \"x\" }", 1, "invalid host name"},
		{"oci_credentials \"x.example\" { username = \"x\" }", 1, "username and password"},
		{"{\"a\": 1,\n}", 2, "JSON"},
		{"a = [1", 1, "closing bracket"},
		{"plugin_cache_dir = \"/\"\nplugin_cache_dir = \"/\"", 2, "is already set"},
		{"plugin_cache_may_break_dependency_lock_file = \"true\"", 1, "without quotes"},
		{"plugin_cache_dir = \"/dev/null\"", 0, "is not a directory"},
		{"provider_installation \"x\" {\n direct {}\n}", 1, "without a label"},
		{"provider_installation {\n direct \"x\" {}\n}", 2, "must not have a label"},
		{"provider_installation {\n direct = {}\n}", 2, "an equals sign"},
		{"provider_installation {\n direct {}\n dev_overrides {}\n}", 3, "must come first"},
		{"provider_installation {\n direct { download_retry_count = 1.5 }\n}", 2, "a whole number"},
		{"credentials_helper {}", 1, "as its label"},
		{"credentials_helper \"../x\" {}", 1, "not a valid name of a credentials helper"},
		{"registry_protocols {}\nregistry_protocols {}", 2, "another one is at"},
		{"oci_default_credentials {}\noci_default_credentials {}", 2, "another one is at"},
		{"oci_default_credentials { docker_credentials_helper = \"a/b\" }",
			1, "not a valid name of a credentials helper"},
		{"oci_credentials \"x.example\" { docker_credentials_helper = \"a/b\" }",
			1, "not a valid name of a credentials helper"},
		{"oci_credentials \"x example\" {\n username = \"a\"\n password = \"b\"\n}", 1, "host name"},
		{"oci_credentials \"x.example\" { docker_credentials_helper = \"a\" }\noci_credentials \"x.example\" { " +
			"docker_credentials_helper = \"b\" }", 2, "Duplicate oci_credentials"},
		{"oci_default_credentials {\n discover_ambient_credentials = false\n docker_style_config_files = []\n}", 1,
			"has no effect"},
	} {
		_, diags := load(t, test.src)
		if !diags.HasErrors() {
			t.Errorf("%q is accepted", test.src)
			continue
		}
		var d tfdiags.Diagnostic
		for _, d = range diags {
			if d.Severity == tfdiags.Error {
				break
			}
		}
		line := 0
		if d.Subject != nil {
			line = d.Subject.Start.Line
		}
		if line != test.line || !strings.Contains(d.Detail, test.text) {
			t.Errorf("%q: line %d: %s", test.src, line, d.Detail)
		}
	}
}

// TestLoadGoesOn checks that an invalid setting doesn't prevent the other settings from being used.
func TestLoadGoesOn(t *testing.T) {
	cfg, diags := load(t, `
credentials "no host!" { token = "x" }
credentials "a.example" { token = "x" }
host "no host!" {}
host "a.example" { services = { "a.v1" = "https://a/" } }
host "a.example" { services = { "b.v1" = "https://b/" } }
credentials_helper "one" {}
credentials_helper "two" {}
provider_installation {
  dev_overrides {
    "a/b/c/d" = "/x"
    "a/b"     = "/y"
  }
  carrier_pigeon {}
  direct {}
}
provider_installation {}
`)
	if n := len(diags); n != 7 || !diags.HasErrors() {
		t.Errorf("%d diagnostics: %v", n, diags)
	}
	if len(cfg.Credentials) != 1 || len(cfg.Hosts) != 1 || len(cfg.Hosts["a.example"].Services) != 2 ||
		cfg.Helper != nil || len(cfg.DevOverrides) != 1 ||
		len(cfg.Methods) != 1 || cfg.Methods[0].Kind != Direct {
		t.Errorf("%+v", cfg)
	}
	// A provider_installation block replaces the implied methods even if none of its own methods is
	// valid. A provider_installation setting that isn't a block doesn't replace them.
	if cfg, _ := load(t, "provider_installation {\n direct = 1\n}"); cfg.Methods == nil || len(cfg.Methods) != 0 {
		t.Errorf("%+v", cfg.Methods)
	}
	if cfg, _ := load(t, "provider_installation \"x\" {\n network_mirror {}\n}"); cfg.Methods != nil {
		t.Errorf("%+v", cfg.Methods)
	}
	if cfg, diags := load(t, `plugin_cache_dir = "/does/not/exist"`); cfg.PluginCacheDir != "/does/not/exist" ||
		len(diags) != 1 {
		t.Errorf("%q %v", cfg.PluginCacheDir, diags)
	}
}

func TestLoadWarnings(t *testing.T) {
	for _, src := range []string{"colour = 1", "credentials_helper \"gone\" {}",
		"provider_installation {\n direct { colour = 1 }\n}", "host \"x.example\" { x = 1 }"} {
		cfg, diags := load(t, src)
		if len(diags) != 1 || diags[0].Severity != tfdiags.Warning || cfg == nil {
			t.Errorf("%q: %v", src, diags)
		}
	}
	t.Setenv("TF_CLI_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	if _, diags := collect(); len(diags) != 1 || diags[0].Severity != tfdiags.Warning {
		t.Errorf("missing file: %v", diags)
	}
}

func TestDefaultFiles(t *testing.T) {
	load(t, "")
	t.Setenv("TF_CLI_CONFIG_FILE", "")
	home := t.TempDir()
	t.Setenv("HOME", home)
	write := func(name, src string) {
		t.Helper()
		testenv.WriteFile(t, filepath.Join(home, name), src)
	}
	write(".terraformrc", `credentials "a.example" { token = "old" }`)
	write(".terraform.d/credentials.tfrc.json", `{"credentials": {"b.example": {"token": "saved"}}}`)
	cfg, diags := collect()
	if len(diags) > 0 || cfg.Credentials["a.example"]["token"] != "old" ||
		cfg.Credentials["b.example"]["token"] != "saved" {
		t.Errorf("%v %v", cfg.Credentials, diags)
	}
	write(".tofurc", `credentials "a.example" { token = "new" }`)
	if cfg, _ := Load(tfdiags.Drop); cfg.Credentials["a.example"]["token"] != "new" {
		t.Errorf("%v", cfg.Credentials)
	}
}

func TestTokens(t *testing.T) {
	t.Setenv("TF_TOKEN_my__tools_example_com", "env")
	t.Setenv("TF_TOKEN_a_example", "")
	home := t.TempDir()
	program := filepath.Join(home, ".terraform.d", "plugins", "terraform-credentials-box")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	script := "#!/bin/sh\necho \"$@\" >> " + log + "\ncase $3:$4 in get:bad*) echo no such box >&2; exit 1;; get:*) " +
		"echo '{\"token\": \"helped\"}';; store:*) cat >> " + log + ";; esac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg, diags := loadIn(t, home, `
credentials "my-tools.example.com" { token = "file" }
credentials "a.example" { token = "file" }
credentials "b.example" { token = "file" }
credentials_helper "box" { args = ["-x", 5] }`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	tokens := NewTokens(cfg)
	for host, want := range map[string]string{"my-tools.example.com": "env", "a.example": "", "b.example": "file",
		"c.example": "helped"} {
		for range 2 {
			if got, err := tokens.Token(t.Context(), host); err != nil || got != want {
				t.Errorf("%s: %q, %v", host, got, err)
			}
		}
	}
	if _, err := tokens.Token(t.Context(), "bad.example"); err == nil || !strings.Contains(err.Error(), "no such box") {
		t.Errorf("%v", err)
	}
	if err := tokens.Store(t.Context(), "d.example", "new"); err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(log)
	if want := "-x 5 get c.example\n-x 5 get bad.example\n-x 5 store d.example\n{\"token\":\"new\"}"; err != nil ||
		string(got) != want {
		t.Errorf("the helper was asked: %s", got)
	}
}

// TestNoHome checks that files in the working directory are not read if the home directory is
// unknown.
func TestNoHome(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{".tofurc", ".terraformrc", "tofu.rc"} {
		if err := os.WriteFile(name, []byte(`plugin_cache_dir = "/evil"`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("APPDATA", "")
	if got := mainFile(""); got != "" {
		t.Errorf("%s is read", got)
	}
}

func TestStoreInFile(t *testing.T) {
	cfg, _ := load(t, "")
	tokens := NewTokens(cfg)
	elsewhere := filepath.Join(t.TempDir(), "kept")
	if err := errors.Join(os.MkdirAll(cfg.Dir, 0o755), os.Symlink(elsewhere, tokens.File())); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Store(t.Context(), "a.example", "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Errorf("the link was not followed: %v", err)
	}
	if err := tokens.Store(t.Context(), "b.example", "y"); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Forget(t.Context(), "a.example"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(tokens.File())
	info, statErr := os.Stat(tokens.File())
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(data), "a.example") ||
		!strings.Contains(string(data), `"y"`) {
		t.Errorf("%s %v %v", data, info, err)
	}
}

// TestCredentialsFile checks that credentials can be written to an empty file, that an invalid file
// is not changed, and that forgetting a missing token creates no file.
func TestCredentialsFile(t *testing.T) {
	for content, ok := range map[string]bool{"": true, "null": true, "{}": true,
		`{"credentials": null, "more": 1}`: true, "{nope": false, "[]": false, `{"credentials": 5}`: false} {
		cfg, _ := load(t, "")
		tokens := NewTokens(cfg)
		if err := tokens.Forget(t.Context(), "a.example"); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(tokens.File()); err == nil {
			t.Error("a file was made to forget something")
		}
		if err := os.MkdirAll(cfg.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(tokens.File(), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for verb, err := range map[string]error{"store": tokens.Store(t.Context(), "a.example", "x"),
			"forget": tokens.Forget(t.Context(), "a.example")} {
			if (err == nil) != ok {
				t.Errorf("%q: %s: %v", content, verb, err)
			}
		}
		if got, _ := os.ReadFile(tokens.File()); !ok && string(got) != content {
			t.Errorf("%q became %s", content, got)
		}
	}
}

// TestWritten checks that credentials in files that the user maintains are not removed.
func TestWritten(t *testing.T) {
	cfg, _ := load(t, `credentials "a.example" { token = "x" }`)
	tokens := NewTokens(cfg)
	if err := tokens.Forget(t.Context(), "a.example"); !errors.Is(err, ErrWritten) || !tokens.Written("a.example") ||
		tokens.Written("b.example") {
		t.Errorf("%v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a \"b\" { c = [1, \"${x}\"] }")
	f.Add("{\"a\": {\"b\": 1}}")
	f.Fuzz(func(t *testing.T, src string) {
		obj, err := parseFile([]byte(src), "x")
		if err != nil && obj != nil {
			t.Errorf("an object comes with errors: %v", err)
		}
		d := &decoder{cfg: &Config{}, warn: tfdiags.Drop}
		d.file(obj)
	})
}

// TestOrigins checks that messages name the variable or setting that was really set, and that each
// of several errors in a block has its own message.
func TestOrigins(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wrong := func(src string) string {
		_, diags := load(t, src)
		return fmt.Sprint(diags)
	}
	text := wrong("plugin_cache_dir = \"" + filepath.ToSlash(file) + "\"")
	if !strings.Contains(text, "set by plugin_cache_dir,") {
		t.Error(text)
	}
	t.Setenv("TOFU_PLUGIN_CACHE_DIR", file)
	t.Setenv("TOFU_REGISTRY_DISCOVERY_RETRY", "often")
	text = wrong("credentials {\n \"a b\" {}\n \"c d\" {}\n}")
	for _, want := range []string{"set by TOFU_PLUGIN_CACHE_DIR,", "TOFU_REGISTRY_DISCOVERY_RETRY must be a whole number",
		"Credentials for \"a b\"", "Credentials for \"c d\""} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
