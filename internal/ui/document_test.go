package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

// TestConfig compares JSON documents of configurations with golden files. Each archive contains
// the files of all modules.
func TestConfig(t *testing.T) {
	schemas := testSchemas(t)
	golden(t, "config", func(t *testing.T, files map[string]string) map[string]string {
		dir := t.TempDir()
		for name, text := range files {
			if !strings.HasSuffix(name, ".tf") && !strings.HasSuffix(name, ".tf.json") {
				continue
			}
			testenv.WriteFile(t, filepath.Join(dir, name), text)
		}
		cfg, err := configs.LoadRoot(t.Context(), dir,
			&configs.LoadOptions{Resolve: func(_ context.Context, r *configs.ModuleRequest) (configs.ResolvedModule, error) {
				if r.Source.Kind == addrs.LocalModule {
					return configs.ResolvedModule{Dir: r.LocalDir()}, nil
				}
				return configs.ResolvedModule{Dir: filepath.Join(r.Parent.Module.Dir, r.Call.Name)}, nil
			}}, tfdiags.Drop)
		if err != nil {
			t.Fatal(err)
		}
		var tree, module bytes.Buffer
		if err := WriteConfig(&tree, cfg, schemas); err != nil {
			t.Fatal(err)
		}
		if err := WriteModule(&module, cfg.Module); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"document": indented(t, tree.Bytes()), "module": indented(t, module.Bytes()),
			"keys": keysOf(t, cfg)}
	})
}

// keysOf returns the entries of provider configurations, and the keys that resources use to
// refer to them. It checks that the entry for a resource has the resource's provider. If the
// entry has a provider block, it checks that the resource uses this block.
func keysOf(t *testing.T, root *configs.Config) string {
	t.Helper()
	var out strings.Builder
	c := &configWriter{nil, true, make(map[string]*providerEntry)}
	tree := c.module(root, nil)
	for _, key := range slices.Sorted(maps.Keys(c.entries)) {
		e := c.entries[key]
		fmt.Fprintf(&out, "entry %s: %s name %q alias %q in %q\n", key, e.FullName, e.Name, e.Alias, e.ModuleAddress)
	}
	blocks := make(map[string]bool)
	for cfg := range root.AllModules() {
		for local := range cfg.Module.Providers {
			blocks[providerKey(local, cfg.Path)] = true
		}
	}
	var walk func(cfg *configs.Config, doc *configModule)
	walk = func(cfg *configs.Config, doc *configModule) {
		for i, addr := range cfg.Module.SortedResources() {
			r, key := cfg.Module.Resources[addr], doc.Resources[i].ProviderConfigKey
			fmt.Fprintf(&out, "%s: %s\n", addr.In(cfg.Path), key)
			use, _ := cfg.ProviderOf(r)
			switch e := c.entries[key]; {
			case e == nil || e.FullName != r.ProviderAddr.String():
				t.Errorf("%s of %s is served by %s, not by %v", addr, cfg.Path, r.ProviderAddr, e)
			case blocks[key] && (e.ModuleAddress != use.Config.Module.String() || e.Alias != use.Config.Alias):
				t.Errorf("%s of %s is served by %v, not by %v", addr, cfg.Path, use.Config, e)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(cfg.Children)) {
			walk(cfg.Children[name], doc.Calls[name].Module)
		}
	}
	walk(root, tree)
	return out.String()
}

// TestSchemas reads a schema document, writes it again, and checks that the two are equal.
func TestSchemas(t *testing.T) {
	text, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := WriteSchemas(&got, loadSchemas(t, text)); err != nil {
		t.Fatal(err)
	}
	var want, back any
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(back, want) {
		t.Errorf("got %s", indented(t, got.Bytes()))
	}
	builtin := map[addrs.Provider]*providers.Schema{addrs.BuiltinTerraform: {Provider: loadBlock(nil)}}
	got.Reset()
	if err := WriteSchemas(&got, builtin); err != nil {
		t.Fatal(err)
	}
	if want := `{"format_version":"1.0","provider_schemas":{"terraform.io/builtin/terraform":{"provider":{"version":0}}}}` + "\n"; got.String() != want {
		t.Errorf("got %s", got.String())
	}
}

func TestFunctions(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFunctions(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Version    string                `json:"format_version"`
		Signatures map[string]*signature `json:"function_signatures"`
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	upper, core := doc.Signatures["upper"], doc.Signatures["core::upper"]
	if upper == nil || !reflect.DeepEqual(upper, core) {
		t.Fatalf("got %+v and %+v", upper, core)
	}
	if string(upper.ReturnType) != `"string"` || len(upper.Parameters) != 1 ||
		string(upper.Parameters[0].Type) != `"string"` || upper.Description == "" {
		t.Errorf("got %+v", upper)
	}
	if merge := doc.Signatures["merge"]; merge.Variadic == nil || !merge.Variadic.IsNullable {
		t.Errorf("got %+v", merge)
	}
}

func TestVersion(t *testing.T) {
	var b bytes.Buffer
	if err := WriteVersion(&b, VersionInfo{Version: "1.12.6", Platform: "linux_amd64",
		Engine:    version.Info{Name: "tofu", Version: "9.9", Commit: "abc"},
		Providers: map[string]string{cloud.String(): "1.0.0"}}); err != nil {
		t.Fatal(err)
	}
	want := `{
  "engine": {"commit":"abc","name":"tofu","version":"9.9"},
  "format_version": "1.0",
  "platform": "linux_amd64",
  "provider_selections": {"registry.opentofu.org/example/cloud":"1.0.0"},
  "terraform_version": "1.12.6"
}`
	if got := strings.TrimSpace(indented(t, b.Bytes())); got != want {
		t.Errorf("got %s", got)
	}
}

// TestSecretsOfReplacements checks where a JSON plan marks an attribute as sensitive that only the
// schema declares sensitive. The map of the change always marks it. For replacements and reads, the
// map of the planned values marks it only if the value itself is marked.
func TestSecretsOfReplacements(t *testing.T) {
	secret := cty.StringVal("hush").Mark(marks.Sensitive)
	for _, c := range []struct {
		action   plans.Action
		password cty.Value
		want     bool
	}{
		{plans.DeleteThenCreate, cty.NullVal(cty.String), false},
		{plans.CreateThenDelete, cty.UnknownVal(cty.String), false},
		{plans.Read, cty.UnknownVal(cty.String), false},
		{plans.DeleteThenCreate, cty.NullVal(cty.String).WithSameMarks(secret), true},
		{plans.DeleteThenCreate, cty.UnknownVal(cty.String).WithSameMarks(secret), true},
		{plans.DeleteThenCreate, cty.StringVal("hush"), false},
		{plans.DeleteThenCreate, secret, true},
		{plans.Update, cty.NullVal(cty.String), true},
	} {
		view := bigPlan(t, 1)
		change := view.Plan.Changes.Instances[0]
		change.Action = c.action
		attrs := change.After.AsValueMap()
		attrs["password"] = c.password
		change.After = cty.ObjectVal(attrs)
		var out bytes.Buffer
		if err := WritePlan(&out, view, "1", version.Info{Name: "tofu", Version: "1"}); err != nil {
			t.Fatal(err)
		}
		planned, changes, _ := strings.Cut(out.String(), `"resource_changes"`)
		if got := strings.Contains(planned, `"password":true`); got != c.want {
			t.Errorf("%s with %#v: password sensitive %v, want %v", c.action, c.password, got, c.want)
		}
		if !strings.Contains(changes, `"password":true`) {
			t.Errorf("%s with %#v: the change doesn't call the password sensitive", c.action, c.password)
		}
	}
}

func TestWritersReportErrors(t *testing.T) {
	full := &limited{left: 10}
	view := bigPlan(t, 2000)
	for name, write := range map[string]func(io.Writer) error{
		"plan": func(w io.Writer) error { return WritePlan(w, view, "1", version.Info{Name: "tofu", Version: "1"}) },
		"state": func(w io.Writer) error {
			return WriteState(w, &StateView{State: testState(), Schemas: view.Schemas}, "1")
		},
		"json": func(w io.Writer) error { return WriteVersion(w, VersionInfo{}) },
	} {
		if err := write(full); err == nil {
			t.Errorf("%s: no error on a full disk", name)
		}
	}
}

// limited is a writer that fails after it has written the number of bytes in left.
type limited struct{ left int }

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, io.ErrShortWrite
	}
	l.left -= len(p)
	return len(p), nil
}

// bigPlan returns a plan that updates n servers in modules of a hundred.
func bigPlan(t testing.TB, n int) *PlanView {
	t.Helper()
	schemas := testSchemas(t)
	ty := schemas.Resource(cloud, addrs.Resource{Mode: addrs.Managed, Type: "cloud_server"}).Block.ImpliedType()
	changes := &plans.Changes{}
	prior := states.New()
	for i := range n {
		before := decodeDoc(ty, map[string]any{
			"id": fmt.Sprintf("i-%d", i), "name": fmt.Sprintf("server-%d", i), "size": 1.0, "password": "hush",
			"tags": map[string]any{"a": "1", "b": "2"}, "ports": []any{80.0, 443.0},
			"disk":   []any{map[string]any{"size": 1.0}},
			"member": []any{}, "label": map[string]any{},
		}, nil, nil)
		attrs := before.AsValueMap()
		attrs["size"], attrs["image"] = cty.NumberIntVal(2), cty.UnknownVal(cty.String)
		module := addrs.RootInstance.Child("m", addrs.IntKey(i/100))
		addr := addrs.Resource{Mode: addrs.Managed, Type: "cloud_server",
			Name: "s"}.InInstance(module).Instance(addrs.IntKey(i))
		changes.Instances = append(changes.Instances, &plans.InstanceChange{Addr: addr, Provider: provided(),
			Action: plans.Update, Before: before, After: cty.ObjectVal(attrs)})
		text, sensitive, err := states.EncodeValue(before, ty)
		if err != nil {
			t.Fatal(err)
		}
		prior.SetCurrent(addr, &states.Object{Attrs: text, SensitivePaths: sensitive}, provided())
	}
	return &PlanView{
		Plan:   &plans.Plan{Changes: changes, Prior: prior},
		Config: &configs.Config{Module: &configs.Module{}}, Schemas: schemas,
	}
}

func BenchmarkPlanDocument(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			view := bigPlan(b, n)
			b.ReportAllocs()
			for b.Loop() {
				if err := WritePlan(io.Discard, view, "1", version.Info{Name: "tofu", Version: "1"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlanText(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			view := bigPlan(b, n)
			p := NewHuman(Options{Out: io.Discard})
			for b.Loop() {
				p.Plan(view)
			}
		})
	}
}

func BenchmarkEvents(b *testing.B) {
	p := NewJSON(Options{Out: io.Discard})
	view := bigPlan(b, 1000)
	for b.Loop() {
		p.Plan(view)
	}
}
