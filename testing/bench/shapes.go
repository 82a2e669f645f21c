package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// resource is the resource type that shapes use. in is the name of an attribute that is an
// argument. out is the name of an attribute that has the same value after the apply.
type resource struct {
	typ, in, out string
	needsMirror  bool
}

var resources = []resource{
	{typ: "terraform_data", in: "input", out: "output"},
	{typ: "synth_t0", in: "input", out: "output", needsMirror: true},
}

const synthRequired = "terraform {\n  required_providers {\n    synth = { source = \"example.com/tofu/synth\" " +
	"}\n  }\n}\n"

// shape is one way in which a configuration can be large.
type shape struct {
	name, about string
	write       func(m *module, n int)
	needsMirror bool
	fixed       bool // whether the shape does not depend on the size; "all" does not include such shapes
}

var shapes = []shape{
	{name: "wide", about: "N independent resource blocks", write: wide},
	{name: "layers", about: "N blocks in layers of 100, each referring to 3 blocks of the previous layer", write: layers},
	{name: "chain", about: "N blocks, each referring to the previous one", write: chain},
	{name: "sequence", about: "a block with N instances, each referring to the previous one", write: sequence},
	{name: "count", about: "a block with N instances, and one that refers to each of them by index (2N instances)",
		write: counted},
	{name: "foreach", about: "a block with for_each over N keys, and one over the first block (2N instances)",
		write: forEach},
	{name: "modules", about: "N/20 calls of a module of 20 blocks that refer to each other", write: modules},
	{name: "variables", about: "N/16 calls of a module with 60 variables and one block (500 calls at 8000)",
		write: variables},
	{name: "moduledeps", about: "chains of 50 calls of a module of 20 blocks, each depends_on the previous call",
		write: moduleDeps},
	{name: "nested", about: "N/20 module instances (for_each) with a for_each over 20 keys", write: nested},
	{name: "splat", about: "a block with N instances, and 100 blocks that refer to all of them with a splat",
		write: splat},
	{name: "realistic", about: "N blocks of 330 bytes with a nested object and a reference, and 4.5 kB of state each",
		write: realistic},
	{name: "outputs", about: "a block with N instances, and 10 outputs that list all of them", write: outputs},
	{name: "deferred", about: "N blocks that are deferred, because they refer to a block whose count is unknown",
		write: deferred},
	{name: "data", about: "N data sources", write: dataSources, needsMirror: true},
	{name: "one", about: "one resource of a provider with 1,500 types", write: oneOfMany, needsMirror: true,
		fixed: true},
	{name: "aliases", about: "20 configurations of that provider, with one resource each", write: aliases,
		needsMirror: true, fixed: true},
}

func describe() string {
	var b strings.Builder
	for _, s := range shapes {
		fmt.Fprintf(&b, "  %-11s %s\n", s.name, s.about)
	}
	return b.String()
}

// module writes the files of a module. Its method close returns the first error that has occurred.
type module struct {
	*bufio.Writer
	dir string
	res resource
	f   *os.File
	err error
}

// newModule creates a directory and the beginning of the file main.tf in it.
func newModule(dir string, r resource) *module {
	m := &module{dir: dir, res: r}
	m.err = os.MkdirAll(dir, 0o755)
	if m.err == nil {
		m.f, m.err = os.Create(filepath.Join(dir, "main.tf"))
	}
	m.Writer = bufio.NewWriter(m.f)
	if r.needsMirror {
		m.printf("%s", synthRequired)
	}
	return m
}

// synth writes the provider requirement, unless newModule has written it.
func (m *module) synth() {
	if !m.res.needsMirror {
		m.printf("%s", synthRequired)
	}
}

func (m *module) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(m, format, args...) // Flush returns the error, because a bufio.Writer keeps it
}

// child writes a child module in the subdirectory mod.
func (m *module) child(write func(*module)) {
	c := newModule(filepath.Join(m.dir, "mod"), m.res)
	write(c)
	m.err = errors.Join(m.err, c.close())
}

func (m *module) close() error {
	if m.err != nil {
		return m.err
	}
	return errors.Join(m.Flush(), m.f.Close())
}

// block writes a resource whose value is the given expression, after the meta-arguments in meta.
func (m *module) block(name, value string, meta ...string) {
	m.printf("resource %q %q {\n", m.res.typ, name)
	for _, line := range meta {
		m.printf("  %s\n", line)
	}
	if m.res.needsMirror {
		m.printf("  name  = %q\n", name)
	}
	m.printf("  %s = %s\n}\n", m.res.in, value)
}

// ref returns a reference to the value of a resource. name may include an index.
func (m *module) ref(name string) string { return m.res.typ + "." + name + "." + m.res.out }

// keys returns an expression for a set of n strings. The expression nests two calls of range,
// because one call returns at most 1,024 elements.
func keys(n int) string {
	return fmt.Sprintf("toset(slice(flatten([for a in range(%d) : [for b in range(%d) : \"k${a}-${b}\"]]), 0, %d))",
		(n+999)/1000, min(n, 1000), n)
}

func wide(m *module, n int) {
	for i := range n {
		m.block(fmt.Sprintf("r%d", i), fmt.Sprintf(`"value-%d"`, i))
	}
}

func layers(m *module, n int) {
	for i := range n {
		if i < 100 {
			m.block(fmt.Sprintf("r%d", i), fmt.Sprintf(`"value-%d"`, i))
			continue
		}
		base := (i/100 - 1) * 100
		var parts []string
		for _, k := range []int{1, 7, 31} {
			parts = append(parts, fmt.Sprintf("${substr(tostring(%s), 0, 8)}", m.ref(fmt.Sprintf("r%d", base+i*k%100))))
		}
		m.block(fmt.Sprintf("r%d", i), `"`+strings.Join(parts, "-")+`"`)
	}
}

func chain(m *module, n int) {
	m.block("r0", `"value-0"`)
	for i := 1; i < n; i++ {
		m.block(fmt.Sprintf("r%d", i), m.ref(fmt.Sprintf("r%d", i-1)))
	}
}

func sequence(m *module, n int) {
	m.block("r", fmt.Sprintf(`count.index == 0 ? "value-0" : %s`, m.ref("r[count.index - 1]")),
		fmt.Sprintf("count = %d", n))
}

func counted(m *module, n int) {
	m.block("a", `"value-${count.index}"`, fmt.Sprintf("count = %d", n))
	m.block("b", m.ref("a[count.index]"), fmt.Sprintf("count = %d", n))
}

func forEach(m *module, n int) {
	m.printf("locals {\n  keys = %s\n}\n", keys(n))
	m.block("a", "each.key", "for_each = local.keys")
	m.block("b", "each.value."+m.res.out, fmt.Sprintf("for_each = %s.a", m.res.typ))
}

func modules(m *module, n int) {
	m.child(func(c *module) {
		c.printf("variable \"name\" {\n  type = string\n}\n")
		c.block("r0", "var.name")
		for i := 1; i < 20; i++ {
			c.block(fmt.Sprintf("r%d", i), c.ref(fmt.Sprintf("r%d", (i-1)/2)))
		}
		c.printf("output \"last\" {\n  value = %s\n}\n", c.ref("r19"))
	})
	for i := range max(1, n/20) {
		m.printf("module \"m%d\" {\n  source = \"./mod\"\n  name   = \"m%d\"\n}\n", i, i)
	}
}

func variables(m *module, n int) {
	const each = 60
	m.child(func(c *module) {
		var sum []string
		for v := range each {
			c.printf("variable \"v%d\" {\n  type    = string\n  default = \"none\"\n}\n", v)
			sum = append(sum, fmt.Sprintf("length(var.v%d)", v))
		}
		c.block("r", `"${`+strings.Join(sum, " + ")+`}"`)
		c.printf("output \"r\" {\n  value = %s\n}\n", c.ref("r"))
	})
	for i := range max(1, n/16) {
		m.printf("module \"m%d\" {\n  source = \"./mod\"\n", i)
		for v := range each {
			m.printf("  v%d = \"value-%d-%d\"\n", v, i, v)
		}
		m.printf("}\n")
	}
}

// moduleDeps writes modules of a fixed size that depend on each other. If the modules grew, the
// stored dependencies between two of them would grow with the product of their sizes.
func moduleDeps(m *module, n int) {
	const blocks, depth = 20, 50
	m.child(func(c *module) { wide(c, blocks) })
	for i := range max(1, n/blocks) {
		m.printf("module \"m%d\" {\n  source = \"./mod\"\n", i)
		if i%depth > 0 {
			m.printf("  depends_on = [module.m%d]\n", i-1)
		}
		m.printf("}\n")
	}
}

func nested(m *module, n int) {
	m.child(func(c *module) {
		c.printf("variable \"name\" {\n  type = string\n}\n")
		c.block("r", `"${var.name}-${each.key}"`, "for_each = "+keys(20))
		c.printf("output \"all\" {\n  value = { for k, r in %s.r : k => r.%s }\n}\n", c.res.typ, c.res.out)
	})
	m.printf("module \"m\" {\n  source   = \"./mod\"\n  for_each = %s\n  name     = each.key\n}\n", keys(max(1, n/20)))
}

func splat(m *module, n int) {
	m.block("a", `"value-${count.index}"`, fmt.Sprintf("count = %d", n))
	for i := range 100 {
		m.block(fmt.Sprintf("b%d", i), `"${length(`+m.ref("a[*]")+`)}"`)
	}
}

func outputs(m *module, n int) {
	m.block("a", `"value-${count.index}"`, fmt.Sprintf("count = %d", n))
	for i := range 10 {
		m.printf("output \"o%d\" {\n  value = %s\n}\n", i, m.ref("a[*]"))
	}
}

// realistic writes blocks that are about as long as those that people write. Its objects take as much
// of the state as those of common providers. Each block refers to one in the layer of 500 before it.
func realistic(m *module, n int) {
	m.printf("variable \"suffix\" {\n  default = \"\"\n}\nlocals {\n  text = \"%s${var.suffix}\"\n}\n",
		strings.Repeat("lorem ipsum dolor sit amet ", 33))
	for i := range n {
		previous, text := "null", "%s"
		if i >= 500 {
			previous = m.res.typ + fmt.Sprintf(".r%d.id", i-500)
		}
		if m.res.needsMirror {
			text = "jsonencode(%s)" // the attribute is a string
		}
		m.block(fmt.Sprintf("r%d", i), fmt.Sprintf(text, fmt.Sprintf(`{
    name  = "service-%d.region-%d.example.internal"
    size  = %d
    owner = "team-%d@example.internal"
    tags  = { env = "prod", tier = "t%d", cost = "cc-%d", note = "generated object number %d of the estate" }
    text  = local.text
    prev  = %s
  }`, i, i%17, i%97, i%211, i%5, i%1009, i, previous)))
	}
}

func deferred(m *module, n int) {
	m.block("first", `"x"`)
	m.block("late", `"late"`, "count = length("+m.ref("first")+")")
	for i := range n {
		m.block(fmt.Sprintf("r%d", i), fmt.Sprintf(`"${length(%s)}-%d"`, m.ref("late[*]"), i))
	}
}

func dataSources(m *module, n int) {
	m.synth()
	for i := range n {
		m.printf("data \"synth_echo\" \"d%d\" {\n  input = \"value-%d\"\n}\n", i, i)
	}
}

func oneOfMany(m *module, _ int) {
	m.synth()
	m.printf("resource \"synth_t0\" \"r\" {\n  name  = \"r\"\n  input = \"value\"\n}\n")
}

func aliases(m *module, _ int) {
	m.synth()
	for i := range 20 {
		m.printf("provider \"synth\" {\n  alias = \"p%d\"\n}\n", i)
		m.printf("resource \"synth_t%d\" \"r\" {\n  provider = synth.p%d\n  name     = \"r\"\n  input    = "+
			"\"value\"\n}\n", i, i)
	}
}
