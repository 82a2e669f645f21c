package rootsfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/tfdiags"
)

func load(t *testing.T, text string) (*rootsfile.File, string, error) {
	t.Helper()
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, rootsfile.FileName), []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	f, err := rootsfile.Load(configs.NewParser(nil), dir)
	return f, dir, err
}

const estate = `
locals {
  regions  = toset(["eu", "us"])
  prefix   = "states/${local.company}"
  company  = "acme"
}

defaults {
  tags    = ["all"]
  backend = { key = "${local.prefix}/${self.name}.tfstate", encrypt = true }
}

defaults "prod" {
  var_files = ["${path.root}/prod.tfvars"]
  variables = { size = 3, owner = "ops" }
}

root "network" {
  for_each  = local.regions
  name      = "${each.key}/network"
  path      = "network"
  workspace = each.key
  tags      = ["prod", each.value]
  variables = { size = 5 }
}

root "cluster" {
  for_each  = local.regions
  path      = "cluster"
  variables = merge({ count = 1 }, { vpc = root["${each.key}/network"].vpc_id })
  after     = [root["dns"]]
}

root "dns" {
  variables = {
    all    = { for r in local.regions : r => root["cluster/${r}"].endpoint }
    first  = root["eu/network"]["zone"]
    whole  = root["eu/network"]
    nested = [for id in root["eu/network"].ids : upper(id)]
  }
}
`

// describe returns a root module as lines of text.
func describe(r *rootsfile.Root, dir string) string {
	var b strings.Builder
	rel := func(path string) string {
		return strings.ReplaceAll(filepath.ToSlash(path), filepath.ToSlash(dir), "TOP")
	}
	fmt.Fprintf(&b, "%s in %s workspace %q files %s tags %v key %q encrypt %q\n", r.Name, rel(r.Dir), r.Workspace,
		rel(fmt.Sprint(r.VarFiles)), r.Tags, r.Backend["key"], r.Backend["encrypt"])
	for _, v := range r.Variables {
		fmt.Fprintf(&b, "  %s own %v:", v.Name, v.Own)
		for _, ref := range v.Refs {
			fmt.Fprintf(&b, " %s.%s:%d", ref.Root, ref.Output, ref.Range.Start.Line)
		}
		b.WriteString("\n")
	}
	for _, ref := range r.After {
		fmt.Fprintf(&b, "  after %s:%d\n", ref.Root, ref.Range.Start.Line)
	}
	return b.String()
}

func TestLoad(t *testing.T) {
	f, dir, err := load(t, estate)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, r := range f.Roots {
		got.WriteString(describe(r, dir))
	}
	found, err := f.Found("tools", filepath.Join(dir, "tools"))
	if err != nil {
		t.Fatal(err)
	}
	got.WriteString(describe(found, dir))
	want := `cluster/eu in TOP/cluster workspace "" files [] tags [all] key "states/acme/cluster/eu.tfstate" encrypt "true"
  count own true: eu/network.vpc_id:30
  vpc own true: eu/network.vpc_id:30
  after dns:31
cluster/us in TOP/cluster workspace "" files [] tags [all] key "states/acme/cluster/us.tfstate" encrypt "true"
  count own true: us/network.vpc_id:30
  vpc own true: us/network.vpc_id:30
  after dns:31
dns in TOP/dns workspace "" files [] tags [all] key "states/acme/dns.tfstate" encrypt "true"
  all own true: cluster/eu.endpoint:36 cluster/us.endpoint:36
  first own true: eu/network.zone:37
  nested own true: eu/network.ids:39
  whole own true: eu/network.:38
eu/network in TOP/network workspace "eu" files [TOP/prod.tfvars] tags [all eu prod] key "states/acme/eu/network.tfstate" encrypt "true"
  owner own false:
  size own true:
us/network in TOP/network workspace "us" files [TOP/prod.tfvars] tags [all prod us] key "states/acme/us/network.tfstate" encrypt "true"
  owner own false:
  size own true:
tools in TOP/tools workspace "" files [] tags [all] key "states/acme/tools.tfstate" encrypt "true"
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// TestLimits checks that limits may be computed, and a plain number too.
func TestLimits(t *testing.T) {
	f, _, err := load(t, "locals {\n  n = 4\n}\nparallelism = \"aws=${local.n * 5},${local.n}\"\nprovider_rate = \"x/dns=2.5\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if f.Limits.Calls != 4 || f.Limits.Of["aws"] != 20 || f.Limits.Rates["x/dns"] != 2.5 {
		t.Errorf("%+v", f.Limits)
	}
	if f.ShareProviders {
		t.Error("processes are shared, although the file doesn't say so")
	}
	if f, _, err = load(t, "locals {\n  yes = true\n}\nshare_providers = local.yes"); err != nil || !f.ShareProviders {
		t.Errorf("%+v, %v", f, err)
	}
	if f, _, err = load(t, "parallelism = 7"); err != nil || f.Limits.Calls != 7 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestValues(t *testing.T) {
	f, _, err := load(t, estate)
	if err != nil {
		t.Fatal(err)
	}
	outputs := func(name string) (cty.Value, error) {
		if name == "cluster/us" {
			return cty.DynamicVal, nil
		}
		return cty.ObjectVal(map[string]cty.Value{"vpc_id": cty.StringVal(name + " id").Mark("m"),
			"endpoint": cty.StringVal(name + " endpoint"), "zone": cty.StringVal("z"),
			"ids": cty.ListVal([]cty.Value{cty.StringVal("a")})}), nil
	}
	want := map[string]cty.Value{
		"cluster/eu count": cty.NumberIntVal(1),
		"cluster/eu vpc":   cty.StringVal("eu/network id").Mark("m"),
		"dns all":          cty.ObjectVal(map[string]cty.Value{"eu": cty.StringVal("cluster/eu endpoint"), "us": cty.DynamicVal}),
		"dns nested":       cty.TupleVal([]cty.Value{cty.StringVal("A")}),
	}
	checked := 0
	for _, r := range f.Roots {
		for _, v := range r.Variables {
			got, err := v.Value(outputs)
			if err != nil {
				t.Fatal(err)
			}
			if w, ok := want[r.Name+" "+v.Name]; ok {
				checked++
				if !got.RawEquals(w) {
					t.Errorf("%s of %s is %#v, want %#v", v.Name, r.Name, got, w)
				}
			}
		}
	}
	if checked != len(want) {
		t.Errorf("%d of %d values were checked", checked, len(want))
	}
}

func TestNoFile(t *testing.T) {
	f, err := rootsfile.Load(configs.NewParser(nil), t.TempDir())
	if f != nil || err != nil {
		t.Errorf("got %v, %v", f, err)
	}
}

// TestErrors checks the line and a part of the text of each error.
func TestErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"x = 1", `1: Unsupported argument`},
		{"paralelism = 4", `1: Unsupported argument: Only the arguments exclude, label_limits, parallelism, provider_rate, share_providers can be outside ` +
			`of the blocks locals, defaults and root. Did you mean "parallelism"?`},
		{"share_providers = \"maybe\"", `1: Invalid value: The argument "share_providers" must be true or false.`},
		{"parallelism = \"aws=0\"", `1: Invalid limits: The argument "parallelism" is not valid: "0" must be a whole number`},
		{"parallelism = []", `1: Invalid limits: The argument "parallelism" is not valid: it must be a text`},
		{"\nprovider_rate = 50", `2: Invalid limits: The argument "provider_rate" is not valid: "50" must name a provider`},
		{"rooot \"a\" {\n}", `1: Unsupported block`},
		{"root \"a\" \"b\" {\n}", `1: Unsupported block`},
		{"root \"a\" {\n  pth = \"x\"\n}", `2: Unsupported argument: There is no argument "pth" here. Did you mean "path"?`},
		{"root \"a\" {\n  variables {\n  }\n}", `2: Unsupported block: Blocks are not expected here. Write "variables" as an argument: variables = { … }.`},
		{"root \"a\" {\n}\nroot \"a\" {\n}", `3: Duplicate root module`},
		{"root \"a\" {\n  for_each = toset([\"x\", \"y\"])\n  name = \"z\"\n}", `1: Duplicate root module`},
		{"root \"../a\" {\n}", `1: Invalid name of a root module`},
		{"root \"a*\" {\n}", `1: Invalid name of a root module`},
		{"root \"a\" {\n  path = []\n}", `2: Invalid configuration: The argument "path" must be a string.`},
		{"root \"a\" {\n  tags = { a = [] }\n}", `2: Invalid configuration: The argument "tags" is invalid`},
		{"root \"a\" {\n  workspace = local.x\n}\nlocals {\n  y = 1\n}", `2: Unsupported attribute`},
		{"root \"a\" {\n  workspace = root[\"b\"].x\n}", `2: Outputs are not known here`},
		{"root \"a\" {\n  path = root[\"b\"].x\n}", `2: Outputs are not known here`},
		{"root \"a\" {\n  tags = [each.key]\n}", `2: No for_each`},
		{"root \"a\" {\n  name = \"a-${each.value}\"\n}", `2: No for_each`},
		{"root \"a\" {\n  tags = [foo.key]\n}", `2: Unknown variable`},
		{"root \"a\" {\n  for_each = [1]\n}", `2: Invalid for_each argument`},
		{"root \"a\" {\n  variables = 5\n}", `2: Invalid variables`},
		{"root \"a\" {\n  variables = { x = root.b.y }\n}", `2: Invalid reference to a root module`},
		{"root \"a\" {\n  variables = { x = root }\n}", `2: Invalid reference to a root module`},
		{"root \"a\" {\n  after = [\"b\"]\n}", `2: Invalid reference to a root module: The argument "after" is a list`},
		{"root \"a\" {\n  after = [\n    root[\"b\"],\n    \"c\",\n  ]\n}", `4: Invalid reference to a root module`},
		{"root \"a\" {\n  after = \"b\"\n}", `2: Invalid reference to a root module`},
		{"root \"a\" {\n  variables = { x = [for n in root[\"b\"].names : root[n].y] }\n}", `2: Unknown name of a root module`},
		{"root \"a\" {\n  variables = { x = root[root[\"b\"].name].y }\n}", `2: Unknown name of a root module`},
		{"locals {\n  a = local.b\n  b = local.a\n}", `2: Local values refer to each other: These local values depend on themselves: a, b, a.`},
		{"locals {\n  a = 1\n}\nlocals {\n  a = 2\n}", `5: Duplicate local value`},
		{"root \"a\" {\n  path = nofunction()\n}", `2: Call to unknown function`},
		{"root \"a\" {", `1: Unclosed configuration block`},
	} {
		_, _, err := load(t, c.text)
		if err == nil {
			t.Errorf("no error for %q, want %s", c.text, c.want)
			continue
		}
		if got := strings.Join(problems(err), "\n"); !strings.HasPrefix(got, c.want) {
			t.Errorf("%q: got %s, want %s", c.text, got, c.want)
		}
	}
}

// problems returns the errors as "LINE: summary: detail".
func problems(err error) []string {
	var out []string
	for _, d := range tfdiags.FromError(err) {
		line := 0
		if d.Subject != nil {
			line = d.Subject.Start.Line
		}
		out = append(out, fmt.Sprintf("%d: %s: %s", line, d.Summary, d.Detail))
	}
	return slices.Compact(out)
}

// TestPieces compares the root modules that a whole file declares with those that the pieces for each of them declare.
func TestPieces(t *testing.T) {
	texts := map[string]string{
		"estate":   estate,
		"comments": "/* a\n */ root \"a\" { # x\n  tags = [\"t\"]\n} // y\n\n# between\n  root \"b\" {} # z\nexclude = [\"x\"] /* e\n */\n",
		"heredoc":  "locals {\n  l = <<-E\n    text\n    E\n}\nroot \"a\" {\n  variables = { v = local.l }\n}\nprovider_rate = <<E\nx=1\nE\nroot \"b\" {}\n",
		"elements": "root \"a\" {\n  for_each = toset([ # one\n  \"x\", \"y\",\n]) // two\n  tags = [each.value]\n}\n" +
			"root \"b\" { for_each = merge(\n{ \"k\" = { n = 1, l = [true, null] } }) }\n" +
			"root \"c\" {\n  for_each = {\n    \"k\" = { n = 1, l = [true, null] }\n  }\n  variables = each.value\n}\n",
		"locals": "locals {\n  all = { for k in local.names : k => { path = k } }\n  names = [\"x\", \"y\"]\n  unused = local.names\n}\n" +
			"root \"a\" {\n  for_each = local.all\n  path = each.value.path\n  variables = { l = local.l }\n}\nlocals { l = local.m }\n" +
			"locals { m = 5 }\ndefaults { tags = local.names }\n",
		"paths":     "root \"a\" {\n  for_each = { x = path.root, y = \"${path.root}/y\" }\n  variables = { v = each.value, w = local[\"l\"] }\n}\nlocals { l = 1 }\n",
		"sensitive": "root \"a\" {\n  for_each = { x = { v = sensitive(1) }, y = { v = 2 } }\n  variables = each.value\n}\nroot \"b\" {}\n",
		"line ends": "root \"a\" {\r\n  tags = [\"ä\"]\r\n}\r\nroot \"b\" { path = \"c\" }\r\ndefaults {\r\n  labels = { zone = \"eu\" }\r\n}",
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			whole, dir, err := load(t, text)
			if err != nil {
				t.Fatal(err)
			}
			if len(whole.Roots) < 2 {
				t.Fatalf("the file declares %d root modules", len(whole.Roots))
			}
			found, err := whole.Found("other", filepath.Join(dir, "other"))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range append(whole.Roots, found) {
				size := 0
				if err := os.RemoveAll(filepath.Join(dir, rootsfile.PiecesDir)); err != nil {
					t.Fatal(err)
				}
				for _, p := range r.Pieces() {
					path := filepath.Join(dir, rootsfile.PiecesDir, p.Name)
					if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(path, p.Text, 0o600); err != nil {
						t.Fatal(err)
					}
					size += len(p.Text)
				}
				if size >= len(text) {
					t.Errorf("the pieces for %s have %d bytes, and the file %d", r.Name, size, len(text))
				}
				part, err := rootsfile.LoadPieces(configs.NewParser(nil), dir, []string{r.Name})
				if r == found && (err == nil && len(part.Roots) == 0 || size == 0 && os.IsNotExist(err)) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if len(part.Roots) != 1 {
					t.Fatalf("%s: the pieces declare %d root modules", r.Name, len(part.Roots))
				}
				if got, want := show(part.Roots[0]), show(r); got != want {
					t.Errorf("the pieces declare\n%s\ninstead of\n%s", got, want)
				}
			}
		})
	}
}

// TestPiecesGrow checks that the pieces for a root module have the same size, however many root modules the
// block that declares it has.
func TestPiecesGrow(t *testing.T) {
	size := func(n int) (size int) {
		f, _, err := load(t, fmt.Sprintf("locals {\n  all = { for i in range(%d) : format(\"%%04d\", i) => { size = i } }\n  one = 1\n}\n"+
			"root \"a\" {\n  for_each = local.all\n  variables = { size = each.value.size, one = local.one }\n}\n", n))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range f.Roots[7].Pieces() {
			size += len(p.Text)
		}
		return size
	}
	if few, many := size(10), size(1000); few != many {
		t.Errorf("%d bytes with 10 root modules, and %d with 1,000", few, many)
	}
}

// show returns everything that a file says about a root module.
func show(r *rootsfile.Root) string {
	out := fmt.Sprint(r.File, r.Name, r.Dir, r.Workspace, r.VarFiles, r.Tags, r.Backend, r.Labels, r.After, r.Range, r.BackendRange)
	for _, v := range r.Variables {
		value, err := v.Value(func(string) (cty.Value, error) { return cty.DynamicVal, nil })
		out += fmt.Sprintf("\n%s %v %v %#v %v", v.Name, v.Refs, v.Range, value, err)
	}
	return out
}
