package upgrade

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// Kind is the kind of a version constraint.
type Kind uint8

// The kinds of constraints.
const (
	Program   Kind = iota // required_version
	Provider              // a provider's version
	Module                // the version of a module from a registry
	ModuleRef             // the ref of a module in a git repository
)

// Place is a version constraint in a file.
type Place struct {
	Kind     Kind
	Provider addrs.Provider     // set if Kind is Provider
	Source   addrs.ModuleSource // set if Kind is Module or ModuleRef
	Text     string             // constraint or ref, as written
	Range    hcl.Range          // range of Text, without the quotes
	// Problem is the reason why the constraint can't be changed; "" if it can.
	Problem string
}

// File is the source of a configuration file.
type File struct {
	Name   string
	Source []byte
}

// Places returns the constraints in the files of one directory, in source order. If some files have
// errors, it also returns the constraints that it has found.
func Places(files []File) ([]Place, error) {
	var errs tfdiags.Diagnostics
	found := finder{names: make(map[string]addrs.Provider)}
	bodies := make([]hcl.Body, len(files))
	for i, f := range files {
		parse := nesting.Parse
		if strings.HasSuffix(f.Name, ".json") {
			parse = nesting.ParseJSON
		}
		file, diags := parse(f.Name, f.Source)
		errs = errs.AppendHCL(diags)
		if file != nil && !diags.HasErrors() {
			bodies[i] = file.Body
		}
	}
	for _, pass := range []func(*finder, *hcl.Block){(*finder).declared, (*finder).block} {
		for i, body := range bodies {
			if body == nil {
				continue
			}
			found.source = files[i].Source
			content, _, _ := body.PartialContent(topLevel) // other errors are reported elsewhere
			for _, block := range content.Blocks {
				pass(&found, block)
			}
		}
	}
	slices.SortStableFunc(found.places, func(a, b Place) int {
		return cmp.Or(strings.Compare(a.Range.Filename, b.Range.Filename),
			cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte))
	})
	return found.places, errs.Err()
}

var (
	topLevel = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "terraform"},
		{Type: "provider", LabelNames: []string{"name"}}, {Type: "module", LabelNames: []string{"name"}}}}
	terraformBody = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "required_version"}},
		Blocks: []hcl.BlockHeaderSchema{{Type: "required_providers"}}}
	moduleBody = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}, {Name: "version"}}}
)

// finder collects the constraints in the files of one directory.
type finder struct {
	source []byte // source of the current file
	names  map[string]addrs.Provider
	places []Place
}

// declared records the provider of each local name in required_providers. It is needed to look up
// versions.
func (f *finder) declared(block *hcl.Block) {
	f.requirements(block, func(name string, source, _ hcl.Expression) {
		if text, ok := literal(source); ok {
			if p, err := addrs.ParseProvider(text); err == nil {
				f.names[name] = p
			}
		}
	})
}

// requirements calls visit for each entry in the required_providers blocks of a terraform block.
func (f *finder) requirements(block *hcl.Block, visit func(name string, source, version hcl.Expression)) {
	if block.Type != "terraform" {
		return
	}
	content, _, _ := block.Body.PartialContent(terraformBody)
	for _, required := range content.Blocks {
		attrs, _ := required.Body.JustAttributes()
		for name, attr := range attrs {
			if text, ok := literal(attr.Expr); ok && text != "" {
				visit(name, nil, attr.Expr) // in the old form, an entry is only a version
				continue
			}
			pairs, diags := hcl.ExprMap(attr.Expr)
			if diags.HasErrors() {
				continue
			}
			var source, version hcl.Expression
			for _, pair := range pairs {
				switch key, _ := literal(pair.Key); key {
				case "source":
					source = pair.Value
				case "version":
					version = pair.Value
				}
			}
			visit(name, source, version)
		}
	}
}

// literal returns the value of a constant string expression. It returns false for any other
// expression.
func literal(expr hcl.Expression) (string, bool) {
	if expr == nil {
		return "", false
	}
	v, diags := expr.Value(nil)
	if diags.HasErrors() || v.IsNull() || !v.IsKnown() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}

func (f *finder) block(block *hcl.Block) {
	switch block.Type {
	case "terraform":
		content, _, _ := block.Body.PartialContent(terraformBody)
		if attr := content.Attributes["required_version"]; attr != nil {
			f.add(Place{Kind: Program}, attr.Expr)
		}
		f.requirements(block, func(name string, _, version hcl.Expression) {
			f.add(Place{Kind: Provider, Provider: f.provider(name)}, version)
		})
	case "provider":
		content, _, _ := block.Body.PartialContent(moduleBody)
		if attr := content.Attributes["version"]; attr != nil {
			f.add(Place{Kind: Provider, Provider: f.provider(block.Labels[0])}, attr.Expr)
		}
	case "module":
		f.module(block)
	}
}

func (f *finder) provider(name string) addrs.Provider {
	if p, ok := f.names[name]; ok {
		return p
	}
	p, err := addrs.ParseProvider(name)
	if err != nil {
		return addrs.Provider{}
	}
	return p
}

func (f *finder) module(block *hcl.Block) {
	content, _, _ := block.Body.PartialContent(moduleBody)
	source, version := content.Attributes["source"], content.Attributes["version"]
	if source == nil {
		return
	}
	text, ok := literal(source.Expr)
	if !ok {
		return // if the source is computed, its kind is unknown
	}
	parsed, err := addrs.ParseModuleSource(text, version != nil)
	if err != nil {
		return
	}
	switch {
	case parsed.Kind == addrs.RegistryModule && version != nil:
		f.add(Place{Kind: Module, Source: parsed}, version.Expr)
	case parsed.Kind == addrs.RemoteModule && strings.HasPrefix(parsed.Address, "git::"):
		f.ref(parsed, text, source.Expr)
	}
}

// ref adds the ref in the source of a module, if the source is a git repository.
func (f *finder) ref(parsed addrs.ModuleSource, text string, expr hcl.Expression) {
	_, query, _ := strings.Cut(text, "?")
	offset := len(text) - len(query)
	for parameter := range strings.SplitSeq(query, "&") {
		if ref, ok := strings.CutPrefix(parameter, "ref="); ok {
			f.add(Place{Kind: ModuleRef, Source: parsed}, expr)
			if p := &f.places[len(f.places)-1]; p.Problem == "" {
				start := p.Range.Start.Byte + offset + len("ref=")
				p.Range.Start.Byte, p.Range.End.Byte, p.Text = start, start+len(ref), ref
				if _, _, ok := SplitRef(ref); !ok {
					p.Problem = "the ref doesn't end in a version like 1.2.0"
				}
			}
			return
		}
		offset += len(parameter) + 1
	}
}

// add adds a constraint that is written as the expression expr. It can be changed only if expr is a
// quoted string without escapes.
func (f *finder) add(p Place, expr hcl.Expression) {
	if expr == nil {
		return
	}
	p.Range = expr.Range()
	text, ok := literal(expr)
	if !ok {
		p.Problem = "the version is not a constant string"
	} else if quoted := p.Range.SliceBytes(f.source); string(quoted) != `"`+text+`"` {
		p.Problem = "the version is not a plain string"
	} else {
		p.Range.Start.Byte++
		p.Range.Start.Column++
		p.Range.End.Byte--
		p.Range.End.Column--
	}
	p.Text = text
	f.places = append(f.places, p)
}

// String returns what the constraint applies to, such as the name of a provider.
func (p Place) String() string {
	switch p.Kind {
	case Program:
		return "required_version"
	case Provider:
		return p.Provider.ForDisplay()
	}
	address, _, _ := strings.Cut(p.Source.Address, "?")
	return strings.TrimPrefix(address, addrs.DefaultHost+"/")
}

// Edit is the replacement of a constraint's text.
type Edit struct {
	Place Place
	Text  string
}

// Apply returns the source with the edits applied. The edits must be in source order.
func Apply(source []byte, edits []Edit) []byte {
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		start, end := e.Place.Range.Start.Byte, e.Place.Range.End.Byte
		if start < at || end > len(source) {
			panic(fmt.Sprintf("unreachable: the edits of %s are in order and within it", e.Place.Range.Filename))
		}
		out.Write(source[at:start])
		out.WriteString(e.Text)
		at = end
	}
	out.Write(source[at:])
	return out.Bytes()
}
