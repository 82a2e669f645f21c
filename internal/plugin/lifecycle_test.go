package plugin

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plans/objchange"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
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

// TestTwoVersionsAnswerAlike makes the same calls with both protocol versions. All results must be the
// same: values, private data, identities, attributes that require replacement, and errors.
func TestTwoVersionsAnswerAlike(t *testing.T) {
	if diff := cmp.Diff(transcript(t, "files"), transcript(t, "files5")); diff != "" {
		t.Errorf("version 5 differs (-6 +5):\n%s", diff)
	}
}

// transcript calls all methods of a test provider, also with mistakes, and returns the results as text.
func transcript(t *testing.T, name string) []string {
	t.Helper()
	p, dir := configured(t, name)
	ctx := t.Context()
	var out []string
	add := func(call string, result any, diags tfdiags.Diagnostics) {
		text := fmt.Sprintf("%s: %#v", call, result)
		var problems []string
		for _, d := range diags {
			problems = append(problems, fmt.Sprintf("\n%v %s: %s (%s)", d.Severity, d.Summary, d.Detail, pathText(d.Path)))
		}
		slices.Sort(problems) // providers validate attributes in any order
		out = append(out, strings.ReplaceAll(text+strings.Join(problems, ""), dir, "DIR"))
	}
	schema, diags := p.Schema(ctx)
	add("schema", []bool{schema.PlanDestroy, schema.MoveResource}, diags)
	blocks := map[string]*providers.ResourceSchema{}
	for kind, types := range map[string]providers.TypeTable{"data": schema.DataSources, "ephemeral": schema.Ephemerals} {
		for _, typ := range types.Names() {
			blocks[kind+" "+typ] = types.Type(typ)
		}
	}
	for _, typ := range slices.Sorted(maps.Keys(blocks)) {
		add("schema of "+typ, blocks[typ].Block.ImpliedType(), nil)
	}

	const typ = "files_file"
	file := resourceType(t, p, typ)
	add("identity", file.Identity.ImpliedType(), nil)
	none := cty.NullVal(file.Block.ImpliedType())
	config := func(path, content, mode string) cty.Value {
		return object(t, file.Block, map[string]cty.Value{"path": cty.StringVal(path), "content": cty.StringVal(content),
			"mode": cty.StringVal(mode)})
	}
	prior := providers.ReadRequest{Type: typ, Prior: none}
	step := func(call string, config cty.Value) {
		proposed := config
		if !config.IsNull() {
			diags := p.ValidateResource(ctx, typ, config)
			add("validate "+call, nil, diags)
			if diags.HasErrors() {
				return
			}
			proposed = objchange.Proposed(file.Block, prior.Prior, config)
		}
		planned := p.PlanResourceChange(ctx, providers.PlanRequest{Type: typ, Prior: prior.Prior, Proposed: proposed,
			Config: config, Private: prior.Private, Identity: prior.Identity})
		diags := planned.Diagnostics
		planned.Diagnostics = nil
		add("plan "+call, planned, diags)
		if diags.HasErrors() {
			return
		}
		applied := p.ApplyResourceChange(ctx, providers.ApplyRequest{Type: typ, Prior: prior.Prior, Config: config,
			Planned: planned.Planned, Private: planned.Private, Identity: planned.Identity})
		diags = applied.Diagnostics
		applied.Diagnostics = nil
		add("apply "+call, applied, diags)
		if diags.HasErrors() || applied.New.IsNull() {
			return
		}
		read := p.ReadResource(ctx, providers.ReadRequest{Type: typ, Prior: applied.New, Private: applied.Private,
			Identity: applied.Identity})
		diags = read.Diagnostics
		read.Diagnostics = nil
		add("read "+call, read, diags)
		prior = providers.ReadRequest{Type: typ, Prior: read.State, Private: read.Private, Identity: read.Identity}
	}
	step("wrong arguments", config("../out", "x", "rw"))
	step("without directory", config("no/a.txt", "x", "0644"))
	step("new", config("a.txt", "one", "0644"))
	step("changed", config("a.txt", "two", "0666"))
	moving := p.PlanResourceChange(ctx, providers.PlanRequest{Type: typ, Prior: prior.Prior, Private: prior.Private,
		Config: config("b.txt", "two", "0666"), Identity: prior.Identity,
		Proposed: objchange.Proposed(file.Block, prior.Prior, config("b.txt", "two", "0666"))})
	add("plan replacement", moving.RequiresReplace, moving.Diagnostics)

	for _, id := range []string{"a.txt", "none.txt"} {
		imported := p.ImportResourceState(ctx, providers.ImportRequest{Type: typ, ID: id})
		add("import "+id, imported.Imported, imported.Diagnostics)
	}
	moved := p.MoveResourceState(ctx, providers.MoveRequest{SourceProvider: address(name).String(),
		SourceType: "files_document", SourceJSON: []byte(`{"id":"x","path":"x","text":"text"}`), TargetType: typ})
	add("move", []cty.Value{moved.State, moved.Identity}, moved.Diagnostics)
	for _, old := range []string{`{"id":"x","filename":"x","contents":"text"}`, `{"filename":1}`, `[]`} {
		upgraded := p.UpgradeResourceState(ctx, providers.UpgradeRequest{Type: typ, JSON: []byte(old)})
		add("upgrade "+old, upgraded.Value, upgraded.Diagnostics)
	}

	data := func(path string) cty.Value {
		return object(t, schema.DataSources.Type(typ).Block, map[string]cty.Value{"path": cty.StringVal(path)})
	}
	for _, path := range []string{"a.txt", "none.txt", "../out"} {
		diags := p.ValidateDataSource(ctx, typ, data(path))
		add("validate data "+path, nil, diags)
		if diags.HasErrors() {
			continue
		}
		read := p.ReadDataSource(ctx, providers.ReadDataRequest{Type: typ, Config: data(path)})
		add("data "+path, read.State, read.Diagnostics)
	}
	secret := object(t, schema.Ephemerals.Type("files_secret").Block, map[string]cty.Value{
		"path": cty.StringVal("s"), "value": cty.StringVal("v"), "renew_seconds": cty.NumberIntVal(60)})
	add("validate ephemeral", nil, p.ValidateEphemeral(ctx, "files_secret", secret))
	opened := p.OpenEphemeral(ctx, "files_secret", secret)
	add("open", opened.Result, opened.Diagnostics)
	renewed := p.RenewEphemeral(ctx, "files_secret", opened.Private)
	add("renew", renewed.RenewAt.IsZero(), renewed.Diagnostics)
	add("close", nil, p.CloseEphemeral(ctx, "files_secret", opened.Private))

	functions, diags := p.Functions(ctx)
	add("functions", slices.Sorted(maps.Keys(functions)), diags)
	for _, call := range []struct {
		name string
		args []cty.Value
	}{
		{"join_path", []cty.Value{cty.StringVal("a"), cty.StringVal("b")}},
		{"join_path", []cty.Value{cty.StringVal("a"), cty.StringVal("../../..")}},
		{"sha256_of", []cty.Value{cty.StringVal("a")}},
		{"front_matter", []cty.Value{cty.StringVal("---\ntitle: t\n---\nbody")}},
	} {
		v, err := p.CallFunction(ctx, call.name, call.args)
		if wrong, ok := err.(*providers.FunctionError); ok {
			add(call.name, *wrong, nil)
			continue
		}
		add(call.name, []any{v, err}, nil)
	}
	step("deleted", none)
	return out
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
