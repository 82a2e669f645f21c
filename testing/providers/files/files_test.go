package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"tofu/testing/providers/prototest"
)

// start returns the provider and its root directory.
func start(t *testing.T) (*prototest.Client, string) {
	t.Helper()
	root := t.TempDir()
	server := providerserver.NewProtocol6(New(Options{Version: "test"}))()
	return prototest.New(t, server, `{"root": "`+root+`"}`), root
}

func onDisk(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func apply(t *testing.T, c *prototest.Client, typ string, prior *prototest.Object, config string) *prototest.Object {
	t.Helper()
	o, err := c.Apply(t.Context(), typ, prior, config)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func read(t *testing.T, c *prototest.Client, typ string, prior *prototest.Object) *prototest.Object {
	t.Helper()
	o, err := c.Read(t.Context(), typ, prior)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestFileLife(t *testing.T) {
	c, root := start(t)
	file := filepath.Join(root, "a.txt")
	o := apply(t, c, "files_file", nil, `{"path": "a.txt", "content": "one"}`)
	want(t, "file", onDisk(t, file), "one")
	want(t, "id", o.Text("id"), "a.txt")
	want(t, "size", o.Text("size"), "3")
	want(t, "sha256", o.Text("sha256"), content{text: "one"}.sha256())

	o = apply(t, c, "files_file", o, `{"path": "a.txt", "content": "two", "mode": "0600"}`)
	want(t, "file", onDisk(t, file), "two")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v, %v", info.Mode(), err)
	}

	write(t, file, "by hand")
	o = read(t, c, "files_file", o)
	want(t, "drift", o.Text("content"), "by hand")

	_, err := c.Apply(t.Context(), "files_file", o, `{"path": "b.txt"}`)
	if err == nil || !strings.Contains(err.Error(), "must be replaced") {
		t.Errorf("another path: got %v", err)
	}
	if err := c.Destroy(t.Context(), "files_file", o); err != nil {
		t.Fatal(err)
	}
	want(t, "file", onDisk(t, file), "gone")
	want(t, "object", read(t, c, "files_file", o).Text("id"), "gone")
}

func TestFileErrors(t *testing.T) {
	c, root := start(t)
	write(t, filepath.Join(root, "mine"), "mine")
	for config, message := range map[string]string{
		`{"path": "../x"}`:           "leads out of the root folder",
		`{"path": "/etc"}`:           "leads out of the root folder",
		`{"path": "a//b"}`:           "can be written shorter",
		`{"path": "mine"}`:           "already exists",
		`{"path": "no/x"}`:           "no such file",
		`{"path": "x", "mode": "9"}`: "not a file mode",
		`{"path": "x", "content": "a", "sensitive_content": "b"}`: "Set only one",
		`{"path": "x", "content_wo_version": 1}`:                  "content_wo",
	} {
		if _, err := c.Apply(t.Context(), "files_file", nil, config); err == nil ||
			!strings.Contains(err.Error(), message) {
			t.Errorf("%s: got error %v, want %q", config, err, message)
		}
	}
	want(t, "the file of somebody else", onDisk(t, filepath.Join(root, "mine")), "mine")
	apply(t, c, "files_file", nil, `{"path": "mine", "content": "ours", "overwrite": true}`)
	want(t, "the file, overwritten", onDisk(t, filepath.Join(root, "mine")), "ours")
}

func TestWriteOnlyContent(t *testing.T) {
	c, root := start(t)
	file := filepath.Join(root, "s")
	o := apply(t, c, "files_file", nil, `{"path": "s", "content_wo": "secret", "content_wo_version": 1}`)
	want(t, "file", onDisk(t, file), "secret")
	want(t, "what is stored", o.Text("content_wo")+" "+o.Text("content"), "null null")

	o = apply(t, c, "files_file", read(t, c, "files_file", o),
		`{"path": "s", "content_wo": "other", "content_wo_version": 1, "mode": "0600"}`)
	want(t, "file of the same version", onDisk(t, file), "secret")
	o = apply(t, c, "files_file", o, `{"path": "s", "content_wo": "other", "content_wo_version": 2, "mode": "0600"}`)
	want(t, "file of a new version", onDisk(t, file), "other")

	write(t, file, "by hand")
	o = read(t, c, "files_file", o)
	want(t, "drift in state", o.Text("content"), "null")
	apply(t, c, "files_file", o, `{"path": "s", "content_wo": "other", "content_wo_version": 2, "mode": "0600"}`)
	want(t, "file after drift", onDisk(t, file), "other")
}

func TestImportAndUpgrade(t *testing.T) {
	c, root := start(t)
	write(t, filepath.Join(root, "a"), "text")
	o, err := c.Import(t.Context(), "files_file", "a")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "imported", o.Text("content")+" "+o.Text("mode"), "text 0644")

	o, err = c.Upgrade(t.Context(), "files_file", 0, `{"id": "a", "filename": "a", "contents": "text"}`)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "upgraded", o.Text("path")+" "+o.Text("content"), "a text")
}

func TestMove(t *testing.T) {
	c, root := start(t)
	write(t, filepath.Join(root, "a"), "text")
	resp, err := c.Server.MoveResourceState(t.Context(), &tfprotov6.MoveResourceStateRequest{
		SourceProviderAddress: "example.com/tofu/files", SourceTypeName: "files_document",
		SourceState:    &tfprotov6.RawState{JSON: []byte(`{"id": "a", "path": "a", "text": "text"}`)},
		TargetTypeName: "files_file",
	})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatal(err, resp.Diagnostics)
	}
	typ := c.Type("files_file")
	v, err := resp.TargetState.Unmarshal(typ)
	if err != nil {
		t.Fatal(err)
	}
	o := read(t, c, "files_file", &prototest.Object{Value: v, Private: resp.TargetPrivate,
		Identity: resp.TargetIdentity})
	want(t, "moved", o.Text("content"), "text")
}

func TestFolder(t *testing.T) {
	c, root := start(t)
	o := apply(t, c, "files_folder", nil, `{"path": "d"}`)
	write(t, filepath.Join(root, "d", "x"), "")
	if err := c.Destroy(t.Context(), "files_folder", o); err == nil {
		t.Error("a non-empty folder was deleted")
	}
	o = apply(t, c, "files_folder", o, `{"path": "d", "force_destroy": true, "mode": "0700"}`)
	want(t, "mode", read(t, c, "files_folder", o).Text("mode"), "0700")
	if err := c.Destroy(t.Context(), "files_folder", o); err != nil {
		t.Error(err)
	}
	want(t, "folder", read(t, c, "files_folder", o).Text("id"), "gone")
}

func TestTree(t *testing.T) {
	c, root := start(t)
	const files = `"files": {"a": {"content": "one", "mode": null, "sha256": null}, "b": {"content": "", "mode": ` +
		`"0600", "sha256": null}}`
	o := apply(t, c, "files_tree", nil, `{"path": "t", `+files+`, "links": [{"name": "l", "target": "a"}]}`)
	want(t, "summary", o.Text("summary"), "{bytes=3 count=2}")
	want(t, "sum", o.Text("files.a.sha256"), content{text: "one"}.sha256())
	want(t, "link", onDisk(t, filepath.Join(root, "t", "l")), "one")

	write(t, filepath.Join(root, "t", "extra"), "x")
	o = read(t, c, "files_tree", o)
	want(t, "drift", o.Text("summary.count"), "3")
	o = apply(t, c, "files_tree", o, `{"path": "t", `+files+`}`)
	want(t, "extra file", onDisk(t, filepath.Join(root, "t", "extra")), "gone")
	want(t, "link", o.Text("links"), "null")

	_, err := c.Apply(t.Context(), "files_tree", o, `{"path": "t", `+files+`, "limits": {"max_files": 1}}`)
	if err == nil || !strings.Contains(err.Error(), "Too many files") {
		t.Errorf("limit: got %v", err)
	}
}

func TestFailures(t *testing.T) {
	t.Setenv("FILES_FAIL", "create:early,create-done:late")
	c, root := start(t)
	if o, err := c.Apply(t.Context(), "files_file", nil, `{"path": "early"}`); err == nil || o != nil {
		t.Errorf("early: got %v, %v", o.Text("id"), err)
	}
	want(t, "early", onDisk(t, filepath.Join(root, "early")), "gone")
	if o, err := c.Apply(t.Context(), "files_file", nil, `{"path": "late"}`); err == nil || o.Text("id") != "late" {
		t.Errorf("late: got %v, %v", o.Text("id"), err)
	}
	want(t, "late", onDisk(t, filepath.Join(root, "late")), "")
}

func TestProtocol5HasNoNestedAttributes(t *testing.T) {
	server := providerserver.NewProtocol5(New(Options{Protocol5: true}))()
	resp, err := server.GetProviderSchema(t.Context(), nil)
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatal(err, resp.Diagnostics)
	}
	if _, ok := resp.ResourceSchemas["files_file"]; !ok {
		t.Error("files_file is missing")
	}
}

func TestSecret(t *testing.T) {
	c, root := start(t)
	typ := tftypes.Object{AttributeTypes: map[string]tftypes.Type{"path": tftypes.String, "value": tftypes.String,
		"renew_seconds": tftypes.Number}}
	config, err := tfprotov6.NewDynamicValue(typ, tftypes.NewValue(typ, map[string]tftypes.Value{
		"path": tftypes.NewValue(tftypes.String, "s"), "value": tftypes.NewValue(tftypes.String, nil),
		"renew_seconds": tftypes.NewValue(tftypes.Number, 60),
	}))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := c.Server.OpenEphemeralResource(t.Context(),
		&tfprotov6.OpenEphemeralResourceRequest{TypeName: "files_secret", Config: &config})
	if err != nil || len(opened.Diagnostics) > 0 {
		t.Fatal(err, opened.Diagnostics)
	}
	if text := onDisk(t, filepath.Join(root, "s")); len(text) < 20 || opened.RenewAt.IsZero() {
		t.Errorf("opened: file %q, renewal at %s", text, opened.RenewAt)
	}
	closed, err := c.Server.CloseEphemeralResource(t.Context(),
		&tfprotov6.CloseEphemeralResourceRequest{TypeName: "files_secret", Private: opened.Private})
	if err != nil || len(closed.Diagnostics) > 0 {
		t.Fatal(err, closed.Diagnostics)
	}
	want(t, "closed", onDisk(t, filepath.Join(root, "s")), "gone")
}

func TestFrontMatter(t *testing.T) {
	tests := []struct{ text, title, body, bad string }{
		{"plain\n", "", "plain\n", ""},
		{"---\ntitle: Hello: you\n---\nbody\n", "Hello: you", "body\n", ""},
		{"---\ntitle: x\n", "", "", "has no end"},
		{"---\ntitle\n---\n", "", "", "is not of the form"},
	}
	for _, test := range tests {
		p, bad := splitFrontMatter(test.text)
		if test.bad != "" {
			if !strings.Contains(bad, test.bad) {
				t.Errorf("%q: got %q", test.text, bad)
			}
			continue
		}
		want(t, "title of "+test.text, p.Fields["title"], test.title)
		want(t, "body of "+test.text, p.Body, test.body)
	}
}
