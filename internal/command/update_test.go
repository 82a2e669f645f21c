package command

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/terminal"
)

// TestUpdateToNewest checks that the newest releases are found in registries and in the tags of
// repositories. Each list of a registry is requested only once.
func TestUpdateToNewest(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git on this machine")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/p/hashicorp/tool/versions":
			io.WriteString(w, `{"versions": [{"version": "5.6.0"}, {"version": "6.1.2"}, {"version": "7.0.0-rc1"}]}`)
		case "/m/acme/net/lab/versions":
			io.WriteString(w, `{"modules": [{"versions": [{"version": "2.3.4"}, {"version": "2.0.0"}]}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	repo := filepath.Join(dir, "repo")
	for _, args := range [][]string{{"init", "-q", repo}, {"-C", repo, "-c", "user.name=t", "-c",
		"user.email=t@example.com", "commit", "-q", "--allow-empty", "-m", "x"},
		{"-C", repo, "tag", "v1.0.0"}, {"-C", repo, "tag", "v1.10.0"}, {"-C", repo, "tag", "v1.9.0"},
		{"-C", repo, "tag", "other-3.0.0"}, {"-C", repo, "tag", "v2.0.0-rc1"}} {
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	const text = `terraform {
  required_providers {
    tool = {
      source  = "hashicorp/tool"
      version = "~> 5.6" # a comment
    }
  }
}
module "a" {
  source  = "acme/net/lab"
  version = "2.0.0"
}
module "b" {
  source = "git::file://REPO//sub?ref=v1.0.0"
}
`
	for _, name := range []string{"x", "y"} {
		if err := os.MkdirAll(name, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name+"/main.tf", []byte(strings.ReplaceAll(text, "REPO", repo)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	app := NewApp(&terminal.Streams{Out: &out, Err: &out}, []string{"NO_COLOR=1"})
	app.CLI = &cliconfig.Config{RegistryTimeout: 10 * time.Second,
		Hosts: map[string]cliconfig.Host{addrs.DefaultHost: {Services: map[string]any{
			"providers.v1": server.URL + "/p/", "modules.v1": server.URL + "/m/"}}}}
	flags := &updateFlags{Providers: []string{"*"}, Modules: []string{"*"}, Recursive: true}
	if err := runUpdate(t.Context(), app.Session, flags, []string{"."}); err != nil {
		t.Fatal(err, out.String())
	}
	want := strings.NewReplacer("REPO", repo, "~> 5.6", "~> 6.1", `"2.0.0"`, `"2.3.4"`, "v1.0.0",
		"v1.10.0").Replace(text)
	for _, name := range []string{"x", "y"} {
		got, err := os.ReadFile(name + "/main.tf")
		info, statErr := os.Stat(name + "/main.tf")
		if err != nil || statErr != nil || string(got) != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %v\n%s", err, statErr, got)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("%d requests", n)
	}
}
