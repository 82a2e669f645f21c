package command

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/getmodules"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

var cmdSBOM = &Command{
	Name: "sbom", Own: true, Short: "List the installed providers and modules as a CycloneDX document",
	Long: `
Prints which providers and modules the configuration uses, with versions and
hashes, as a document in CycloneDX's JSON format. Providers are those of the
lock file. Modules are those that are installed, except local ones; the hash is
that of the installed files. "tofu roots sbom" does this for many root modules.`,
	New: with(func(f *sbomFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.add(fs)
	}, func(ctx context.Context, app *App, f *sbomFlags, args []string) error {
		if err := noArguments(args); err != nil {
			return err
		}
		b := newBOM(filepath.Base(app.WorkDir))
		err := b.root(ctx, app.Session, filepath.Base(app.WorkDir), f.Variables)
		return f.write(app, b, err)
	}),
}

var cmdRootsSBOM = &Command{
	Name: "sbom", Args: "[DIR...]", Short: "List the providers and modules of all root modules",
	Long: `
Prints which providers and modules the root modules below the directories use,
as one document in CycloneDX's JSON format; see "tofu sbom". The dependencies in
it say which root module uses what.`,
	New: with(func(f *sbomFlags, fs *options) {
		f.viewFlags.add(fs)
		f.add(fs)
		f.addSelect(fs)
	}, func(ctx context.Context, app *App, f *sbomFlags, args []string) error {
		estate, selected, err := f.find(ctx, app, args)
		if estate == nil {
			return err
		}
		b := newBOM(filepath.Base(app.WorkDir))
		for _, r := range selected {
			if r.Err == nil { // err already contains r.Err
				err = tfdiags.Join(err, b.root(ctx, app.at(r, io.Discard, app.Timings).Session, r.Name, session.Variables{}))
			}
		}
		return f.write(app, b, err)
	}),
}

type sbomFlags struct {
	viewFlags
	varFlags
	selectFlags
	Out string
}

func (f *sbomFlags) add(fs *options) {
	fs.StringVar(&f.Out, "out", "", "Write to `path` instead of standard output.")
}

// write writes the document unless err says that it is incomplete.
func (f *sbomFlags) write(app *App, b *bomDocument, err error) error {
	app.printOnStderr(app.Warnings.Take()) // standard output is for the document only
	if err != nil {
		return err
	}
	out, err := openDocument(app.Out, f.Out)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return out.close(enc.Encode(b.sorted()))
}

// The types below are the parts of CycloneDX 1.6 that are used.
type (
	bomDocument struct {
		Format       string          `json:"bomFormat"`
		Spec         string          `json:"specVersion"`
		Version      int             `json:"version"`
		Metadata     bomMetadata     `json:"metadata"`
		Components   []*bomComponent `json:"components"`
		Dependencies []*bomUses      `json:"dependencies"`

		known map[string]bool // references of the components
	}
	bomMetadata struct {
		Tools     bomTools     `json:"tools"`
		Component bomComponent `json:"component"`
	}
	bomTools struct {
		Components []bomComponent `json:"components"`
	}
	bomComponent struct {
		Type       string        `json:"type"`
		Ref        string        `json:"bom-ref"`
		Group      string        `json:"group,omitempty"`
		Name       string        `json:"name"`
		Version    string        `json:"version,omitempty"`
		Properties []bomProperty `json:"properties,omitempty"`
	}
	bomProperty struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	bomUses struct {
		Ref string   `json:"ref"`
		On  []string `json:"dependsOn"`
	}
)

// hashProperty is the name of properties with a hash in the form of lock files: "h1:" and the hash
// of all files, or "zh:" and the SHA-256 of the archive for one platform.
const hashProperty = "tofu:hash"

func newBOM(name string) *bomDocument {
	by := version.Engine()
	return &bomDocument{Format: "CycloneDX", Spec: "1.6", Version: 1, known: make(map[string]bool),
		Metadata: bomMetadata{
			Tools: bomTools{[]bomComponent{{Type: "application", Ref: by.Name + "@" + by.Version, Name: by.Name,
				Version: by.Version, Properties: []bomProperty{{"commit", by.Commit}}}}},
			Component: bomComponent{Type: "application", Ref: "estate", Name: name}},
		Components: []*bomComponent{}, Dependencies: []*bomUses{}}
}

// add adds a component unless the document has it, and records that a root module uses it.
func (b *bomDocument) add(uses *bomUses, c *bomComponent) {
	if !b.known[c.Ref] {
		b.known[c.Ref] = true
		b.Components = append(b.Components, c)
	}
	uses.On = append(uses.On, c.Ref)
}

// root adds a root module and what it uses.
func (b *bomDocument) root(ctx context.Context, s *session.Session, name string, vars session.Variables) error {
	cfg, err := s.LoadInstalled(ctx, vars)
	if err != nil {
		return err
	}
	uses := &bomUses{Ref: "root:" + name, On: []string{}}
	b.Components = append(b.Components, &bomComponent{Type: "application", Ref: uses.Ref, Name: name})
	if err := tfdiags.Join(b.providers(s, cfg, uses), b.modules(s, cfg, uses)); err != nil {
		return err
	}
	slices.Sort(uses.On)
	uses.On = slices.Compact(uses.On)
	b.Dependencies = append(b.Dependencies, uses)
	return nil
}

func (b *bomDocument) providers(s *session.Session, cfg *session.Config, uses *bomUses) error {
	locks, err := depsfile.Load(s.LockFile(), s.Warnings.Add)
	if err != nil {
		return err
	}
	var missing []string
	for p := range session.Requirements(cfg.Config, nil) {
		if _, ok := locks.Provider(p); !ok && !p.IsBuiltin() {
			missing = append(missing, p.ForDisplay())
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return tfdiags.Errorf("Providers without a lock", "The lock file %s has no entry for %s. Run %q first.",
			s.LockFile(), strings.Join(missing, ", "), s.InitCommand)
	}
	for _, p := range locks.Providers() {
		lock, _ := locks.Provider(p)
		c := &bomComponent{Type: "library", Ref: "provider:" + p.String() + "@" + lock.Version.String(),
			Group: p.DisplayHost() + "/" + p.Namespace, Name: p.Type, Version: lock.Version.String()}
		for _, h := range lock.Hashes {
			c.Properties = append(c.Properties, bomProperty{hashProperty, string(h)})
		}
		b.add(uses, c)
	}
	return nil
}

// modules adds the packages of modules that are not local.
func (b *bomDocument) modules(s *session.Session, cfg *session.Config, uses *bomUses) error {
	locks, _, err := depsfile.LoadModules(s.ModuleLockFile())
	if err != nil {
		return err
	}
	for c := range cfg.AllModules() {
		if c.Path.IsRoot() {
			continue
		}
		at, sourceErr := addrs.ParseModuleSource(c.Source, c.Version != "")
		if sourceErr != nil || at.Kind == addrs.LocalModule { // local modules are part of their callers
			err = errors.Join(err, sourceErr)
			continue
		}
		source := getmodules.WithoutSecrets(at.Address)
		hash, hashErr := getmodules.HashTree(filepath.Join(s.ModulesDir(), strings.Join(c.Path.Names(), ".")))
		if hashErr != nil {
			err = errors.Join(err, hashErr)
			continue
		}
		found := &bomComponent{Type: "library", Ref: "module:" + source + "@" + c.Version + "#" + string(hash),
			Name: source, Version: c.Version, Properties: []bomProperty{{hashProperty, string(hash)}}}
		for _, lock := range locks {
			if lock.Hash == hash && lock.Version == c.Version && lock.Revision != "" {
				found.Properties = append(found.Properties, bomProperty{"tofu:revision", lock.Revision})
				break
			}
		}
		b.add(uses, found)
	}
	return err
}

// sorted returns the document with everything in order, so that equal installations have equal
// documents.
func (b *bomDocument) sorted() *bomDocument {
	slices.SortFunc(b.Components, func(x, y *bomComponent) int { return strings.Compare(x.Ref, y.Ref) })
	slices.SortFunc(b.Dependencies, func(x, y *bomUses) int { return strings.Compare(x.Ref, y.Ref) })
	refs := make(map[string]bool)
	for _, d := range b.Dependencies {
		refs[d.Ref] = true
	}
	b.Dependencies = append([]*bomUses{{b.Metadata.Component.Ref, slices.Sorted(maps.Keys(refs))}}, b.Dependencies...)
	return b
}
