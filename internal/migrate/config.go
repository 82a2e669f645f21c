package migrate

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend/all"
	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// construct is a block or an argument that needs a change or behaves differently. The path consists of
// the types of the blocks around it and its own name.
type construct struct {
	path            string // such as "terraform/cloud"
	kind            Kind
	summary, detail string
}

// constructs lists what is looked for in native syntax.
var constructs = []construct{
	{"policy", Change, "Policies are not evaluated here",
		"Check the output of \"tofu show -json PLAN\" with a policy program, for example OPA or Conftest."},
	{"terraform/experiments", Differs, "Experiments have no effect", "The argument is ignored. Remove it."},
	{"terraform/required_version", Differs, "required_version is not compared with this program's version",
		"The constraint is for the versions of the other program. To constrain this program, use a .tofu file or " +
			"language { compatible_with { opentofu = \">= 1.13\" } }."},
	{"terraform/cloud", Differs, "Operations run here, not in the cloud service",
		"The state is kept in the service; plans and applies run on this machine, with the variables of this machine."},
}

// configuration checks the configuration: first the files of the root module and of local modules, and
// then, if these have no errors, the whole.
func (c *checker) configuration(ctx context.Context) {
	c.module(c.Dir, configs.Queries)
	_, err := c.Parser.TestFiles(c.Dir, configs.DefaultTestDirectory, tfdiags.Drop)
	c.errors(err)
	if (&Report{Findings: c.findings}).Must() {
		return
	}
	root, err := configs.LoadRoot(ctx, c.Dir, &configs.LoadOptions{Parser: c.Parser, Part: configs.Queries,
		Resolve: c.Resolve, Unset: true}, tfdiags.Drop)
	missing := 0
	for _, d := range tfdiags.FromError(err) {
		if d.Summary == "Module not installed" {
			missing++
			continue
		}
		c.fromDiagnostic(d)
	}
	if missing > 0 {
		c.add(Differs, hcl.Range{}, fmt.Sprintf("%s could not be checked", count(missing, "module")),
			"They are not installed. Run \"tofu init -backend=false\" (or init of the other program), and check again.")
	}
	if root != nil && err == nil {
		c.valid(root)
	}
}

// errors adds the errors in a configuration, which have to be changed.
func (c *checker) errors(err error) {
	for _, d := range tfdiags.FromError(err) {
		c.fromDiagnostic(d)
	}
}

// count writes a number and a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// valid says what works in a configuration without errors.
func (c *checker) valid(root *configs.Config) {
	modules, resources := 0, 0
	for m := range root.AllModules() {
		modules++
		resources += len(m.Module.Resources)
	}
	c.add(Works, hcl.Range{Filename: c.Dir}, "The configuration can be read",
		"It has %s with %s. Whether arguments fit the providers, \"tofu validate\" says after \"tofu init\".",
		count(modules, "module"), count(resources, "resource block"))
	if b := root.Module.Backend; b != nil && b.Store != nil {
		c.add(Works, b.Range, fmt.Sprintf("The state store %q", b.Type), "States and locks stay where they are. \"tofu init\" "+
			"installs the provider first, and records the store.")
	} else if b != nil {
		if _, err := all.Driver(b.Type); err != nil {
			for _, d := range tfdiags.FromError(err) {
				c.fromDiagnostic(d.At(b.TypeRange))
			}
		} else {
			c.add(Works, b.Range, fmt.Sprintf("The backend %q", b.Type), "State and locks stay where they are, and both "+
				"programs respect each other's locks.")
		}
	}
	defaults := 0
	var example string
	for p := range root.ProviderRequirements() {
		if p.Host == addrs.DefaultHost && !p.IsBuiltin() {
			defaults, example = defaults+1, p.String()
		}
	}
	if defaults > 0 {
		c.add(Differs, hcl.Range{}, "Providers come from OpenTofu's registry",
			"%s, such as %s, and the sources name no host. The registry has the same packages; \"tofu init\" adds them to the lock "+
				"file, and states that name registry.terraform.io are understood.", count(defaults, "provider"), example)
	}
}

// module looks for constructs in the files of a module and of the local modules that it calls.
func (c *checker) module(dir string, part configs.Part) {
	if c.seen[dir] {
		return
	}
	c.seen[dir] = true
	cfg, err := configs.LoadRootModule(dir, &configs.LoadOptions{Parser: c.Parser, Part: part,
		Called: part == configs.Whole},
		tfdiags.Drop)
	if cfg == nil {
		c.errors(err)
		return
	}
	for _, name := range cfg.Module.Files {
		if strings.HasSuffix(name, ".json") {
			continue
		}
		file, _ := c.Parser.ParseSource(name, c.Parser.Source(name)) // err has the error
		body, ok := file.Body.(*hclsyntax.Body)
		if !ok {
			continue
		}
		for _, block := range body.Blocks {
			c.topBlock(block, dir)
		}
	}
	c.errors(err)
}

func (c *checker) topBlock(block *hclsyntax.Block, dir string) {
	c.block(block, block.Type)
	if block.Type == "resource" || block.Type == "data" || block.Type == "module" {
		c.unknownKeys(block)
	}
	if source := block.Body.Attributes["source"]; block.Type == "module" && source != nil {
		v, diags := source.Expr.Value(nil)
		if !diags.HasErrors() && v.Type() == cty.String && !v.IsNull() && strings.HasPrefix(v.AsString(), ".") {
			c.module(filepath.Join(dir, filepath.FromSlash(v.AsString())), configs.Whole)
		}
	}
}

func (c *checker) block(block *hclsyntax.Block, path string) {
	c.find(path, block.DefRange())
	for name, attr := range block.Body.Attributes {
		c.find(path+"/"+name, attr.NameRange)
	}
	for _, inner := range block.Body.Blocks {
		c.block(inner, path+"/"+inner.Type)
	}
}

func (c *checker) find(path string, at hcl.Range) {
	for _, one := range constructs {
		if one.path == path {
			c.add(one.kind, at, one.summary, "%s", one.detail)
		}
	}
}

// unknownKeys says that an apply defers instances whose keys refer to resources, which may be unknown.
func (c *checker) unknownKeys(block *hclsyntax.Block) {
	for _, name := range []string{"count", "for_each"} {
		attr := block.Body.Attributes[name]
		if attr == nil {
			continue
		}
		for _, tr := range attr.Expr.Variables() {
			switch tr.RootName() {
			case "var", "local", "each", "count", "path", "terraform", "self":
				continue
			}
			c.add(Differs, attr.NameRange, "An unknown "+name+" is deferred",
				"If the value is known only after an apply, the apply plans these instances in a second round instead of "+
					"failing. -defer=false fails as before.")
			return
		}
	}
}
