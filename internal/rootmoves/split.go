package rootmoves

import (
	"bytes"
	"context"
	jsontext "encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/json"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/carve"
	"tofu/internal/configs/inputs"
	"tofu/internal/depsfile"
	"tofu/internal/hclfmt"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// stateKeys has the argument that says where a state is, by the type of the backend, and its default.
var stateKeys = map[string][2]string{
	"azurerm": {"key", ""}, "consul": {"path", ""}, "cos": {"key", "terraform.tfstate"}, "gcs": {"prefix", ""},
	"kubernetes": {"secret_suffix", ""}, "local": {"path", ""}, "oss": {"key", "terraform.tfstate"},
	"pg": {"schema_name", "terraform_remote_state"}, "postgres": {"schema_name", "tofu"}, "s3": {"key", ""},
}

// Split is a proposal to divide a root module into several.
type Split struct {
	Groups   []carve.Group // the first one stays
	Division *carve.Division
	Dirs     map[string]string // directories of the parts, by name
	Old      map[string][]byte // the files of the root module
	// Copies are further files of new root modules, by path. Each has the mode of the file of this name in From.
	Copies map[string][]byte
	From   string
}

// SplitBy says how to split a root module.
type SplitBy struct {
	By    string // "reads", "module", "type" or "tag"
	Tag   string // the name of the tag, if By is "tag"
	Parts int    // for "reads"; 0 for one part for each 300 objects
}

// objectsPerPart is the number of objects in a part, unless a number of parts is given.
const objectsPerPart = 300

// Split proposes how to divide a root module.
func (m *Mover) Split(ctx context.Context, r *roots.Root, by SplitBy) (*Split, error) {
	source, err := m.Part(ctx, r, r.Dir)
	if err != nil {
		return nil, err
	}
	st, err := m.State(ctx, r)
	if err != nil {
		return nil, err
	}
	source.Sensitive = Sensitive(st)
	objects, tags := describe(st, by.Tag)
	grouping := carve.Grouping{Parts: by.Parts, Objects: func(item string) int { return objects[item] }}
	switch by.By {
	case "module":
		grouping.By = func(item string) string {
			name, _ := strings.CutPrefix(item, "module.")
			if name == item {
				return ""
			}
			return name
		}
	case "type":
		grouping.By = carve.ItemName
	case "tag":
		grouping.By = func(item string) string { return strings.Trim(notName.ReplaceAllString(tags[item], "_"), "_") }
	}
	total := 0
	for _, n := range objects {
		total += n
	}
	if grouping.Parts == 0 {
		grouping.Parts = max(2, (total+objectsPerPart-1)/objectsPerPart)
	}
	s := &Split{Groups: source.Module.Partition(grouping), From: r.Name}
	if len(s.Groups) < 2 {
		return nil, tfdiags.Errorf("Nothing to split", "All blocks of %s belong together this way: no group of them could be a root "+
			"module that needs nothing of the rest.", r.Name)
	}
	return s, m.divide(ctx, s, r, source)
}

// divide computes the files of the parts.
func (m *Mover) divide(ctx context.Context, s *Split, r *roots.Root, source *carve.Part) error {
	settings, workspace, err := m.settings(ctx, r)
	if err != nil {
		return err
	}
	if workspace != backend.DefaultWorkspace {
		return tfdiags.Errorf("Another workspace is selected", "%s uses the workspace %q. Only root modules in the workspace "+
			"\"default\" can be split.", r.Name, workspace)
	}
	parts, places := map[string]*carve.Part{r.Name: source}, map[string]carve.Place{}
	s.Dirs, s.Old = map[string]string{r.Name: r.Dir}, source.Module.Files()
	of := map[string]*session.BackendSettings{r.Name: settings}
	for i := range s.Groups[1:] {
		g := &s.Groups[i+1]
		suffix := g.Name
		g.Name = path.Join(path.Dir(r.Name), path.Base(r.Name)+"-"+suffix)
		dir := filepath.Join(filepath.Dir(r.Dir), filepath.Base(r.Dir)+"-"+suffix)
		if r.Dir == "." {
			g.Name, dir = suffix, suffix
		}
		if _, err := os.Stat(dir); err == nil || m.Estate.ByName(g.Name) != nil {
			return tfdiags.Errorf("The directory exists", "The objects in the group %q would get the root module %s, which exists "+
				"already. Rename it, or form other groups.", suffix, dir)
		}
		config, replaced, err := ownBackend(r, settings, suffix)
		if err != nil {
			return err
		}
		of[g.Name], s.Dirs[g.Name] = config, dir
		parts[g.Name] = &carve.Part{Name: g.Name, Back: relative(dir, r.Dir), Backend: replaced, Sensitive: source.Sensitive}
		for _, item := range g.Items {
			places[item] = carve.Place{Part: g.Name, To: item}
		}
	}
	for name, p := range parts {
		p.Reads = func(other string) (string, func(string) string, error) {
			name, block := readBlock(other, of[other], workspace, relative(s.Dirs[name], s.Dirs[other]))
			return name, block, nil
		}
	}
	if s.Division, err = source.Module.Divide(r.Name, places, parts); err != nil {
		return err
	}
	s.Division.Notes = slices.DeleteFunc(s.Division.Notes, func(note string) bool {
		return strings.Contains(note, " has a copy of var.") // files with values are copied
	})
	if r.IsDeclared() {
		s.Division.Notes = append(s.Division.Notes, fmt.Sprintf("%s declares %s: declare the new root modules there, too, with "+
			"what they need of its settings.", tfdiags.Place(r.Declared.Range), r.Name))
	}
	return s.copies(r)
}

// ownBackend returns the settings of the backend of a new root module, and the arguments that differ.
func ownBackend(r *roots.Root, settings *session.BackendSettings, suffix string) (
	*session.BackendSettings, map[string]string, error) {
	key, known := stateKeys[settings.Driver.Name]
	if !known {
		return nil, nil, tfdiags.Errorf("The backend can't be copied", "%s has the backend %q, for which new root modules get no "+
			"place of their own automatically. Write them yourself, and use \"tofu roots move\".", r.Name, settings.Driver.Name)
	}
	attrs := settings.Config.AsValueMap()
	value := key[1]
	if v := attrs[key[0]]; !v.IsNull() {
		value = v.AsString()
	}
	if value == "" { // the local backend, in the directory of each root module
		return settings, map[string]string{}, nil
	}
	ext := path.Ext(value)
	value = strings.TrimSuffix(value, ext) + "-" + suffix + ext
	attrs[key[0]] = cty.StringVal(value)
	own := *settings
	own.Config = cty.ObjectVal(attrs)
	return &own, map[string]string{key[0]: tfdiags.Quote(value)}, nil
}

// describe returns the number of objects of each item of a root module, and the value of a tag.
func describe(st *states.State, tag string) (objects map[string]int, tags map[string]string) {
	objects, tags = make(map[string]int), make(map[string]string)
	for r := range st.Resources() {
		if r.Addr.Resource.Mode != addrs.Managed {
			continue
		}
		item := r.Addr.String()
		if steps := r.Addr.Module.Steps(); len(steps) > 0 {
			item = "module." + steps[0].Name
		}
		objects[item] += len(r.Instances)
		for _, inst := range r.Instances {
			if tag == "" || inst.Current == nil || tags[item] != "" {
				continue
			}
			var attrs struct{ Tags, Labels map[string]any }
			if jsontext.Unmarshal(inst.Current.Attrs, &attrs) == nil {
				for _, list := range []map[string]any{attrs.Tags, attrs.Labels} {
					if value, ok := list[tag].(string); ok {
						tags[item] = value
					}
				}
			}
		}
	}
	return objects, tags
}

// copies adds the lock file and the values of variables to the new root modules.
func (s *Split) copies(r *roots.Root) error {
	s.Copies = make(map[string][]byte)
	entries, err := os.ReadDir(r.Dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		values := inputs.IsAutomatic(e.Name())
		if !values && e.Name() != depsfile.FileName {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.Dir, e.Name()))
		if err != nil {
			return err
		}
		for _, g := range s.Groups[1:] {
			text := data
			if values {
				if text, err = s.values(data, e.Name(), g.Name); err != nil {
					return err
				}
			}
			if len(text) > 0 {
				s.Copies[filepath.Join(s.Dirs[g.Name], e.Name())] = text
			}
		}
	}
	return nil
}

// values returns the part of a file that sets variables that a part declares.
func (s *Split) values(data []byte, name, part string) (out []byte, err error) {
	isJSON := strings.HasSuffix(name, ".json")
	parse := hclsyntax.ParseConfig
	if isJSON {
		parse = json.ParseWithStartPos
	}
	f, diags := parse(data, name, hcl.InitialPos)
	if diags.HasErrors() {
		return data, nil
	}
	var config []byte
	for _, file := range slices.Sorted(maps.Keys(s.Division.Files[part])) {
		config = append(config, s.Division.Files[part][file]...)
	}
	var lines [][]byte
	attrs, _ := f.Body.JustAttributes()
	for _, attr := range slices.SortedFunc(maps.Values(attrs), func(a, b *hcl.Attribute) int {
		return a.Range.Start.Byte - b.Range.Start.Byte
	}) {
		if strings.Contains(string(config), fmt.Sprintf("variable %q", attr.Name)) {
			lines = append(lines, attr.Range.SliceBytes(data))
		}
	}
	switch {
	case len(lines) == 0:
		return nil, nil
	case isJSON:
		return fmt.Appendf(nil, "{\n  %s\n}\n", bytes.Join(lines, []byte(",\n  "))), nil
	}
	out = append(bytes.Join(lines, []byte("\n")), '\n')
	return hclfmt.Keep(data, out, name)
}

// Write writes the files.
func (s *Split) Write() error {
	for _, name := range slices.Sorted(maps.Keys(s.Copies)) {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		from, err := os.Stat(filepath.Join(s.Dirs[s.From], filepath.Base(name)))
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, s.Copies[name], from.Mode().Perm()); err != nil { // values may be secret
			return err
		}
	}
	return Write(s.Division, s.From, s.Dirs)
}
