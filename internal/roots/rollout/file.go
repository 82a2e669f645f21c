package rollout

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/limits"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
)

// The file of a rollout is a zip archive: a description of the root modules, and for each one with
// its number the file of its plan, if there are changes, and its planned outputs. Plans and outputs
// are encrypted if the root module encrypts its plans.
const (
	manifestName  = "rollout.json"
	formatVersion = "1.0"
)

// Magic is the comment of the archive, by which plan files of one root module are told apart.
const Magic = "tofu rollout"

type manifest struct {
	FormatVersion string         `json:"format_version"`
	Mode          string         `json:"mode"`
	Directories   []string       `json:"directories"`
	Roots         []manifestRoot `json:"roots"`
}

type manifestRoot struct {
	Name     string          `json:"name"`
	State    roots.StateID   `json:"state"`
	Status   Status          `json:"status"`
	Counts   planview.Counts `json:"counts"`
	Deferred int             `json:"deferred,omitempty"`
	Plan     bool            `json:"plan,omitempty"`
	Outputs  bool            `json:"outputs,omitempty"`
}

// modes are the names of modes in files.
var modes = map[plans.Mode]string{plans.Normal: "normal", plans.Destroy: "destroy", plans.RefreshOnly: "refresh-only"}

// Encode returns the file of the results of Plan. dirs are the directories below which the root
// modules were found.
func Encode(mode plans.Mode, dirs []string, planned []*Result) ([]byte, error) {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	doc := manifest{FormatVersion: formatVersion, Mode: modes[mode], Directories: dirs}
	write := func(name string, data []byte) error {
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store}) // plans are compressed already
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
	var errs []error
	for i, r := range planned {
		doc.Roots = append(doc.Roots, manifestRoot{Name: r.Root.Name, State: r.Root.State, Status: r.Status,
			Counts: r.Counts, Deferred: r.Deferred, Plan: r.Plan != nil, Outputs: r.sealed != nil})
		if r.Plan != nil {
			errs = append(errs, write(entryName("plan", i), r.Plan))
		}
		if r.sealed != nil {
			errs = append(errs, write(entryName("outputs", i), r.sealed))
		}
	}
	text, err := json.Marshal(doc)
	errs = append(errs, err, write(manifestName, text), z.SetComment(Magic), z.Close())
	return out.Bytes(), errors.Join(errs...)
}

func entryName(kind string, i int) string { return kind + "/" + strconv.Itoa(i) }

// Is reports whether data is the file of a rollout.
func Is(data []byte) bool { return bytes.HasSuffix(data, []byte(Magic)) }

// File is the file of a rollout.
type File struct {
	Mode plans.Mode
	// Directories are those below which the root modules were found.
	Directories []string

	roots   []manifestRoot
	entries map[string]*zip.File
}

func invalid(err error) error {
	return tfdiags.Errorf("Failed to load the plan file", "The file can't be used: %s.", err)
}

// Decode returns the file with the given content.
func Decode(data []byte) (*File, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, invalid(err)
	}
	f := &File{entries: make(map[string]*zip.File, len(z.File))}
	for _, e := range z.File {
		f.entries[e.Name] = e
	}
	text, err := readEntry(f.entries, manifestName)
	var doc manifest
	if err == nil {
		err = json.Unmarshal(text, &doc)
	}
	if err == nil && doc.FormatVersion != formatVersion {
		err = fmt.Errorf("it has the format %q of another version of this program", doc.FormatVersion)
	}
	if err != nil {
		return nil, invalid(err)
	}
	f.roots, f.Directories = doc.Roots, doc.Directories
	for mode, name := range modes {
		if name == doc.Mode {
			f.Mode = mode
			return f, nil
		}
	}
	return nil, invalid(fmt.Errorf("it has the unknown mode %q", doc.Mode))
}

// Results returns the results of Plan in the file. It is an error if the estate is another one.
func (f *File) Results(estate *roots.Estate) ([]*Result, error) {
	results, err := match(f.roots, estate)
	if err != nil {
		return nil, err
	}
	for i, r := range f.roots {
		result := results[estate.Index(estate.ByName(r.Name))]
		result.Status, result.Counts, result.Deferred = r.Status, r.Counts, r.Deferred
		if r.Plan {
			if result.Plan, err = readEntry(f.entries, entryName("plan", i)); err != nil {
				return nil, invalid(err)
			}
		}
		if r.Outputs {
			if result.sealed, err = readEntry(f.entries, entryName("outputs", i)); err != nil {
				return nil, invalid(err)
			}
		}
	}
	return results, nil
}

// match returns an empty result for each root module. It is an error if the file is about other root
// modules than the estate has.
func match(saved []manifestRoot, estate *roots.Estate) ([]*Result, error) {
	var errs tfdiags.Diagnostics
	const summary = "The plan is for another estate"
	names := make(map[string]bool, len(saved))
	for _, r := range saved {
		names[r.Name] = true
		root := estate.ByName(r.Name)
		switch {
		case root == nil:
			errs.Add(tfdiags.Errorf(summary, "The plan has the root module %q, which is not here.%s Run the command in the "+
				"directory and with the arguments with which the plan was made.", r.Name,
				suggest.DidYouMean(r.Name, estate.Names())))
		case root.State != r.State:
			errs.Add(tfdiags.Errorf(summary, "The root module %q had another state when the plan was made: %s. Make a new "+
				"plan.", r.Name, r.State.Show()))
		}
	}
	results := make([]*Result, len(estate.Roots))
	for i, root := range estate.Roots {
		results[i] = &Result{Root: root}
		if !names[root.Name] {
			errs.Add(tfdiags.Errorf(summary, "The root module %q was added after the plan was made. Make a new plan.",
				root.Name))
		}
	}
	return results, errs.Err()
}

// maxEntry is the largest size of one plan in bytes.
const maxEntry = 2 << 30

func readEntry(entries map[string]*zip.File, name string) ([]byte, error) {
	f := entries[name]
	if f == nil {
		return nil, fmt.Errorf("it lacks the entry %s", name)
	}
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return limits.ReadAll(r, maxEntry, name)
}

// seal returns outputs in the form of a plan file.
func seal(s *session.Session, outputs map[string]cty.Value) ([]byte, error) {
	data, err := msgpack.Marshal(cty.ObjectVal(outputs), cty.DynamicPseudoType)
	if err != nil {
		return nil, fmt.Errorf("encoding the planned outputs: %w", err)
	}
	if target := s.Encrypted.Plan(); target != nil {
		return target.Encrypt(data)
	}
	return data, nil
}

// unseal decodes outputs.
func unseal(ctx context.Context, s *session.Session, data []byte) (map[string]cty.Value, error) {
	config, err := s.FileEncryption(ctx, session.Variables{})
	if err == nil {
		data, err = session.DecryptFile(ctx, config.Plan(), data)
	}
	if err != nil {
		return nil, err
	}
	v, err := msgpack.Unmarshal(data, cty.DynamicPseudoType)
	if err != nil {
		return nil, fmt.Errorf("decoding the planned outputs: %w", err)
	}
	out := v.AsValueMap()
	if out == nil {
		out = map[string]cty.Value{}
	}
	return out, nil
}
