package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"tofu/internal/testenv/consultest"
	"tofu/internal/testenv/costest"
	"tofu/internal/testenv/hosts"
	"tofu/internal/testenv/kubetest"
	"tofu/internal/testenv/osstest"
	"tofu/internal/testenv/remotetest"
)

// interop lists the backends whose test servers run in the process of the test. The scripts, in
// which this program and OpenTofu take turns, are the same for all backends except for these
// fields.
var interop = []struct {
	name, kind string
	block      string // text of the backend block or the cloud block
	reader     string // backend for terraform_remote_state
	config     string
	first      string // workspace in which the script starts
}{
	{"consul", "consul", `backend "consul" { path = "full/path" }`, "consul", `path = "full/path"`, "default"},
	{"consul_gzip", "consul", "backend \"consul\" {\n path = \"full/path\"\n gzip = true\n}", "consul",
		`path = "full/path"`, "default"},
	{"kubernetes", "kubernetes", "backend \"kubernetes\" {\n secret_suffix = \"state\"\n labels = { team = \"a\" }\n}",
		"kubernetes", `secret_suffix = "state"`, "default"},
	{"remote", "remote", "backend \"remote\" {\n hostname = \"tfe.example.com\"\n organization = \"acme\"\n" +
		" workspaces {\n  prefix = \"net-\"\n }\n}", "remote",
		"hostname = \"tfe.example.com\"\n organization = \"acme\"\n workspaces = { name = \"net-one\" }", "one"},
	{"cloud", "remote", "cloud {\n hostname = \"tfe.example.com\"\n organization = \"acme\"\n workspaces {\n" +
		"  tags = [\"app\"]\n }\n}", "remote",
		"hostname = \"tfe.example.com\"\n organization = \"acme\"\n workspaces = { name = \"one\" }", "one"},
	{"cos", "cos", "backend \"cos\" {\n bucket = \"bucket-125\"\n prefix = \"a/b\"\n}", "cos",
		"bucket = \"bucket-125\"\n prefix = \"a/b\"", "default"},
	{"oss", "oss",
		"backend \"oss\" {\n bucket = \"states\"\n prefix = \"a/b\"\n tablestore_table = \"locks\"\n}", "oss",
		"bucket = \"states\"\n prefix = \"a/b\"", "default"},
}

// TestInterop runs testdata/interop.txtar for each backend in interop. The script checks that this
// program and OpenTofu can take turns on a state.
func TestInterop(t *testing.T) { runForBackends(t, "testdata/interop.txtar") }

// TestMigration runs testdata/migration.txtar for each backend in interop. The script checks
// migrations to and from the backend.
func TestMigration(t *testing.T) { runForBackends(t, "testdata/migration.txtar") }

func runForBackends(t *testing.T, path string) {
	mirror, err := filepath.Abs("../../build/mirror")
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	objects := "20" // number of objects of half a megabyte each
	if os.Getenv("TEST_LARGE_STATES") != "" {
		objects = "100"
	}
	dir := t.TempDir()
	for _, b := range interop {
		text := strings.NewReplacer("$$KIND", b.kind, "$$BLOCK", b.block, "$$READER", b.reader, "$$CONFIG", b.config,
			"$$FIRST", b.first, "$$OBJECTS", objects).Replace(string(script))
		if err := os.WriteFile(filepath.Join(dir, b.name+".txtar"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	testscript.Run(t, scriptParams(mirror, dir))
}

// describe returns a description of stored data. A state is described only as "state" or
// "compressed state". For other data, the description is the content without the parts that differ
// between runs.
func describe(data []byte) string {
	how := ""
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return err.Error()
		}
		data, err = io.ReadAll(r)
		if err != nil {
			return err.Error()
		}
		how = "compressed "
	}
	var state struct{ Version int }
	if err := json.Unmarshal(data, &state); err != nil || state.Version == 0 {
		return how + volatile.ReplaceAllString(string(data), "…")
	}
	return how + "state"
}

// volatile matches the parts of stored data that differ between runs: IDs, times, hashes and
// versions.
var volatile = regexp.MustCompile(
	`[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32}|[0-9-]{10}T[0-9:.]+Z|"Version":"[^"]*"|"Info":"[^"]*"`)

// memoryStore is a store in the process of the test. It returns the stored items by name.
type memoryStore func() map[string]string

// Dump implements store.
func (m memoryStore) Dump(context.Context) (string, error) {
	var out strings.Builder
	content := m()
	for _, name := range slices.Sorted(maps.Keys(content)) {
		fmt.Fprintf(&out, "%s: %s\n", volatile.ReplaceAllString(name, "…"), content[name])
	}
	return out.String(), nil
}

func consulStore(ts *testscript.TestScript, _ string) store {
	s := consultest.Start()
	ts.Defer(s.Close)
	ts.Setenv("CONSUL_HTTP_ADDR", s.URL)
	return memoryStore(func() map[string]string {
		out := make(map[string]string)
		for key, e := range s.Entries() {
			out[key] = fmt.Sprintf("flags %d, held %v, %s", e.Flags, e.Session != "", describe(e.Value))
		}
		return out
	})
}

func kubernetesStore(ts *testscript.TestScript, _ string) store {
	s := kubetest.Start()
	ts.Defer(s.Close)
	s.Token = "s3cret"
	path := ts.MkAbs("kubeconfig")
	ts.Check(os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: s3cret}}]
`, s.URL), 0o600))
	ts.Setenv("KUBE_CONFIG_PATH", path)
	return memoryStore(func() map[string]string {
		out := make(map[string]string)
		for name, o := range s.Objects() {
			m := o["metadata"].(kubetest.Object)
			text := fmt.Sprint(m["labels"], " ", m["annotations"], " ", o["spec"])
			if data, ok := o["data"].(kubetest.Object); ok {
				for key, value := range data {
					var raw []byte
					ts.Check(json.Unmarshal(fmt.Appendf(nil, "%q", value), &raw))
					text += " " + key + " is " + describe(raw)
				}
			}
			out[name] = volatile.ReplaceAllString(text, "…")
		}
		return out
	})
}

func remoteStore(ts *testscript.TestScript, _ string) store {
	s := remotetest.Start()
	ts.Defer(s.Close)
	for _, name := range []string{"one", "other"} { // OpenTofu refuses to use workspaces that it has created itself
		s.Create(name, "local", "app")
		s.Create("net-"+name, "local")
	}
	rc, err := os.ReadFile(ts.Getenv("TF_CLI_CONFIG_FILE"))
	ts.Check(err)
	before, _, _ := strings.Cut(string(rc), "host ")
	ts.Check(os.WriteFile(ts.Getenv("TF_CLI_CONFIG_FILE"), fmt.Appendf(nil, `%shost "tfe.example.com" {
  services = { "tfe.v2" = %q, "tfe.v2.1" = %[2]q }
}
credentials "tfe.example.com" {
  token = "s3cret"
}
`, before, s.URL), 0o600))
	return memoryStore(func() map[string]string {
		out := make(map[string]string)
		for name, w := range s.Workspaces() {
			text := fmt.Sprint(w.Tags, w.Mode, w.LockedBy)
			if n := len(w.States); n > 0 {
				text += fmt.Sprintf(" %v %s", w.States[n-1].Outputs, describe(w.States[n-1].Data))
			}
			out[name] = text
		}
		return out
	})
}

func ossStore(ts *testscript.TestScript, _ string) store {
	s := osstest.New("states", "locks")
	serveHosts(ts, s.Hosts())
	table := httptest.NewServer(s) // a separate server, because OpenTofu's Tablestore client ignores proxies
	ts.Defer(table.Close)
	for name, value := range map[string]string{"ALICLOUD_REGION": s.Region, "ALICLOUD_ACCESS_KEY": "LTAItest",
		"ALICLOUD_SECRET_KEY": "s3cret", "ALICLOUD_OSS_ENDPOINT": "https://oss-cn-beijing.aliyuncs.com",
		"ALICLOUD_TABLESTORE_ENDPOINT": table.URL} {
		ts.Setenv(name, value)
	}
	return memoryStore(func() map[string]string {
		out := make(map[string]string)
		for key, o := range s.Objects() {
			out[key] = fmt.Sprint(o.Header["X-Oss-Object-Acl"], o.Header["X-Oss-Server-Side-Encryption"],
				o.Header["Content-Type"], " ", describe(o.Data))
		}
		for key, columns := range s.Rows() {
			out["row "+key] = volatile.ReplaceAllString(fmt.Sprint(columns), "…")
		}
		return out
	})
}

// serveHosts makes handlers respond to the requests of all programs in the script to their hosts.
func serveHosts(ts *testscript.TestScript, handlers map[string]http.Handler) {
	proxy, err := hosts.New(ts.MkAbs("."), handlers)
	ts.Check(err)
	ts.Defer(func() { ts.Check(proxy.Close()) })
	for name, value := range proxy.Env() {
		ts.Setenv(name, value)
	}
}

func cosStore(ts *testscript.TestScript, _ string) store {
	s := costest.New("bucket-125")
	serveHosts(ts, s.Hosts())
	for name, value := range map[string]string{"TENCENTCLOUD_REGION": "ap-guangzhou",
		"TENCENTCLOUD_SECRET_ID": "AKIDtest", "TENCENTCLOUD_SECRET_KEY": "s3cret"} {
		ts.Setenv(name, value)
	}
	return memoryStore(func() map[string]string {
		out := make(map[string]string)
		for key, o := range s.Objects() {
			out[key] = fmt.Sprint(o.Header.Get("X-Cos-Acl"), " ", o.Header.Get("X-Cos-Server-Side-Encryption"), " ",
				describe(o.Data))
		}
		return out
	})
}
