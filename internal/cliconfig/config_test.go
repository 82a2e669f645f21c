package cliconfig

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// load reads a configuration file with an otherwise empty environment.
func load(t *testing.T, src string) (*Config, tfdiags.Diagnostics) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "TOFU_CLI_CONFIG_FILE", "TF_PLUGIN_CACHE_DIR", "TERRAFORM_CONFIG",
		"TF_PLUGIN_CACHE_MAY_BREAK_DEPENDENCY_LOCK_FILE", "TF_REGISTRY_CLIENT_TIMEOUT", "CHECKPOINT_DISABLE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	file := filepath.Join(home, "test.tfrc")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TF_CLI_CONFIG_FILE", file)
	return Load()
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
credentials_helper "box" { args = ["--box"] }
host "example.com" { services = { "modules.v1" = "https://x/" } }
provider_installation { dev_overrides { "hashicorp/null" = "/dev/null" } filesystem_mirror { path = "/m" include = ["a.example/*/*"] }
  network_mirror {
    url              = "https://mirror.example/x"
    exclude          = ["b/c"]
    trust_all_hashes = true
  }
  direct {}
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
		PluginCacheDir: cache, PluginCacheMayBreakLock: true, DisableCheckpoint: true,
		Credentials: map[string]Credentials{"example.com": {"token": "s3cret"},
			"other.example": {"token": "a\"b", "more": map[string]any{"x": []any{1.0, 2.0}}}},
		Helper: &Helper{"box", []string{"--box"}},
		Hosts:  map[string]Host{"example.com": {map[string]any{"modules.v1": "https://x/"}}},
		Methods: []Method{{Kind: FilesystemMirror, Location: "/m", Include: []string{"a.example/*/*"}, Retries: -1},
			{Kind: NetworkMirror, Location: "https://mirror.example/x", Exclude: []string{"b/c"}, Retries: -1, TrustAllHashes: true},
			{Kind: Direct, Retries: -1}},
		DevOverrides:    map[addrs.Provider]string{{Host: addrs.DefaultHost, Namespace: "hashicorp", Type: "null"}: "/dev/null"},
		RegistryRetries: 3, RegistryTimeout: 7 * time.Second, DownloadRetries: 2,
		OCICredentials: []OCICredentials{{Registry: "ghcr.io", Path: "me", Username: "u", Password: "p"}},
	}
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got  %+v\nwant %+v", cfg, want)
	}
}

func TestLoadJSON(t *testing.T) {
	cfg, diags := load(t, `{"credentials": {"example.com": {"token": "x"}}, "provider_installation": {"direct": {"include": ["a/b"]}}}`)
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	if cfg.Credentials["example.com"]["token"] != "x" || len(cfg.Methods) != 1 || cfg.Methods[0].Include[0] != "a/b" {
		t.Errorf("%+v", cfg)
	}
}

func TestLoadErrors(t *testing.T) {
	for src, want := range map[string]struct {
		line int
		text string
	}{
		"\nprovider_installation {\n":          {3, "closing brace"},
		"a = \n":                               {2, "is expected here"},
		"= 1":                                  {1, "name of a setting"},
		"plugin_cache_dir = \"C:\\temp\\x\"\n": {1, "backslash"},
		"plugin_cache_dir = 1":                 {1, "must be a string"},
		"provider_installation {\n carrier_pigeon {}\n}\n":                  {1, "carrier_pigeon"},
		"provider_installation {\n filesystem_mirror {}\n}\n":               {1, `needs the setting "path"`},
		"provider_installation {\n network_mirror { url = \"http://x/\" }}": {1, "https://"},
		"provider_installation {}\nprovider_installation {}":                {2, "another one is at"},
		"credentials \"no host!\" { token = \"x\" }":                        {1, "no host name"},
		"oci_credentials \"x.example\" { username = \"x\" }":                {1, "username and password"},
		"{\"a\": 1,\n}":                          {2, "JSON"},
		"a = [1":                                 {1, "closing bracket"},
		"plugin_cache_dir = \"/does/not/exist\"": {0, "/does/not/exist"},
	} {
		_, diags := load(t, src)
		if !diags.HasErrors() {
			t.Errorf("%q is accepted", src)
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
		if line != want.line || !strings.Contains(d.Detail, want.text) {
			t.Errorf("%q: line %d: %s", src, line, d.Detail)
		}
	}
}

func TestLoadWarnings(t *testing.T) {
	for _, src := range []string{"colour = 1", "provider_installation {\n direct { colour = 1 }\n}", "host \"x.example\" { x = 1 }"} {
		cfg, diags := load(t, src)
		if len(diags) != 1 || diags[0].Severity != tfdiags.Warning || cfg == nil {
			t.Errorf("%q: %v", src, diags)
		}
	}
	t.Setenv("TF_CLI_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	if _, diags := Load(); len(diags) != 1 || diags[0].Severity != tfdiags.Warning {
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
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(".terraformrc", `credentials "a.example" { token = "old" }`)
	write(".terraform.d/credentials.tfrc.json", `{"credentials": {"b.example": {"token": "saved"}}}`)
	cfg, diags := Load()
	if len(diags) > 0 || cfg.Credentials["a.example"]["token"] != "old" || cfg.Credentials["b.example"]["token"] != "saved" {
		t.Errorf("%v %v", cfg.Credentials, diags)
	}
	write(".tofurc", `credentials "a.example" { token = "new" }`)
	if cfg, _ := Load(); cfg.Credentials["a.example"]["token"] != "new" {
		t.Errorf("%v", cfg.Credentials)
	}
}

func TestTokens(t *testing.T) {
	t.Setenv("TF_TOKEN_my__tools_example_com", "env")
	cfg, diags := load(t, `
credentials "my-tools.example.com" { token = "file" }
credentials "b.example" { token = "file" }
credentials_helper "box" { args = ["-x"] }`)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	program := filepath.Join(cfg.Dir, "plugins", "terraform-credentials-box")
	if err := os.MkdirAll(filepath.Dir(program), 0o755); err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	script := "#!/bin/sh\necho \"$@\" >> " + log + "\ncase $2:$3 in get:bad*) echo no such box >&2; exit 1;; get:*) echo '{\"token\": \"helped\"}';; store:*) cat >> " + log + ";; esac\n"
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	tokens := NewTokens(cfg)
	for host, want := range map[string]string{"my-tools.example.com": "env", "b.example": "file", "c.example": "helped"} {
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
	if want := "-x get c.example\n-x get bad.example\n-x store d.example\n{\"token\":\"new\"}"; err != nil || string(got) != want {
		t.Errorf("the helper was asked: %s", got)
	}
}

func TestStoreInFile(t *testing.T) {
	cfg, _ := load(t, "")
	tokens := NewTokens(cfg)
	if err := tokens.Store(t.Context(), "a.example", "x"); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Store(t.Context(), "b.example", "y"); err != nil {
		t.Fatal(err)
	}
	if err := tokens.Forget(t.Context(), "a.example"); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(tokens.File())
	info, statErr := os.Stat(tokens.File())
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(data), "a.example") || !strings.Contains(string(data), `"y"`) {
		t.Errorf("%s %v %v", data, info, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a \"b\" { c = [1, \"${x}\"] }")
	f.Add("{\"a\": {\"b\": 1}}")
	f.Fuzz(func(t *testing.T, src string) {
		obj, diags := parseFile([]byte(src), "x")
		if diags.HasErrors() && obj != nil {
			t.Errorf("an object comes with errors: %v", diags)
		}
		d := &decoder{cfg: &Config{}}
		d.file(obj)
	})
}
