package carve

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"tofu/internal/tfdiags"
)

// edits returns the changes of a block in a part.
func (d *divider) edits(name string, b *block) ([]edit, error) {
	if !d.own[name][b] {
		return nil, nil
	}
	var out []edit
	if p, moves := d.places[b.key]; moves {
		_, label, _ := strings.Cut(p.To, ".")
		out = append(out, edit{b.name, `"` + label + `"`})
		if b.typ == "module" {
			out = append(out, d.source(b, d.parts[name].Back)...)
		}
	}
	var dropped []ref
	for _, r := range b.refs {
		owner := d.owner(r.key)
		switch {
		case !d.byKey[r.key].item():
		case owner == name:
			if p, moves := d.places[r.key]; moves && p.To != r.key {
				out = append(out, edit{r.head, p.To})
			}
		case r.use == inDependsOn:
			d.edge(name, owner, r)
			dropped = append(dropped, r)
			d.note("%s no longer has %s in depends_on (%s): if %s reads nothing else of %s, declare the order with \"after\" in "+
				"roots.tofu.hcl.", b.key, r.key, tfdiags.Place(r.rng), name, owner)
		default:
			d.edge(name, owner, r)
			d.division.Crossing++
			edits, err := d.cross(name, owner, r)
			if err != nil {
				return nil, err
			}
			out = append(out, edits...)
		}
	}
	if len(dropped) > 0 {
		out = append(out, d.dependsOn(b, dropped))
	}
	return out, nil
}

// edge notes that one part needs another one, and why.
func (d *divider) edge(from, to string, r ref) {
	if d.edges[from] == nil {
		d.edges[from] = make(map[string]string)
	}
	if d.edges[from][to] == "" {
		d.edges[from][to] = fmt.Sprintf("%s needs %s for %s (%s)", from, to, r.key, tfdiags.Place(r.rng))
	}
}

// dependsOn returns the change that removes elements of depends_on.
func (d *divider) dependsOn(b *block, dropped []ref) edit {
	attr := b.body.Attributes["depends_on"]
	var rest []string
	for _, r := range b.refs {
		if r.use == inDependsOn && !slices.ContainsFunc(dropped, func(x ref) bool { return x.element == r.element }) {
			rest = append(rest, d.places[r.key].name(r.key))
		}
	}
	return edit{of(attr.Expr.Range()), "[" + strings.Join(rest, ", ") + "]"}
}

func (p Place) name(key string) string {
	if p.To != "" {
		return p.To
	}
	return key
}

// source returns the change of the path of a local module.
func (d *divider) source(b *block, back string) []edit {
	attr := b.body.Attributes["source"]
	if attr == nil {
		return nil
	}
	v, diags := attr.Expr.Value(nil)
	if diags.HasErrors() || !strings.HasPrefix(v.AsString(), ".") {
		return nil
	}
	rel := path.Join(back, v.AsString())
	if !strings.HasPrefix(rel, "../") {
		rel = "./" + rel
	}
	return []edit{{of(attr.Expr.Range()), tfdiags.Quote(rel)}}
}

// cross returns the change of a reference to an item in another part.
func (d *divider) cross(name, owner string, r ref) ([]edit, error) {
	to := d.byKey[r.key]
	_, counted := to.body.Attributes["count"]
	_, each := to.body.Attributes["for_each"]
	value := d.places[r.key].name(r.key)
	attr := r.attr
	switch {
	case attr == "", counted || each, r.indexed, r.splat:
		switch {
		case attr != "" && counted && (r.indexed || r.splat):
			value += "[*]." + attr
		case attr != "" && each && r.indexed:
			value = fmt.Sprintf("{ for k, v in %s : k => v.%s }", value, attr)
		case attr != "" && !counted && !each && r.splat:
			value += "." + attr
		default:
			attr = ""
		}
	default:
		value += "." + attr
	}
	data, err := d.read(name, owner)
	if err != nil {
		return nil, err
	}
	text := "data.terraform_remote_state." + data + ".outputs." + d.output(owner, r.key, attr, value)
	switch {
	case attr == "":
		return []edit{{r.head, text}}, nil
	case r.splat && counted:
		return []edit{{span{r.head.start, r.tail.end}, text}}, nil
	case r.splat:
		return []edit{{span{r.head.start, r.tail.end}, "[" + text + "]"}}, nil
	}
	return []edit{{r.head, text}, {r.tail, ""}}, nil
}

// read returns the name of the data source with which a part reads another one.
func (d *divider) read(name, of string) (string, error) {
	e := d.edited[name]
	if data := e.reads[of]; data != "" {
		return data, nil
	}
	data, block, err := e.part.Reads(of)
	if err != nil {
		return "", err
	}
	if block != nil {
		taken := slices.Collect(maps.Values(e.reads))
		base := data
		for n := 2; slices.Contains(taken, data) || d.has(e.part, "data.terraform_remote_state."+data); n++ {
			data = fmt.Sprintf("%s_%d", base, n)
		}
		e.add("remote_state.tf", block(data))
	}
	e.reads[of] = data
	return data, nil
}

// has reports whether a part has a block, or could get it from the divided root module.
func (d *divider) has(p *Part, key string) bool {
	return d.byKey[key] != nil || p.Module != nil && p.Module.byKey[key] != nil
}

// output returns the name of the output of a part that has a value. It adds the output if it is missing.
func (d *divider) output(part, key, attr, value string) string {
	id := [2]string{part, value}
	if name := d.outputs[id]; name != "" {
		return name
	}
	e := d.edited[part]
	taken := make(map[string]bool)
	if has := e.part.Module; has != nil {
		for _, b := range has.blocks {
			if b.typ != "output" {
				continue
			}
			taken[b.key] = true
			expr := b.body.Attributes["value"]
			if expr != nil && string(has.files[b.file][expr.Expr.Range().Start.Byte:expr.Expr.Range().End.Byte]) == value {
				d.outputs[id] = strings.TrimPrefix(b.key, "output.")
				return d.outputs[id]
			}
		}
	}
	for other, name := range d.outputs {
		taken["output."+name] = taken["output."+name] || other[0] == part
	}
	typ, label, _ := strings.Cut(d.places[key].name(key), ".")
	base := label
	if typ != "module" {
		_, short, _ := strings.Cut(typ, "_")
		base = strings.Trim(short+"_"+label, "_")
	}
	if attr != "" {
		base += "_" + attr
	}
	name := base
	for n := 2; taken["output."+name]; n++ {
		name = fmt.Sprintf("%s_%d", base, n)
	}
	d.outputs[id] = name
	text := fmt.Sprintf("output %q {\n  value = %s\n}\n", name, value)
	if e.part.Sensitive != nil && e.part.Sensitive(key, attr) {
		text = fmt.Sprintf("output %q {\n  value     = %s\n  sensitive = true\n}\n", name, value)
	}
	e.add("outputs.tf", text)
	return name
}
