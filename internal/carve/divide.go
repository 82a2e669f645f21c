package carve

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/hclfmt"
	"tofu/internal/tfdiags"
)

// MovesFile is the name of the file that gets moved blocks.
const MovesFile = "moves.tf"

// Place is where a resource or module block goes.
type Place struct {
	Part string // name of a part
	To   string // its new address, such as aws_vpc.main
}

// Part is a root module that gets blocks, or the one that loses them.
type Part struct {
	Name   string
	Module *Module // what it has already
	// Back is the path from its directory to that of the divided root module, with slashes.
	Back string
	// Reads returns the name of the terraform_remote_state data source that reads another part and, unless the root
	// module has the data source already, a function that returns its block with that or another name.
	Reads func(of string) (name string, block func(name string) string, err error)
	// Backend is set for a new root module. It gets the terraform blocks of the divided one, in which Backend
	// replaces arguments of the backend, as the text of their values.
	Backend map[string]string
	// Sensitive reports whether an attribute of a resource or module is sensitive.
	Sensitive func(item, attr string) bool
}

// Division is the result of dividing a root module.
type Division struct {
	// Files has the new content of the changed files of each part, by part and name. Files that are empty
	// now have no content.
	Files map[string]map[string][]byte
	Notes []string // what the user has to look at
	// Crossing is the number of references that cross parts.
	Crossing int
	Needs    [][2]string // each part that needs another one by a new reference, with that one
}

// Divide moves blocks of the part from to the places of their addresses.
func (m *Module) Divide(from string, places map[string]Place, parts map[string]*Part) (*Division, error) {
	d := &divider{Module: m, from: from, places: places, parts: parts, outputs: map[[2]string]string{},
		edges: map[string]map[string]string{}, edited: map[string]*edited{}}
	for name, p := range parts {
		d.edited[name] = &edited{part: p, appended: map[string]string{}, cuts: map[string][]edit{}, reads: map[string]string{}}
	}
	d.own, d.left = d.contents()
	if err := d.check(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if err := d.write(name); err != nil {
			return nil, err
		}
	}
	if err := d.cycle(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		d.finish(name)
	}
	return d.result()
}

type divider struct {
	*Module
	from     string
	places   map[string]Place
	parts    map[string]*Part
	own      map[string]map[*block]bool // the blocks of each part
	left     map[*block]bool            // the shared blocks that the divided root module no longer needs
	outputs  map[[2]string]string       // names of outputs by part and value
	edges    map[string]map[string]string
	edited   map[string]*edited
	division Division
}

// edited collects the changes of a part.
type edited struct {
	part     *Part
	cuts     map[string][]edit // changes of its own files
	appended map[string]string // by file
	reads    map[string]string // data sources by part
}

// edit replaces a span of a file by text.
type edit struct {
	span
	text string
}

// owner returns the part that has an item.
func (d *divider) owner(key string) string {
	if p, moves := d.places[key]; moves {
		return p.Part
	}
	return d.from
}

// contents returns the blocks of each part: its items, and what they need of the shared blocks. Shared blocks
// that only items of other parts need leave the divided root module.
func (d *divider) contents() (own map[string]map[*block]bool, left map[*block]bool) {
	own, left = make(map[string]map[*block]bool), make(map[*block]bool)
	for name := range d.parts {
		own[name] = make(map[*block]bool)
	}
	var include func(in map[*block]bool, b *block)
	include = func(in map[*block]bool, b *block) {
		if b == nil || in[b] {
			return
		}
		in[b] = true
		for _, r := range b.refs {
			if to := d.byKey[r.key]; !to.item() {
				include(in, to)
			}
		}
		for _, key := range d.providersOf(b) {
			include(in, d.byKey[key])
		}
	}
	for _, b := range d.blocks {
		switch {
		case b.item():
			include(own[d.owner(b.key)], b)
		case b.typ != "local" && b.typ != "data" && b.typ != "ephemeral":
			include(own[d.from], b)
		}
		for name, p := range d.parts {
			if b.typ == "terraform" && p.Backend != nil {
				include(own[name], b)
			}
		}
	}
	for _, b := range d.blocks {
		if b.item() || own[d.from][b] {
			continue
		}
		used := false
		for name := range d.parts {
			used = used || own[name][b]
		}
		if used {
			left[b] = true
		} else {
			include(own[d.from], b) // nothing used it before, either
		}
	}
	return own, left
}

// providersOf returns the keys of the provider configurations that a block uses. A module may use all.
func (d *divider) providersOf(b *block) []string {
	switch b.typ {
	case "module":
		var out []string
		for _, other := range d.blocks {
			if other.typ == "provider" {
				out = append(out, other.key)
			}
		}
		return out
	case "resource", "data", "ephemeral":
		if len(b.providers) > 0 {
			return b.providers
		}
		labels := strings.Split(b.key, ".")
		prefix, _, _ := strings.Cut(labels[len(labels)-2], "_")
		return []string{"provider." + prefix}
	}
	return nil
}

// check returns errors for blocks that would name what is in another part, and for names that are taken.
func (d *divider) check() error {
	var errs tfdiags.Diagnostics
	for name, in := range d.own {
		for b := range in {
			for _, r := range b.refs {
				if r.use == inStatic && d.byKey[r.key].item() && d.owner(r.key) != name {
					errs.Add(tfdiags.Errorf("An address can't cross root modules", "This names %s, which would be in another root "+
						"module. Apply and remove the block, or keep the two together.", r.key).At(r.rng))
				}
			}
			if has := d.parts[name].Module; name != d.from && has != nil && b.key != "" {
				key := b.key
				if b.item() {
					key = d.places[b.key].To
				}
				if other := has.byKey[key]; other != nil {
					errs = errs.AppendError(d.taken(name, b, has, other))
				}
			}
		}
	}
	return errs.Err()
}

// taken returns an error if a part has another block of the same name as b.
func (d *divider) taken(part string, b *block, has *Module, other *block) error {
	same := bytes.Equal(bytes.Join(bytes.Fields(d.code(b)), nil), bytes.Join(bytes.Fields(has.code(other)), nil))
	switch {
	case b.item():
		return tfdiags.Errorf("The target of a move exists", "The root module %s has a block %s already, at %s. Choose another "+
			"name.", part, other.key, tfdiags.Place(other.rng)).At(b.rng)
	case same, b.typ == "provider":
	case b.typ == "variable":
		d.note("%s and %s declare %s in different ways: check its values.", d.from, part, b.key)
	default:
		return tfdiags.Errorf("Two blocks of one name", "What moves needs %s, and the root module %s has another block of this "+
			"name at %s. Rename one of them.", b.key, part, tfdiags.Place(other.rng)).At(b.rng)
	}
	return nil
}

func (d *divider) note(format string, args ...any) {
	d.division.Notes = append(d.division.Notes, fmt.Sprintf(format, args...))
}

func (m *Module) text(b *block) []byte { return m.files[b.file][b.start:b.end] }

// code returns the text of a block, for a local value without comments around it.
func (m *Module) code(b *block) []byte {
	if b.typ == "local" {
		return m.files[b.file][b.rng.Start.Byte:b.rng.End.Byte]
	}
	return m.text(b)
}

// write computes the changes of the blocks of a part, and the outputs that they need elsewhere.
func (d *divider) write(name string) error {
	e, locals := d.edited[name], map[string]string{}
	for _, b := range d.blocks {
		edits, err := d.edits(name, b)
		switch {
		case err != nil:
			return err
		case name == d.from && d.own[name][b]:
			e.cuts[b.file] = append(e.cuts[b.file], edits...)
		case name == d.from && b.typ == "local":
			e.cuts[b.file] = append(e.cuts[b.file], edit{b.span, ""})
		case name == d.from:
			e.cuts[b.file] = append(e.cuts[b.file], edit{d.whole(b.file, b.span), ""})
		case !d.own[name][b] || e.has(b):
		case b.typ == "terraform":
			if text := apply(d.text(b), b.start, append(edits, d.settings(b, e.part.Backend)...)); !emptyBlock(text) {
				e.add("terraform.tf", text)
			}
		case b.typ == "local":
			locals[b.file] += strings.TrimSuffix(apply(d.text(b), b.start, edits), "\n") + "\n"
		default:
			e.add(b.file, apply(d.text(b), b.start, edits))
			if b.item() && bytes.Contains(d.text(b), []byte("path.")) {
				d.note("%s uses a path of the configuration (%s): check that the file is where %s looks for it.", b.key,
					tfdiags.Place(b.rng), name)
			}
			if b.typ == "variable" {
				d.note("%s has a copy of %s: give it the same value there as in %s.", name, b.key, d.from)
			}
		}
	}
	if name == d.from {
		for _, in := range d.locals { // blocks of which nothing is left
			if len(in.values) > 0 && !slices.ContainsFunc(in.values, func(b *block) bool { return d.own[name][b] }) {
				e.cuts[in.file] = append(e.cuts[in.file], edit{d.whole(in.file, in.span), ""})
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(locals)) {
		e.add(file, "locals {\n"+locals[file]+"}\n")
	}
	if name != d.from {
		d.require(name)
	}
	return nil
}

// whole returns the span to cut for a block, so that one empty line is left of those around it.
func (d *divider) whole(file string, s span) span {
	src := d.files[file]
	if s.end < len(src) && src[s.end] == '\n' && (s.start < 2 || src[s.start-2] == '\n') {
		s.end++ // one of two empty lines
	}
	return s
}

// has reports whether the part has a block of its own for a shared one.
func (e *edited) has(b *block) bool {
	return b.key != "" && !b.item() && e.part.Module != nil && e.part.Module.byKey[b.key] != nil
}

func (e *edited) add(file, text string) {
	if e.appended[file] != "" {
		e.appended[file] += "\n"
	}
	e.appended[file] += text
}

// settings returns the changes of a terraform block for a new root module: what the providers need is added
// elsewhere, and arguments of the backend are replaced or added.
func (d *divider) settings(b *block, backend map[string]string) []edit {
	var out []edit
	for _, inner := range b.body.Blocks {
		switch inner.Type {
		case "required_providers":
			out = append(out, edit{d.extent(b.file, inner.Range()), ""})
		case "backend":
			for _, name := range slices.Sorted(maps.Keys(backend)) {
				if attr := inner.Body.Attributes[name]; attr != nil {
					out = append(out, edit{of(attr.Expr.Range()), backend[name]})
				} else {
					at := inner.OpenBraceRange.End.Byte
					out = append(out, edit{span{at, at}, "\n    " + name + " = " + backend[name] + "\n"})
				}
			}
		}
	}
	return out
}

// emptyBlock reports whether a block without labels has no content.
func emptyBlock(text string) bool {
	_, rest, _ := strings.Cut(text, "{")
	return strings.TrimSpace(rest) == "}"
}

// require adds the requirements of the providers that a part uses.
func (d *divider) require(name string) {
	var used []string
	all := false
	for b := range d.own[name] {
		all = all || b.typ == "module"
		for _, key := range d.providersOf(b) {
			used = append(used, strings.Split(key, ".")[1])
		}
	}
	e := d.edited[name]
	has := map[string]bool{}
	var into *hclsyntax.Block
	var file string
	if e.part.Module != nil {
		file, into = e.part.Module.requirements(func(local, _ string) { has[local] = true })
	}
	var lines string
	d.requirements(func(local, text string) {
		if !has[local] && (all || slices.Contains(used, local)) {
			lines += "    " + local + " = " + text + "\n"
		}
	})
	switch {
	case lines == "":
	case into != nil:
		at, src := into.CloseBraceRange.Start.Byte, e.part.Module.files[file]
		if line := bytes.LastIndexByte(src[:at], '\n') + 1; len(bytes.TrimSpace(src[line:at])) == 0 {
			at = line
		} else { // a block in one line
			lines = "\n" + lines + "  "
		}
		e.cuts[file] = append(e.cuts[file], edit{span{at, at}, lines})
	default:
		e.add("terraform.tf", "terraform {\n  required_providers {\n"+lines+"  }\n}\n")
	}
}

// requirements calls add with each required provider, and returns the last block with them.
func (m *Module) requirements(add func(local, text string)) (file string, in *hclsyntax.Block) {
	for _, b := range m.blocks {
		if b.typ != "terraform" {
			continue
		}
		for _, inner := range b.body.Blocks {
			if inner.Type == "required_providers" {
				file, in = b.file, inner
				for _, attr := range inOrder(inner.Body.Attributes) {
					add(attr.Name, string(m.files[b.file][attr.Expr.Range().Start.Byte:attr.Expr.Range().End.Byte]))
				}
			}
		}
	}
	return file, in
}

// cycle returns an error if parts would need one another.
func (d *divider) cycle() error {
	const visiting, done = 1, 2
	state := make(map[string]int)
	var stack []string
	var visit func(string) error
	visit = func(p string) error {
		switch state[p] {
		case done:
			return nil
		case visiting:
			var lines []string
			around := append(stack[slices.Index(stack, p):], p)
			for i := range around[1:] {
				lines = append(lines, d.edges[around[i]][around[i+1]])
			}
			return tfdiags.Errorf("Root modules would need each other", "None of them could come first:\n  - %s\nMove what belongs "+
				"together in one go, or something else.", strings.Join(lines, "\n  - "))
		}
		state[p], stack = visiting, append(stack, p)
		for _, next := range slices.Sorted(maps.Keys(d.edges[p])) {
			if err := visit(next); err != nil {
				return err
			}
		}
		state[p], stack = done, stack[:len(stack)-1]
		return nil
	}
	for _, p := range slices.Sorted(maps.Keys(d.parts)) {
		if err := visit(p); err != nil {
			return err
		}
	}
	return nil
}

// finish adds the moved blocks of a part.
func (d *divider) finish(name string) {
	for _, key := range d.Items() {
		p, moves := d.places[key]
		switch {
		case !moves:
		case name == d.from:
			d.edited[name].add(MovesFile, Moved("", key, p.Part, p.To))
		case p.Part == name:
			d.edited[name].add(MovesFile, Moved(d.from, key, "", p.To))
		}
	}
}

// Moved returns a moved block. An address in the root module that has the block has no root.
func Moved(fromRoot, from, toRoot, to string) string {
	end := func(root, addr string) string {
		if root == "" {
			return addr
		}
		return "root[" + tfdiags.Quote(root) + "]." + addr
	}
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}\n", end(fromRoot, from), end(toRoot, to))
}

// OnlyMoved returns the division that only writes moved blocks, for blocks that are moved already.
func OnlyMoved(from, to *Part, fromAddr, toAddr string) (*Division, error) {
	d := &divider{edited: map[string]*edited{}}
	for _, p := range []*Part{from, to} {
		d.edited[p.Name] = &edited{part: p, appended: map[string]string{}}
	}
	d.edited[from.Name].add(MovesFile, Moved("", fromAddr, to.Name, toAddr))
	d.edited[to.Name].add(MovesFile, Moved(from.Name, fromAddr, "", toAddr))
	return d.result()
}

// result returns the new contents of all changed files.
func (d *divider) result() (*Division, error) {
	out := &d.division
	for from := range d.edges {
		for to := range d.edges[from] {
			out.Needs = append(out.Needs, [2]string{from, to})
		}
	}
	out.Files = make(map[string]map[string][]byte)
	for name, e := range d.edited {
		own := map[string][]byte{}
		if e.part.Module != nil {
			own = e.part.Module.files
		}
		changed := make(map[string][]byte)
		for file, edits := range e.cuts {
			if len(edits) > 0 {
				changed[file] = []byte(apply(own[file], 0, edits))
			}
		}
		for file, text := range e.appended {
			now, edited := changed[file]
			if !edited {
				now = own[file]
			}
			if now = bytes.TrimRight(now, "\n"); len(now) > 0 {
				now = append(slices.Clone(now), "\n\n"...)
			}
			changed[file] = append(now, text...)
		}
		for file, text := range changed {
			if len(bytes.TrimSpace(text)) == 0 {
				changed[file] = nil
				continue
			}
			var err error
			if changed[file], err = hclfmt.Keep(own[file], append(bytes.TrimSpace(text), '\n'), file); err != nil {
				return nil, err
			}
		}
		out.Files[name] = changed
	}
	slices.Sort(out.Notes)
	out.Notes = slices.Compact(out.Notes)
	return out, nil
}

// apply applies edits to a text that begins at an offset of its file.
func apply(text []byte, offset int, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.start-offset < at {
			continue // within a span that is replaced already
		}
		out.Write(text[at : e.start-offset])
		out.WriteString(e.text)
		at = e.end - offset
	}
	out.Write(text[at:])
	return out.String()
}
