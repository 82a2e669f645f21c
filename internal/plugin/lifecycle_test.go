package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
)

// testProviders lists test providers for both protocol versions and both SDKs, with one resource
// type of each.
var testProviders = []struct {
	name, typ      string
	version        int
	legacy         bool
	create, update map[string]cty.Value
	file           string // name of the file in which the provider stores the object
}{
	{"files", "files_file", 6, false,
		map[string]cty.Value{"path": cty.StringVal("a.txt"), "content": cty.StringVal("one")},
		map[string]cty.Value{"path": cty.StringVal("a.txt"), "content": cty.StringVal("two")}, "a.txt"},
	{"files5", "files_file", 5, false,
		map[string]cty.Value{"path": cty.StringVal("a.txt"), "content": cty.StringVal("one")},
		map[string]cty.Value{"path": cty.StringVal("a.txt"), "content": cty.StringVal("two")}, "a.txt"},
	{"notes", "notes_note", 5, true,
		map[string]cty.Value{"key": cty.StringVal("n"), "body": cty.StringVal("one"),
			"tags":    cty.SetVal([]cty.Value{cty.StringVal("x")}),
			"section": cty.TupleVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{"heading": cty.StringVal("h")})})},
		map[string]cty.Value{"key": cty.StringVal("n"), "body": cty.StringVal("two")}, "n.json"},
}

// TestLifecycle checks that objects are created, read, updated and deleted. It checks the
// provider's results in the same way as the engine.
func TestLifecycle(t *testing.T) {
	for _, s := range testProviders {
		t.Run(s.name, func(t *testing.T) {
			p, dir := configured(t, s.name)
			if p.version != s.version {
				t.Fatalf("protocol version %d, want %d", p.version, s.version)
			}
			rs := resourceType(t, p, s.typ)
			none := cty.NullVal(rs.Block.ImpliedType())

			created := change(t, p, s.typ, providers.ReadRequest{Prior: none}, object(t, rs.Block, s.create), s.legacy)
			if _, err := os.Stat(filepath.Join(dir, s.file)); err != nil {
				t.Fatalf("nothing was created: %v", err)
			}
			read := p.ReadResource(t.Context(), providers.ReadRequest{Type: s.typ, Prior: created.New,
				Private: created.Private, Identity: created.Identity})
			noErrors(t, read.Diagnostics)
			// The old SDK changes a null map to an empty one.
			if !read.State.RawEquals(created.New) && !s.legacy {
				t.Errorf("reading changes the object:\n%#v\n%#v", created.New, read.State)
			}
			prior := providers.ReadRequest{Type: s.typ, Prior: read.State, Private: read.Private,
				Identity: read.Identity}
			updated := change(t, p, s.typ, prior, object(t, rs.Block, s.update), s.legacy)
			prior = providers.ReadRequest{Type: s.typ, Prior: updated.New, Private: updated.Private,
				Identity: updated.Identity}
			change(t, p, s.typ, prior, none, s.legacy)
			if _, err := os.Stat(filepath.Join(dir, s.file)); !os.IsNotExist(err) {
				t.Errorf("it is still there: %v", err)
			}
			gone := p.ReadResource(t.Context(), prior)
			noErrors(t, gone.Diagnostics)
			if !gone.State.IsNull() {
				t.Errorf("what is gone is read as %#v", gone.State)
			}
		})
	}
}

// change plans a change and applies it.
func change(
	t *testing.T, p *client, typ string, from providers.ReadRequest, config cty.Value, legacy bool,
) providers.ApplyResponse {
	t.Helper()
	rs := resourceType(t, p, typ)
	prior, planned := from.Prior, providers.PlanResponse{Planned: config, Private: from.Private,
		Identity: from.Identity}
	if !config.IsNull() {
		noErrors(t, p.ValidateResource(t.Context(), typ, config))
		planned = p.PlanResourceChange(t.Context(), providers.PlanRequest{
			Type: typ, Prior: prior, Proposed: objchange.Proposed(rs.Block, prior, config), Config: config,
			Private: from.Private, Identity: from.Identity,
		})
		noErrors(t, planned.Diagnostics)
		if planned.LegacyTypes != legacy {
			t.Errorf("legacy types: %v, want %v", planned.LegacyTypes, legacy)
		}
		if errs := objchange.AssertPlanValid(rs.Block, prior, config, planned.Planned); len(errs) > 0 && !legacy {
			t.Errorf("invalid plan: %v", errs)
		}
	}
	applied := p.ApplyResourceChange(t.Context(), providers.ApplyRequest{
		Type: typ, Prior: prior, Planned: planned.Planned, Config: config, Private: planned.Private,
		Identity: planned.Identity,
	})
	noErrors(t, applied.Diagnostics)
	if errs := objchange.AssertCompatible(rs.Block, planned.Planned, applied.New); len(errs) > 0 && !legacy {
		t.Errorf("inconsistent result: %v", errs)
	}
	return applied
}

// TestTwoVersionsAgree checks that a provider has the same schemas with both protocol versions, and
// that write-only and nested attributes are kept.
func TestTwoVersionsAgree(t *testing.T) {
	p6, _ := configured(t, "files")
	p5, _ := configured(t, "files5")
	for _, typ := range []string{"files_file", "files_folder", "files_document"} {
		a, b := resourceType(t, p6, typ), resourceType(t, p5, typ)
		if !a.Block.ImpliedType().Equals(b.Block.ImpliedType()) || a.Version != b.Version {
			t.Errorf("%s differs", typ)
		}
		for name, attr := range a.Block.Attributes {
			other := b.Block.Attributes[name]
			if other == nil || attr.WriteOnly != other.WriteOnly ||
				attr.DeprecationMessage != other.DeprecationMessage || attr.Sensitive != other.Sensitive ||
				attr.Deprecated != other.Deprecated || attr.Description != other.Description {
				t.Errorf("%s.%s differs:\n%+v\n%+v", typ, name, attr, other)
			}
		}
	}
	if file := resourceType(t, p5, "files_file"); !file.Block.Attributes["content_wo"].WriteOnly ||
		!file.Block.ContainsSensitive() {
		t.Error("the write-only attribute is lost in version 5")
	}
	tree := resourceType(t, p6, "files_tree").Block
	if nested := tree.Attributes["files"].NestedType; nested == nil || !nested.Attributes["sha256"].Computed {
		t.Errorf("nested attributes are lost in version 6: %+v", tree.Attributes["files"])
	}
}

func TestDiagnosticsNameAttributes(t *testing.T) {
	for _, name := range []string{"files", "files5"} {
		p, _ := configured(t, name)
		rs := resourceType(t, p, "files_file")
		diags := p.ValidateResource(t.Context(), "files_file", object(t, rs.Block, map[string]cty.Value{
			"path": cty.StringVal("../out"), "mode": cty.StringVal("rw"),
		}))
		var paths []string
		for _, d := range diags {
			paths = append(paths, pathText(d.Path))
		}
		if got := strings.Join(paths, " "); !strings.Contains(got, ".path") || !strings.Contains(got, ".mode") {
			t.Errorf("%s: paths %q in %v", name, got, diags.Err())
		}
	}
}

func pathText(path cty.Path) string {
	var b strings.Builder
	for _, step := range path {
		if attr, ok := step.(cty.GetAttrStep); ok {
			b.WriteString("." + attr.Name)
		} else {
			b.WriteString("[]")
		}
	}
	return b.String()
}

func TestImportMoveUpgrade(t *testing.T) {
	for _, name := range []string{"files", "files5"} {
		t.Run(name, func(t *testing.T) {
			p, dir := configured(t, name)
			if err := os.WriteFile(filepath.Join(dir, "x.txt"), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			rs := resourceType(t, p, "files_file")
			if rs.Identity == nil || !rs.Identity.Attributes["path"].Required {
				t.Fatalf("identity schema: %+v", rs.Identity)
			}
			identity := cty.ObjectVal(map[string]cty.Value{"path": cty.StringVal("x.txt")})
			for _, req := range []providers.ImportRequest{{Type: "files_file", ID: "x.txt"},
				{Type: "files_file", Identity: identity}} {
				imported := p.ImportResourceState(t.Context(), req)
				noErrors(t, imported.Diagnostics)
				if len(imported.Imported) != 1 || imported.Imported[0].Type != "files_file" {
					t.Fatalf("imported %+v", imported.Imported)
				}
				one := imported.Imported[0]
				read := p.ReadResource(t.Context(), providers.ReadRequest{Type: one.Type, Prior: one.State,
					Private: one.Private, Identity: one.Identity})
				noErrors(t, read.Diagnostics)
				if got := read.State.GetAttr("size"); !got.RawEquals(cty.NumberIntVal(4)) ||
					!read.Identity.RawEquals(identity) {
					t.Errorf("read size %#v, identity %#v", got, read.Identity)
				}
			}
			moved := p.MoveResourceState(t.Context(), providers.MoveRequest{
				SourceProvider: address(name).String(), SourceType: "files_document",
				SourceJSON: []byte(`{"id":"x.txt","path":"x.txt","text":"text"}`),
				TargetType: "files_file",
			})
			noErrors(t, moved.Diagnostics)
			if got := moved.State.GetAttr("path"); !got.RawEquals(cty.StringVal("x.txt")) {
				t.Errorf("moved to %#v", got)
			}
			upgraded := p.UpgradeResourceState(t.Context(), providers.UpgradeRequest{
				Type: "files_file", Version: 0, JSON: []byte(`{"id":"x.txt","filename":"x.txt","contents":"text"}`),
			})
			noErrors(t, upgraded.Diagnostics)
			if got := upgraded.Value.GetAttr("content"); !got.RawEquals(cty.StringVal("text")) {
				t.Errorf("upgraded to %#v", upgraded.Value)
			}
		})
	}
}

func TestFunctions(t *testing.T) {
	for _, name := range []string{"files", "files5"} {
		t.Run(name, func(t *testing.T) {
			p, _ := start(t, name)
			functions, diags := p.Functions(t.Context())
			noErrors(t, diags)
			if f := functions["join_path"]; f == nil || len(f.Params) != 1 || f.Variadic == nil ||
				f.Return != cty.String {
				t.Fatalf("join_path is %+v", f)
			}
			call := func(name string, args ...string) (cty.Value, error) {
				vals := make([]cty.Value, len(args))
				for i, arg := range args {
					vals[i] = cty.StringVal(arg)
				}
				return p.CallFunction(t.Context(), name, vals)
			}
			if got, err := call("join_path", "a", "b", "c"); err != nil || !got.RawEquals(cty.StringVal("a/b/c")) {
				t.Errorf("join_path gives %#v, %v", got, err)
			}
			if _, err := call("join_path", "a", "../../.."); err == nil {
				t.Error("no error from join_path")
			} else if _, ok := err.(*providers.FunctionError); !ok {
				t.Errorf("error %T", err)
			}
			if _, err := call("join_path"); err == nil || !strings.Contains(err.Error(), "must be at least 1, not 0") {
				t.Errorf("too few arguments: %v", err)
			}
			if _, err := call("nothing"); err == nil || !strings.Contains(err.Error(), `no function "nothing"`) {
				t.Errorf("no such function: %v", err)
			}
		})
	}
}

func TestEphemeralAndData(t *testing.T) {
	for _, name := range []string{"files", "files5"} {
		t.Run(name, func(t *testing.T) {
			p, dir := configured(t, name)
			schema, _ := p.Schema(t.Context())
			config := object(t, schema.Ephemerals.Type("files_secret").Block, map[string]cty.Value{
				"path": cty.StringVal("s"), "value": cty.StringVal("v"), "renew_seconds": cty.NumberIntVal(60),
			})
			noErrors(t, p.ValidateEphemeral(t.Context(), "files_secret", config))
			opened := p.OpenEphemeral(t.Context(), "files_secret", config)
			noErrors(t, opened.Diagnostics)
			if wait := time.Until(opened.RenewAt); wait < 50*time.Second || wait > 70*time.Second {
				t.Errorf("renewal in %s", wait)
			}
			noErrors(t, p.RenewEphemeral(t.Context(), "files_secret", opened.Private).Diagnostics)

			data := object(t, schema.DataSources.Type("files_file").Block,
				map[string]cty.Value{"path": cty.StringVal("s")})
			noErrors(t, p.ValidateDataSource(t.Context(), "files_file", data))
			read := p.ReadDataSource(t.Context(), providers.ReadDataRequest{Type: "files_file", Config: data})
			noErrors(t, read.Diagnostics)
			if got := read.State.GetAttr("content"); !got.RawEquals(cty.StringVal("v")) {
				t.Errorf("read %#v", got)
			}
			noErrors(t, p.CloseEphemeral(t.Context(), "files_secret", opened.Private))
			if _, err := os.Stat(filepath.Join(dir, "s")); !os.IsNotExist(err) {
				t.Errorf("not closed: %v", err)
			}
		})
	}
}

func TestUnknownType(t *testing.T) {
	p, _ := start(t, "files")
	resp := p.ReadResource(t.Context(), providers.ReadRequest{Type: "files_nothing", Prior: cty.EmptyObjectVal})
	if err := resp.Diagnostics.Err(); err == nil || !strings.Contains(err.Error(), `no resource type "files_nothing"`) {
		t.Errorf("got %v", err)
	}
}
