package rootmoves

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
	"tofu/internal/backend"
	"tofu/internal/carve"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Part returns a root module as a part of a division of the root module whose directory is from.
func (m *Mover) Part(ctx context.Context, r *roots.Root, from string) (*carve.Part, error) {
	files, err := readFiles(r.Dir)
	if err != nil {
		return nil, err
	}
	module, err := carve.Parse(filepath.ToSlash(r.Dir), files)
	if err != nil {
		return nil, err
	}
	return &carve.Part{Name: r.Name, Module: module, Back: relative(r.Dir, from),
		Reads: func(of string) (string, func(string) string, error) { return m.reads(ctx, r, of) }}, nil
}

// relative returns the path from one directory to another, with slashes.
func relative(from, to string) string {
	rel, err := filepath.Rel(roots.Absolute(from), roots.Absolute(to))
	if err != nil {
		return roots.Absolute(to)
	}
	return filepath.ToSlash(rel)
}

// readFiles returns the configuration files of a directory by name.
func readFiles(dir string) (map[string][]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	files := make(map[string][]byte)
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".json")
		if e.IsDir() || strings.HasPrefix(name, ".") || !strings.HasSuffix(name, ".tf") && !strings.HasSuffix(name, ".tofu") {
			continue
		}
		if files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// reads returns the name of the data source with which a root module reads the state of another one, and unless it
// exists, a function that returns its block.
func (m *Mover) reads(ctx context.Context, r *roots.Root, of string) (string, func(name string) string, error) {
	other := m.Estate.ByName(of)
	for _, read := range r.Reads {
		label, own := strings.CutPrefix(read.User, "data.terraform_remote_state.")
		if read.Kind == roots.RemoteState && read.State == other.State && own && !strings.Contains(label, ".") {
			return label, nil, nil
		}
	}
	settings, workspace, err := m.settings(ctx, other)
	if err != nil {
		return "", nil, err
	}
	name, block := readBlock(of, settings, workspace, relative(r.Dir, other.Dir))
	return name, block, nil
}

// settings returns the settings of the backend of a root module, and its workspace.
func (m *Mover) settings(ctx context.Context, r *roots.Root) (*session.BackendSettings, string, error) {
	s := m.Open(r)
	defer s.Close()
	cfg, err := s.LoadRootModule(ctx, m.Vars)
	if err != nil {
		return nil, "", err
	}
	settings, err := s.CurrentBackend(ctx, cfg)
	if err != nil {
		return nil, "", err
	}
	workspace, err := s.Workspace()
	if err == nil && strings.Contains(settings.Driver.Name, "/") {
		err = tfdiags.Errorf("A state can't be read", "The state of %s is in the store of a provider, from which "+
			"terraform_remote_state can't read outputs.", r.Name)
	}
	return settings, workspace, err
}

// readBlock returns a name for a data source that reads the state of a root module in the directory dir, and a
// function that returns its block.
func readBlock(root string, settings *session.BackendSettings, workspace, dir string) (string, func(string) string) {
	name := strings.TrimLeft(notName.ReplaceAllString(root, "_"), "_-0123456789")
	return cmp.Or(name, "root"), func(name string) string { return RemoteState(name, settings, workspace, dir) }
}

// RemoteState returns the block of a data source that reads a state. dir is the path to the directory of the
// root module that has the state, for local states.
func RemoteState(name string, settings *session.BackendSettings, workspace, dir string) string {
	config := make(map[string]cty.Value)
	for attr, v := range settings.Config.AsValueMap() {
		if !v.IsNull() && (!v.CanIterateElements() || v.LengthInt() > 0) {
			config[attr] = v
		}
	}
	if settings.Driver.Name == "local" {
		path := func(attr, other string) {
			if v, set := config[attr]; set {
				other = v.AsString()
			}
			if !filepath.IsAbs(other) {
				other = dir + "/" + other
			}
			config[attr] = cty.StringVal(other)
		}
		path("path", "terraform.tfstate")
		if workspace != backend.DefaultWorkspace {
			path("workspace_dir", "terraform.tfstate.d")
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "data \"terraform_remote_state\" %q {\nbackend = %q\n", name, settings.Driver.Name)
	if workspace != backend.DefaultWorkspace {
		fmt.Fprintf(&b, "workspace = %q\n", workspace)
	}
	b.WriteString("config = {\n")
	for _, attr := range slices.Sorted(maps.Keys(config)) {
		fmt.Fprintf(&b, "%s = %s\n", attr, hclwrite.TokensForValue(config[attr]).Bytes())
	}
	b.WriteString("}\n}\n")
	return string(hclwrite.Format([]byte(b.String())))
}

// State reads the state of a root module.
func (m *Mover) State(ctx context.Context, r *roots.Root) (*states.State, error) {
	s := m.Open(r)
	defer s.Close()
	open, err := s.OpenState(ctx, session.StateRequest{Vars: m.Vars})
	if err != nil {
		return nil, err
	}
	return open.State(), open.Close()
}

// Sensitive returns a function that reports whether an attribute of an item is sensitive in a state. If the
// attribute is "", it reports whether any is.
func Sensitive(st *states.State) func(item, attr string) bool {
	known := make(map[[2]string]bool)
	for r := range st.Resources() {
		for _, inst := range r.Instances {
			if inst.Current == nil || !r.Addr.Module.IsRoot() {
				continue
			}
			for _, path := range inst.Current.SensitivePaths {
				if len(path) == 0 {
					continue
				}
				if step, ok := path[0].(cty.GetAttrStep); ok {
					known[[2]string{r.Addr.String(), step.Name}], known[[2]string{r.Addr.String(), ""}] = true, true
				}
			}
		}
	}
	return func(item, attr string) bool { return known[[2]string{item, attr}] }
}

// Write writes the files of a division. The moved blocks of a root module come first, so that a plan of it
// refuses to create or destroy what moves if the rest is not written; the root module from comes last, so that
// its blocks are gone only when others have them. dirs has the directories of the parts.
func Write(d *carve.Division, from string, dirs map[string]string) error {
	order := slices.SortedFunc(maps.Keys(d.Files), func(a, b string) int {
		return slices.Compare([]string{fmt.Sprint(a == from), a}, []string{fmt.Sprint(b == from), b})
	})
	for _, part := range order {
		files := d.Files[part]
		if err := os.MkdirAll(dirs[part], 0o755); err != nil {
			return err
		}
		names := slices.SortedFunc(maps.Keys(files), func(a, b string) int {
			return slices.Compare([]string{fmt.Sprint(a != carve.MovesFile), a}, []string{fmt.Sprint(b != carve.MovesFile), b})
		})
		for _, name := range names {
			path := filepath.Join(dirs[part], name)
			err := error(nil)
			if len(files[name]) == 0 {
				err = os.Remove(path)
			} else {
				err = atomicfile.WriteNamed(path, files[name], 0o644)
			}
			if err != nil {
				return fmt.Errorf("writing %s: %w", path, err)
			}
		}
	}
	return nil
}

// Item returns the block to which an address belongs as a whole, such as aws_vpc.main or module.net. It
// returns "" for an instance, and for what is in a module.
func Item(t addrs.Target) string {
	if keyed(t) {
		return ""
	}
	return t.String()
}
