package adopt

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/genconfig"
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
			texts = append(texts, genconfig.ImportBlock(imports(list...)))
			continue
		}
		for _, o := range list {
			texts = append(texts, genconfig.ImportBlock(imports(o)))
		}
	}
	return strings.Join(texts, "\n")
}

func imports(objects ...*Object) []genconfig.Import {
	out := make([]genconfig.Import, len(objects))
	for i, o := range objects {
		out[i] = genconfig.Import{To: o.Addr, Provider: o.Provider, ID: o.ID, Identity: o.Identity}
	}
	return out
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
	return plain(name)
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
