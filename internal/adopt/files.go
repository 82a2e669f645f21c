package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
)

// Imports returns the import blocks for some objects: one for each resource, or for each object if a
// for_each can't have the keys.
func Imports(objects []*Object) string {
	byResource := make(map[addrs.AbsResource][]*Object)
	for _, o := range objects {
		byResource[o.Addr.Abs()] = append(byResource[o.Addr.Abs()], o)
	}
	var texts []string
	for _, r := range slices.SortedFunc(maps.Keys(byResource), addrs.AbsResource.Compare) {
		list := byResource[r]
		slices.SortFunc(list, func(x, y *Object) int { return x.Addr.Compare(y.Addr) })
		if _, named := list[0].Addr.Key.IsString(); named && len(list) > 1 {
			texts = append(texts, importBlock(list))
			continue
		}
		for _, o := range list {
			texts = append(texts, importBlock([]*Object{o}))
		}
	}
	return strings.Join(texts, "\n")
}

// importBlock returns the block that imports all objects of a resource, sorted by key.
func importBlock(objects []*Object) string {
	var b strings.Builder
	first := objects[0]
	keyed := len(objects) > 1
	b.WriteString("import {\n")
	to := first.Addr.String()
	if keyed {
		to = first.Addr.Abs().String()
		b.WriteString("for_each = {\n")
		for _, o := range objects {
			fmt.Fprintf(&b, "%s = %s\n", hclwrite.TokensForValue(o.Addr.Key.Value()).Bytes(), hclwrite.TokensForValue(o.target()).Bytes())
		}
		b.WriteString("}\n")
		to += "[each.key]"
	}
	fmt.Fprintf(&b, "to = %s\n", to)
	if first.Provider != "" && first.Provider != first.Addr.Resource.ImpliedProvider() {
		fmt.Fprintf(&b, "provider = %s\n", first.Provider)
	}
	name := "id"
	if first.ID == "" {
		name = "identity"
	}
	target := "each.value"
	if !keyed {
		target = string(hclwrite.TokensForValue(first.target()).Bytes())
	}
	fmt.Fprintf(&b, "%s = %s\n}\n", name, target)
	return string(hclwrite.Format([]byte(b.String())))
}

// target returns the value that identifies the object in an import block.
func (o *Object) target() cty.Value {
	if o.ID != "" {
		return cty.StringVal(o.ID)
	}
	attrs := o.Identity.AsValueMap()
	maps.DeleteFunc(attrs, func(_ string, v cty.Value) bool { return v.IsNull() })
	return cty.ObjectVal(attrs)
}

// Grouping says how resource blocks are put into files. The zero value makes one file.
type Grouping struct {
	By  string // "", "type", "name" or "tag"
	Tag string // the name of the tag, if By is "tag"
}

// ParseGrouping parses type, name or tag:NAME.
func ParseGrouping(text string) (Grouping, error) {
	by, tag, _ := strings.Cut(text, ":")
	switch {
	case (by == "type" || by == "name") && tag == "", by == "tag" && tag != "":
		return Grouping{by, tag}, nil
	}
	return Grouping{}, fmt.Errorf("%q is not type, name or tag:NAME", text)
}

// group returns the group of an object: a name that can be part of a file name, or "".
func (g Grouping) group(o *Object) string {
	name := ""
	switch g.By {
	case "type":
		return o.Type
	case "name": // its first word
		name = o.called()
		if i := strings.IndexAny(name, "-_. /"); i > 0 {
			name = name[:i]
		}
	case "tag":
		for _, attr := range []string{"tags", "labels"} {
			name = cmp.Or(name, tagOf(valueOf(o), attr, g.Tag))
		}
	}
	return strings.Trim(notName.ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// Files returns the text of the configuration files for some objects, by the name of the file. block
// returns the block of a resource. All names begin with prefix, which is a path without an extension.
func Files(objects []*Object, block func(addrs.AbsResource) string, prefix string, by Grouping) map[string]string {
	texts := make(map[string][]string)
	done := make(map[addrs.AbsResource]bool)
	sorted := slices.SortedFunc(slices.Values(objects), func(x, y *Object) int { return x.Addr.Compare(y.Addr) })
	for _, o := range sorted {
		r := o.Addr.Abs()
		if text := block(r); !done[r] && text != "" {
			done[r] = true
			name := prefix
			if group := by.group(o); group != "" {
				name += "_" + group
			}
			texts[name+".tf"] = append(texts[name+".tf"], strings.TrimSpace(text)+"\n")
		}
	}
	texts[prefix+"_imports.tf"] = append(texts[prefix+"_imports.tf"], Imports(objects))
	out := make(map[string]string)
	for name, blocks := range texts {
		out[name] = strings.Join(blocks, "\n")
	}
	return out
}
