package fleet

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"tofu/internal/dag"
	"tofu/internal/encryption"
	"tofu/internal/limits"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/version"
)

// Names of files in an archive. The first file, signature, is empty: its name marks the archive as
// an estate plan.
const (
	signature    = "tofu-estate-plan"
	manifestName = "manifest.json"
	formatNow    = 2
	// formatWithoutMoves is that of archives without moves. Their files of inputs have only the root modules.
	formatWithoutMoves = 1
)

// Manifest describes the plans in an archive.
type Manifest struct {
	Format  int          `json:"format"`
	ID      string       `json:"id"` // ID of the archive
	Tofu    string       `json:"tofu_version"`
	Engine  version.Info `json:"engine"`
	Mode    plans.Mode   `json:"mode"`
	Errored bool         `json:"errored"` // planning failed in some root modules
	Roots   []*Planned   `json:"roots"`   // planned root modules, in the order of the run
	// Failed lists the root modules that were not planned, in the order of the run.
	Failed []*Unplanned `json:"failed,omitempty"`
	// Directories are the directories below which the estate was found; empty for the working
	// directory.
	Directories []string `json:"directories,omitempty"`
	Moves       []Move   `json:"moves,omitempty"` // they come before the plans
}

// Move is a move of objects from one root module to another.
type Move struct {
	From MoveEnd `json:"from"`
	To   MoveEnd `json:"to"`
}

// String names both ends, as moved blocks do.
func (m *Move) String() string { return m.From.String() + " to " + m.To.String() }

func (e *MoveEnd) String() string { return "root[" + tfdiags.Quote(e.Root) + "]." + e.Addr }

// MoveEnd is one end of a move.
type MoveEnd struct {
	Root  string        `json:"root"`
	State roots.StateID `json:"state"`
	Addr  string        `json:"address"`
}

// Planned is the plan of one root module in an archive.
type Planned struct {
	Name  string        `json:"name"`
	Dir   string        `json:"dir"`
	State roots.StateID `json:"state"`
	// Plan and Inputs are the names of files in the archive.
	Plan   string   `json:"plan,omitempty"`   // "" if there is nothing to apply
	Inputs string   `json:"inputs,omitempty"` // "" if the plan doesn't use planned outputs
	Needs  []string `json:"needs,omitempty"`  // root modules in the archive that must be applied first
	Reads  []Read   `json:"reads,omitempty"`

	Serial    uint64          `json:"serial"`
	Lineage   string          `json:"lineage"`
	Workspace string          `json:"workspace"`
	Changes   bool            `json:"changes"`
	Records   bool            `json:"records,omitempty"` // applying only updates data source results
	Warns     bool            `json:"warns,omitempty"`   // the plan has warnings
	Counts    planview.Counts `json:"counts"`
	Deferred  int             `json:"deferred,omitempty"`
	// Waits lists the root modules whose deferred changes decide outputs that this root module
	// reads. The plan of this root module is then shown but not applied. A new plan is created
	// after those changes.
	Waits   []string `json:"waits,omitempty"`
	Unknown []string `json:"unknown_variables,omitempty"`
}

// Unplanned is a root module in an archive that was not planned.
type Unplanned struct {
	Name   string        `json:"name"`
	Dir    string        `json:"dir"`
	Status ui.RootStatus `json:"status"`        // RootFailed, RootInterrupted or RootSkipped
	Why    string        `json:"why,omitempty"` // why it was skipped
	// Because is the root module whose failure is the reason, or "".
	Because string `json:"because,omitempty"`
	// Errors is the name of the file with the errors, or "" without errors. The file is encrypted
	// like a plan, since errors may contain values.
	Errors string `json:"errors,omitempty"`
	Reads  []Read `json:"reads,omitempty"`
}

// Skipped reports whether the run didn't try to plan the root module.
func (u *Unplanned) Skipped() bool { return u.Status == ui.RootSkipped }

// why returns the reason why there is no plan for the root module.
func (u *Unplanned) why() string {
	switch u.Status {
	case ui.RootSkipped:
		return "it was not planned, because " + u.Why
	case ui.RootInterrupted:
		return "planning it was interrupted"
	}
	return "planning it failed"
}

// Read describes how a root module uses another one in the same archive.
type Read struct {
	Root    string         `json:"root"`
	Kind    roots.ReadKind `json:"kind"`
	User    string         `json:"user,omitempty"` // see roots.Read
	File    string         `json:"file,omitempty"`
	Line    int            `json:"line,omitempty"`
	All     bool           `json:"all,omitempty"`
	Outputs []string       `json:"outputs,omitempty"`
}

// Archive is a file with the plans of many root modules. It is written while they are planned.
type Archive struct {
	path string
	mode plans.Mode
	seal cipher.AEAD // encrypts the files with a key in memory; nil if the archive is kept

	mu     sync.Mutex
	file   *os.File
	zip    *zip.Writer
	roots  map[*roots.Root]*Planned
	errors map[*roots.Root]string // names of the files with errors
}

// Create begins an archive. [Archive.Close] creates the file at path.
func Create(path string, mode plans.Mode) (*Archive, error) {
	// Only the user may read the file: a plan may contain secrets.
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-")
	if err != nil {
		return nil, notSaved(path, err)
	}
	a := &Archive{path: path, mode: mode, file: file, zip: zip.NewWriter(file), roots: make(map[*roots.Root]*Planned),
		errors: make(map[*roots.Root]string)}
	if _, err := a.zip.CreateHeader(&zip.FileHeader{Name: signature, Method: zip.Store}); err != nil {
		a.Discard()
		return nil, notSaved(path, err)
	}
	return a, nil
}

// CreateTemporary is like Create, for an archive that only this process reads, with Archive.Open. Its
// content is encrypted, because it may have sensitive values of root modules that enforce encryption.
func CreateTemporary(path string, mode plans.Mode) (*Archive, error) {
	a, err := Create(path, mode)
	if err != nil {
		return nil, err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	block, err := aes.NewCipher(key)
	if err == nil {
		a.seal, err = cipher.NewGCMWithRandomNonce(block)
	}
	if err != nil {
		a.Discard()
		return nil, notSaved(path, err)
	}
	return a, nil
}

// Open opens the closed archive for reading.
func (a *Archive) Open() (*Saved, error) {
	s, err := Open(a.path)
	if err == nil {
		s.seal = a.seal
	}
	return s, err
}

func notSaved(path string, err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return tfdiags.Errorf("Failed to write the plan file", "The plan could not be saved to %s: %s.", path, err)
}

// add adds the plan of a root module.
func (a *Archive) add(r *roots.Root, plan []byte, about *PlanSummary, in []byte) error {
	p := &Planned{Name: r.Name, Dir: filepath.ToSlash(r.Dir), State: r.State,
		Serial: about.Serial, Lineage: about.Lineage, Workspace: about.Workspace, Changes: about.Changes,
		Records: about.Records, Warns: about.Warns, Counts: about.Counts, Deferred: about.Deferred, Unknown: about.Unknown,
		Waits: about.Waits}
	a.mu.Lock()
	defer a.mu.Unlock()
	var err error
	if plan != nil {
		p.Plan = fmt.Sprintf("plans/%d", len(a.roots))
		err = a.put(p.Plan, plan)
	}
	if in != nil {
		p.Inputs = fmt.Sprintf("inputs/%d", len(a.roots))
		err = errors.Join(err, a.put(p.Inputs, in))
	}
	a.roots[r] = p
	if err != nil {
		return notSaved(a.path, err)
	}
	return nil
}

// fail adds the errors of a root module that can't be planned, without their details if it isn't
// known how to encrypt them. s is the root module's session.
func (a *Archive) fail(
	ctx context.Context, s *session.Session, r *roots.Root, vars session.Variables, failure error,
) error {
	found := reportedErrors(failure)
	if !encryptionKnown(ctx, s, vars) {
		for i := range found {
			found[i].Detail = "" // the detail may contain values, which may only be stored encrypted
		}
	}
	text, err := json.Marshal(found)
	if target := planTarget(s); err == nil && target != nil {
		text, err = target.Encrypt(text)
	}
	if err != nil {
		return notSaved(a.path, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errors[r] = fmt.Sprintf("errors/%d", len(a.errors))
	if err := a.put(a.errors[r], text); err != nil {
		return notSaved(a.path, err)
	}
	return nil
}

// encryptionKnown reports whether the root module's settings for plan encryption are known. They
// are unknown if the root module failed before its configuration was read.
func encryptionKnown(ctx context.Context, s *session.Session, vars session.Variables) bool {
	if s.Encryption.Evaluated != nil {
		return true
	}
	warnings := s.Warnings.Take()
	_, err := s.FileEncryption(ctx, vars)
	s.Warnings.Take() // the warnings have been reported already
	s.Warnings.Add(warnings...)
	return err == nil
}

// put writes a file to the archive. It doesn't compress the file, because plans are already
// compressed.
func (a *Archive) put(name string, data []byte) error {
	if a.seal != nil && name != manifestName { // the manifest has no values
		data = a.seal.Seal(nil, nil, data, []byte(name))
	}
	w, err := a.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Close completes the archive with the results of planning.
func (a *Archive) Close(run *Run, results []*Result) error {
	m := &Manifest{Format: formatNow, ID: rand.Text(), Tofu: version.String, Engine: version.Engine(), Mode: a.mode,
		Directories: run.Directories, Moves: run.Moves}
	in := make(map[*roots.Root]bool, len(results))
	for _, result := range results {
		in[result.Root] = true
	}
	for _, result := range results {
		p := a.roots[result.Root]
		if p == nil || result.Failed() {
			m.Errored = true
			m.Failed = append(m.Failed, &Unplanned{Name: result.Root.Name, Dir: filepath.ToSlash(result.Root.Dir),
				Status: result.Status(), Why: result.Why, Because: result.Because, Errors: a.errors[result.Root],
				Reads: readsOf(result.Root, in)})
			continue
		}
		for _, needed := range run.Estate.Needs(result.Root) {
			if a.roots[needed] != nil {
				p.Needs = append(p.Needs, needed.Name)
			}
		}
		p.Reads = readsOf(result.Root, in)
		m.Roots = append(m.Roots, p)
	}
	return a.finish(m)
}

// finish completes the archive with its manifest.
func (a *Archive) finish(m *Manifest) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = a.put(manifestName, text)
	}
	err = errors.Join(err, a.zip.Close(), a.file.Sync(), a.file.Close())
	if err == nil {
		err = os.Rename(a.file.Name(), a.path)
	}
	if err != nil {
		os.Remove(a.file.Name())
		return notSaved(a.path, err)
	}
	return nil
}

// readsOf returns how a root module uses other root modules in the archive.
func readsOf(r *roots.Root, in map[*roots.Root]bool) []Read {
	var out []Read
	for _, read := range r.Reads {
		if read.Root == nil || read.Root == r || !in[read.Root] {
			continue
		}
		out = append(out, Read{Root: read.Root.Name, Kind: read.Kind, User: read.User, File: read.Range.Filename,
			Line: read.Range.Start.Line, All: read.Outputs.All, Outputs: read.Outputs.Names})
	}
	return out
}

// Discard removes an archive that was not completed with Close.
func (a *Archive) Discard() {
	a.file.Close()
	os.Remove(a.file.Name())
}

// Is reports whether data starts like an archive.
func Is(data []byte) bool {
	const header = 30 // bytes before the name of the first file
	return bytes.HasPrefix(data, []byte("PK\x03\x04")) && len(data) > header &&
		bytes.HasPrefix(data[header:], []byte(signature))
}

// IsFile reports whether the file at path is an archive.
func IsFile(path string) bool {
	head, err := readHead(path)
	return err == nil && Is(head)
}

// Saved is an archive that is open for reading. The caller must close it.
type Saved struct {
	Manifest
	path string
	zip  *zip.Reader
	file io.Closer   // nil for an archive in memory
	seal cipher.AEAD // see Archive
}

// Open opens the archive at path and reads its manifest. It returns an error if the file is not an
// archive or has an unknown format.
func Open(path string) (*Saved, error) {
	fail := func(format string, args ...any) (*Saved, error) {
		return nil, tfdiags.Errorf("Failed to load the plan file", format, args...)
	}
	head, err := readHead(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fail("There is no file %s.", path)
	case err != nil:
		return fail("%s.", err)
	case !Is(head):
		return nil, tfdiags.Errorf("Not a plan of many root modules",
			"%s is not a plan that was saved with \"tofu roots plan -out\". The plan of a single root module is "+
				"applied with \"tofu apply\".", path)
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return fail("%s can't be used: %s.", path, err)
	}
	s := &Saved{path: path, zip: &z.Reader, file: z}
	if err := s.load(); err != nil {
		z.Close()
		return fail("%s can't be used: %s.", path, err)
	}
	return s, nil
}

// load reads and checks the manifest.
func (s *Saved) load() error {
	err := s.checkFiles()
	var text []byte
	if err == nil {
		text, err = s.read(manifestName)
	}
	if err == nil {
		err = json.Unmarshal(text, &s.Manifest)
	}
	if err == nil && s.Format != formatNow && s.Format != formatWithoutMoves {
		err = fmt.Errorf("it has format %d, which this version of the program doesn't know", s.Format)
	}
	if err == nil {
		err = s.check()
	}
	return err
}

func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 64)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return head[:n], err
}

// Close closes the archive.
func (s *Saved) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

func (s *Saved) read(name string) ([]byte, error) {
	f, err := s.zip.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	limit := int64(maxText)
	if strings.HasPrefix(name, "plans/") {
		limit = limits.State
	}
	data, err := limits.ReadAll(f, limit, name)
	if err == nil && s.seal != nil {
		data, err = s.seal.Open(nil, nil, data, []byte(name))
	}
	return data, err
}

// maxText is the maximum size of the files in an archive that aren't plans. A root module takes
// about a kilobyte in the manifest, and inputs are values that people look at.
const maxText = 64 << 20

// checkFiles returns an error if a name is there twice, since programs disagree about which of the
// files counts.
func (s *Saved) checkFiles() error {
	seen := make(map[string]bool, len(s.zip.File))
	for _, f := range s.zip.File {
		if seen[f.Name] {
			return fmt.Errorf("it has two files named %q", f.Name)
		}
		seen[f.Name] = true
	}
	return nil
}

// check returns an error if the manifest is not one that a run could have written.
func (m *Manifest) check() error {
	if m.Mode > plans.RefreshOnly {
		return fmt.Errorf("it has the unknown mode %d", m.Mode)
	}
	if len(m.Roots)+len(m.Failed) == 0 {
		return errors.New("it has no root modules")
	}
	graph, ids := &dag.Graph{}, make(map[string]dag.ID)
	add := func(name string) error {
		if _, twice := ids[name]; twice {
			return fmt.Errorf("it has two root modules named %q", name)
		}
		ids[name] = graph.Add()
		return nil
	}
	for _, p := range m.Roots {
		if p == nil {
			return errors.New("it has a root module without a name")
		}
		if err := add(p.Name); err != nil {
			return err
		}
	}
	for _, f := range m.Failed {
		if f == nil {
			return errors.New("it has a root module without a name")
		}
		if err := add(f.Name); err != nil {
			return err
		}
	}
	for _, p := range m.Roots {
		for _, name := range p.Needs {
			needed, known := ids[name]
			if !known {
				return fmt.Errorf("%q needs %q, which it doesn't have", p.Name, name)
			}
			graph.Connect(ids[p.Name], needed)
			if needed == ids[p.Name] {
				return fmt.Errorf("%q needs itself", name)
			}
		}
	}
	if len(graph.Cycles()) > 0 {
		return errors.New("its root modules need each other")
	}
	return nil
}

// Plan reads the plan of a root module. at is the root module's session.
func (s *Saved) Plan(
	ctx context.Context, at *session.Session, p *Planned, vars session.Variables,
) (*session.SavedPlan, error) {
	data, err := s.read(p.Plan)
	if err != nil {
		return nil, tfdiags.Errorf("Failed to load the plan file", "The plan of %s in %s can't be read: %s.", p.Name,
			s.path, err)
	}
	return at.DecodePlan(ctx, s.path, data, vars)
}

// Select returns the archive's root modules from an estate, in the order of the archive. It returns
// an error if the archive was created from another estate.
func (s *Saved) Select(e *roots.Estate) ([]*roots.Root, error) {
	byName := make(map[string]*roots.Root, len(e.Roots))
	for _, r := range e.Roots {
		byName[r.Name] = r
	}
	var out []*roots.Root
	var wrong []string
	for _, p := range s.Roots {
		r := byName[p.Name]
		switch {
		case r == nil:
			wrong = append(wrong, p.Name+": there is no such root module")
		case r.State != p.State:
			wrong = append(wrong, fmt.Sprintf("%s: its state is %s, but the plan was made for the state %s",
				p.Name, r.State.Show(), p.State.Show()))
		case filepath.ToSlash(r.Dir) != p.Dir:
			wrong = append(wrong, fmt.Sprintf("%s: when the plan was made, it was in the directory %s, relative to "+
				"the working directory", p.Name, p.Dir))
		default:
			out = append(out, r)
		}
	}
	if len(wrong) == 0 {
		return out, nil
	}
	const most = 10
	more := ""
	if len(wrong) > most {
		more = fmt.Sprintf("\n  - and %d more", len(wrong)-most)
		wrong = wrong[:most]
	}
	return nil, tfdiags.Errorf("The plan is for other root modules", "%s can't be applied here:\n  - %s%s\nNothing was "+
		"changed. Apply it where it was made, or make a new plan.", s.path, strings.Join(wrong, "\n  - "), more)
}

// Names returns the names of the root modules in the archive.
func (s *Saved) Names() []string {
	var out []string
	for _, p := range s.Roots {
		out = append(out, p.Name)
	}
	return out
}

// Incomplete returns a warning that names the root modules without a plan, or nil if all have one.
func (s *Saved) Incomplete() tfdiags.Diagnostics {
	if len(s.Failed) == 0 {
		return nil
	}
	var names []string
	for _, f := range s.Failed {
		names = append(names, f.Name)
	}
	all := len(s.Failed) + len(s.Roots)
	return tfdiags.Warningf("The plan is incomplete", "Of %s, %d could not be planned, so nothing changes there: %s. "+
		"The plans of the others are applied.", ui.Count(all, "root module"), len(names), FirstNames(names)).List()
}

// Summary returns the summary of all plans.
func (s *Saved) Summary() ui.Estate {
	var results []*Result
	for _, p := range s.Roots {
		results = append(results, &Result{Plan: p.summary()})
	}
	out := Summarize("plan", results)
	out.Roots += len(s.Failed)
	for _, f := range s.Failed {
		if f.Skipped() {
			out.Skipped++
		} else {
			out.Failed++
		}
	}
	return out
}

// NotPlanned says in one line how many root modules the run didn't try to plan, and why. It returns "" if it
// tried all.
func (s *Saved) NotPlanned() string {
	var results []*Result
	for _, f := range s.Failed {
		results = append(results, &Result{Skipped: f.Skipped(), Why: f.Why, Because: f.Because})
	}
	return NotStarted(results)
}

// Rows returns the planned root modules as tables show them.
func (s *Saved) Rows() []planview.Root {
	out := make([]planview.Root, len(s.Roots))
	for i, p := range s.Roots {
		out[i] = p.Row()
	}
	return out
}

// Errors reads the errors of a root module that can't be planned. at is the root module's session.
func (s *Saved) Errors(ctx context.Context, at *session.Session, f *Unplanned) ([]ReportedError, error) {
	if f.Errors == "" {
		return nil, nil
	}
	text, err := s.read(f.Errors)
	if err == nil && encryption.IsEncrypted(text) {
		var config *encryption.Config
		if config, err = at.FileEncryption(ctx, session.Variables{}); err == nil {
			text, err = session.DecryptFile(ctx, config.Plan(), text)
		}
	}
	var out []ReportedError
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return nil, tfdiags.Errorf("Failed to load the plan file", "The errors of %s in %s can't be read: %s.", f.Name,
			s.path, err)
	}
	return out, nil
}

func (p *Planned) summary() *PlanSummary {
	return &PlanSummary{Counts: p.Counts, Changes: p.Changes, Records: p.Records, Warns: p.Warns, Deferred: p.Deferred,
		Waits: p.Waits}
}

// Shown reports whether views show the plan: whether it has changes, failed checks or warnings.
func (p *Planned) Shown() bool { return p.summary().Shown() }

// Row returns the root module as tables show it.
func (p *Planned) Row() planview.Root { return p.summary().row(p.Name) }

// WaitsFor describes what the plan waits for. It returns "" if the plan doesn't wait.
func (p *Planned) WaitsFor() string { return p.summary().waitsFor() }
