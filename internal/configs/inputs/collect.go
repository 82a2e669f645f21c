package inputs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// envPrefix is the prefix of environment variables that set input variables.
const envPrefix = "TF_VAR_"

// Flag is one -var, -var-file or -var-unknown option.
type Flag struct {
	File    bool   // whether the option is -var-file
	Unknown bool   // whether the option is -var-unknown
	Text    string // NAME=VALUE, the file's path, or NAME with the path of a part
}

// Options are the sources of values.
type Options struct {
	Environ []string // in the format of os.Environ
	Dir     string   // directory with the automatically read files: the root module's; "" means none
	// TestDir is a directory with further files that are read automatically, for tests. It is
	// relative to Dir; "" means no directory.
	TestDir string
	Flags   []Flag // in command line order

	Files  []string                 // additional files, which are not from the command line
	Values map[string]configs.Given // additional values, which are not from the command line

	// Defer receives the error of files that the command line doesn't name, for commands that may not
	// need any variable. If it is nil, Collect returns that error.
	Defer func(error)
}

// automatic lists the files that are always read, before *.auto.tfvars.
var automatic = []string{"terraform.tfvars", "terraform.tfvars.json"}

// IsAutomatic reports whether a file of this name in the directory of a root module is always read.
func IsAutomatic(name string) bool {
	return slices.Contains(automatic, name) || strings.HasSuffix(name, ".auto.tfvars") ||
		strings.HasSuffix(name, ".auto.tfvars.json")
}

// Collect collects the values from all sources. In ascending precedence these are: the environment,
// terraform.tfvars, terraform.tfvars.json, *.auto.tfvars and *.auto.tfvars.json sorted by name, the
// same files in the test directory, Files, Values, and the options in command line order. It parses
// files with p, which keeps the source text for excerpts in diagnostics.
func Collect(p *configs.Parser, o Options) (map[string]configs.Given, error) {
	c := &collection{parser: p, given: map[string]configs.Given{}}
	for _, entry := range o.Environ {
		if name, ok := strings.CutPrefix(entry, envPrefix); ok {
			name, value, _ := strings.Cut(name, "=")
			c.given[name] = configs.Given{Text: value, From: "the environment variable " + envPrefix + name}
		}
	}
	var dirs []string
	if o.Dir != "" {
		dirs = append(dirs, o.Dir)
	}
	if tests := filepath.Join(o.Dir, o.TestDir); o.TestDir != "" && tests != filepath.Clean(o.Dir) {
		dirs = append(dirs, tests)
	}
	for _, dir := range dirs {
		for _, name := range c.automaticFiles(dir) {
			path := filepath.Join(dir, name)
			src, err := c.parser.FS().ReadFile(path)
			c.file(path, src, err)
		}
	}
	for _, name := range o.Files {
		c.named(name)
	}
	if err := c.errs.Err(); err != nil && o.Defer != nil {
		o.Defer(err)
		c.errs = nil
	}
	maps.Copy(c.given, o.Values)
	for _, flag := range o.Flags {
		switch {
		case flag.File:
			c.named(flag.Text)
		case !flag.Unknown:
			c.option(flag.Text)
		}
	}
	// Handle -var-unknown options last, because they may name a part of a value that another option
	// sets.
	for _, flag := range o.Flags {
		if flag.Unknown {
			c.unknown(flag.Text)
		}
	}
	return c.given, c.errs.Err()
}

type collection struct {
	parser *configs.Parser
	given  map[string]configs.Given
	errs   tfdiags.Diagnostics
}

func (c *collection) automaticFiles(dir string) []string {
	entries, err := c.parser.FS().ReadDir(filepath.Clean(dir))
	if err != nil {
		return nil // loading the configuration reports the error
	}
	var fixed, auto []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case !IsAutomatic(name): // a directory of such a name is an error, as in OpenTofu
		case slices.Contains(automatic, name) && e.Type()&fs.ModeSymlink != 0 && dangling(filepath.Join(dir, name)):
		case slices.Contains(automatic, name):
			fixed = append(fixed, name)
		default:
			auto = append(auto, name)
		}
	}
	slices.Sort(fixed)
	slices.Sort(auto)
	return append(fixed, auto...)
}

// dangling reports whether a symbolic link leads nowhere. As in OpenTofu, such a file is only
// ignored if its whole name is fixed: a *.auto.tfvars file is certainly wanted.
func dangling(link string) bool {
	_, err := os.Stat(link)
	return err != nil && !errors.Is(err, fs.ErrPermission)
}

// option records the value of one -var option, NAME=VALUE.
func (c *collection) option(text string) {
	name, value, found := strings.Cut(text, "=")
	if !found {
		c.errs.Add(tfdiags.Errorf("Invalid -var option",
			"The -var option %q must have the form NAME=VALUE, without spaces around the equals sign.", text))
		return
	}
	if !hclsyntax.ValidIdentifier(name) {
		hint := ""
		if trimmed := strings.TrimSpace(name); hclsyntax.ValidIdentifier(trimmed) {
			hint = fmt.Sprintf(" Use %s=VALUE, without spaces around the name.", trimmed)
		}
		c.errs.Add(tfdiags.Errorf("Invalid -var option",
			"The -var option %q has no valid variable name.%s", name+"=…", hint))
		return
	}
	c.given[name] = configs.Given{Text: value, From: "the -var option", Undeclared: configs.UndeclaredError}
}

// unknown records one -var-unknown option, which names a variable or a part of its value.
func (c *collection) unknown(text string) {
	invalid := func(problem string) {
		c.errs.Add(tfdiags.Errorf("Invalid -var-unknown option",
			"The -var-unknown option %q %s.", text, problem))
	}
	traversal, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		invalid("must be the name of a variable, or the path of a part of one, such as net.vpc_id")
		return
	}
	var path cty.Path
	for _, step := range traversal[1:] {
		switch step := step.(type) {
		case hcl.TraverseAttr:
			path = path.GetAttr(step.Name)
		case hcl.TraverseIndex:
			path = path.Index(step.Key)
		}
	}
	name := traversal.RootName()
	given, ok := c.given[name]
	if !ok && len(path) > 0 {
		invalid("names a part of a variable that isn't set. Set the variable too, even if it has a default")
		return
	}
	if given.From == "" || len(path) == 0 {
		given.From, given.Undeclared = "the -var-unknown option", configs.UndeclaredError
	}
	given.Unknown = append(given.Unknown, path)
	c.given[name] = given
}

// named reads a variable file that the user has named. It may be a pipe, as of <(command).
func (c *collection) named(name string) {
	src, err := c.parser.FS().ReadFile(name)
	if errors.Is(err, atomicfile.ErrNotRegular) {
		src, err = os.ReadFile(name)
	}
	c.file(name, src, err)
}

// file decodes a variable file, or reports the error of reading it. A file with errors sets no
// values.
func (c *collection) file(name string, src []byte, err error) {
	if err != nil {
		c.errs.Add(tfdiags.Errorf("Failed to read variables file",
			"The variables file can't be read: %s.", err)) // err contains the name
		return
	}
	source, err := c.parse(name, src)
	if err != nil {
		c.errs = c.errs.AppendError(err)
		return
	}
	if at := declaration(source.Body); at != nil {
		c.errs.Add(tfdiags.Errorf("Variable declaration in .tfvars file",
			"A variables file sets the values of declared variables: NAME = VALUE. Move \"variable\" blocks "+
				"to a .tf file.").At(*at))
		return
	}
	attrs, diags := source.Body.JustAttributes()
	if diags.HasErrors() {
		c.errs = c.errs.AppendHCL(diags)
		return
	}
	for _, attr := range attrs {
		c.given[attr.Name] = configs.Given{
			Expr: attr.Expr, From: "the file " + name, Undeclared: configs.UndeclaredWarning, Range: attr.Range,
		}
	}
}

// parse parses a file as JSON if its name ends in .json or its text begins with "{" after white
// space. It parses other files as native syntax.
func (c *collection) parse(name string, src []byte) (*hcl.File, error) {
	if !strings.HasSuffix(name, ".json") && bytes.HasPrefix(bytes.TrimSpace(nesting.TrimMark(src)), []byte("{")) {
		return c.parser.ParseJSON(name, src)
	}
	return c.parser.ParseSource(name, src)
}

// declaration returns the range of a variable block in body, or nil. Users sometimes put such a
// block into a variable file by mistake.
func declaration(body hcl.Body) *hcl.Range {
	content, _, diags := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "variable",
		LabelNames: []string{"name"}}}})
	if diags.HasErrors() || len(content.Blocks) == 0 {
		return nil
	}
	return &content.Blocks[0].DefRange
}
