package getmodules

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// TestShared checks that root modules share fetched packages and that no files are left behind.
func TestShared(t *testing.T) {
	l := newLab(t)
	t.Setenv("TMPDIR", l.top)
	l.pages["/v1/acme/net/lab/versions"] = bytesPage(
		[]byte(`{"modules": [{"versions": [{"version": "1.0.0"}, {"version": "1.1.0"}, {"version": "2.0.0"}]}]}`))
	var fetched atomic.Int32
	for _, v := range []string{"1.0.0", "1.1.0", "2.0.0"} {
		l.pages["/v1/acme/net/lab/"+v+"/download"] = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Terraform-Get", l.url+"/"+v+".zip//deep")
		}
		l.pages["/"+v+".zip"] = func(w http.ResponseWriter, r *http.Request) {
			fetched.Add(1)
			w.Write(zipOf(map[string]string{"deep/main.tf": call("below", "../other"), "other/main.tf": value(v)}))
		}
	}
	const source = "modules.example.com/acme/net/lab"
	versions := map[string]string{"a": "~> 1.0", "b": "< 1.1", "c": "", "d": "~> 1.0", "e": "~> 1.0", "f": "~> 1.0"}
	want := map[string]string{"a": "1.1.0", "b": "1.0.0", "c": "2.0.0", "d": "1.0.0", "e": "1.0.0", "f": "1.1.0"}
	for name, constraint := range versions {
		more := ""
		if constraint != "" {
			more = `version = "` + constraint + `"`
		}
		l.write(map[string]string{"work/" + name + "/main.tf": call("net", source, more)})
	}
	// Installed and pinned packages are used if they meet the constraints.
	l.write(map[string]string{
		"work/d/.terraform/modules/net/main.tf": value("1.0.0"),
		"work/d/.terraform/modules/modules.json": `{"Modules": [{"Key": "net", "Source": "` + source +
			`", "Version": "1.0.0", "Dir": ".terraform/modules/net"}]}`,
		"work/e/.terraform.modules.lock.hcl": "",
	})
	probe := zipOf(map[string]string{"deep/main.tf": call("below", "../other"), "other/main.tf": value("1.0.0")})
	if err := os.WriteFile("probe.zip", probe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unpack("probe.zip", "zip", "probe"); err != nil {
		t.Fatal(err)
	}
	h, err := HashTree("probe")
	if err != nil {
		t.Fatal(err)
	}
	l.write(map[string]string{"work/e/.terraform.modules.lock.hcl": "module \"" + source +
		"\" {\n version = \"1.0.0\"\n hash = \"" + string(h) + "\"\n}\n"})

	shared := NewShared(l.client, nil)
	var group sync.WaitGroup
	for name := range versions {
		group.Go(func() {
			resolve, err := shared.Resolver(name)
			if err != nil {
				t.Error(err)
				return
			}
			cfg, err := configs.LoadRoot(t.Context(), name, &configs.LoadOptions{Resolve: resolve}, tfdiags.Drop)
			if err != nil {
				t.Error(name, err)
				return
			}
			if got := cfg.Children["net"].Version; got != want[name] {
				t.Errorf("%s: version %q", name, got)
			}
		})
	}
	group.Wait()
	// The pinned version 1.0.0 and the version 1.0.0 that the constraints select are fetched
	// separately.
	if n := fetched.Load(); n != 4 {
		t.Errorf("%d packages were fetched", n)
	}
	if n := strings.Count(strings.Join(l.seen, " "), "/versions"); n != 1 {
		t.Errorf("the registry was asked for versions %d times", n)
	}
	// An error about a package has the same text for every call.
	var said []string
	for i, name := range []string{"h", "i"} {
		l.write(map[string]string{"work/" + name + "/main.tf": strings.Repeat("\n", i) +
			call("net"+name, l.url+"/gone.zip")})
		resolve, err := shared.Resolver(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = configs.LoadRoot(t.Context(), name, &configs.LoadOptions{Resolve: resolve}, tfdiags.Drop)
		for _, d := range tfdiags.FromError(err) {
			said = append(said, d.Detail)
		}
	}
	if len(said) != 2 || said[0] != said[1] || !strings.Contains(said[0], "/gone.zip") ||
		strings.Count(strings.Join(l.seen, " "), "/gone.zip") != 1 {
		t.Errorf("%q", said)
	}
	if err := shared.Close(); err != nil {
		t.Error(err)
	}
	for _, pattern := range []string{"tofu-modules-*", "work/[abc]/.terraform*"} {
		if left, err := filepath.Glob(filepath.Join(l.top, pattern)); err != nil || len(left) > 0 {
			t.Errorf("left over: %v", left)
		}
	}
	l.write(map[string]string{"work/g/main.tf": call("net", source, `version = "~> 3.0"`)})
	resolve, err := shared.Resolver("g")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := configs.LoadRoot(t.Context(), "g", &configs.LoadOptions{Resolve: resolve}, tfdiags.Drop); err == nil ||
		!strings.Contains(err.Error(), "meets the constraints") {
		t.Error(err)
	}
}
