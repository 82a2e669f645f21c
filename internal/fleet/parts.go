package fleet

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

// Extract returns an archive with the plan of one root module of the archive. Its files stay encrypted.
func (s *Saved) Extract(p *Planned) ([]byte, error) {
	one := *p
	one.Needs, one.Reads = nil, nil
	m := s.Manifest // with the ID of the whole archive
	m.Roots, m.Failed, m.Errored = []*Planned{&one}, nil, false
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	err := s.copyFiles(z, []*Planned{&one}, "")
	if err == nil {
		err = finishParts(z, &m)
	}
	if err != nil {
		return nil, fmt.Errorf("taking the plan of %s out of %s: %w", p.Name, s.path, err)
	}
	return out.Bytes(), nil
}

// copyFiles copies the files of root modules to an archive, after the signature. It puts prefix before the names
// of the files.
func (s *Saved) copyFiles(to *zip.Writer, list []*Planned, prefix string) error {
	if prefix == "" {
		if _, err := to.CreateHeader(&zip.FileHeader{Name: signature, Method: zip.Store}); err != nil {
			return err
		}
	}
	for _, p := range list {
		for _, name := range []*string{&p.Plan, &p.Inputs} {
			if *name == "" {
				continue
			}
			data, err := s.read(*name)
			if err != nil {
				return err
			}
			*name = prefix + *name
			if err := putFile(to, *name, data); err != nil {
				return err
			}
		}
	}
	return nil
}

func putFile(to *zip.Writer, name string, data []byte) error {
	w, err := to.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

func finishParts(z *zip.Writer, m *Manifest) error {
	text, err := json.Marshal(m)
	if err == nil {
		err = putFile(z, manifestName, text)
	}
	return errors.Join(err, z.Close())
}

// A PartPlan is the plan of one root module of a run as [Part.Plan] has written it.
type PartPlan struct {
	Result *Result
	Data   []byte   // the content of the archive; nil if the root module was not planned
	Needs  []string // root modules of the run that must be applied first
}

// Merge writes the archive at path with the plans of the root modules of a run, in their order, and the moves that
// come before them.
func Merge(path string, mode plans.Mode, dirs []string, moves []Move, parts []PartPlan) error {
	a, err := Create(path, mode)
	if err != nil {
		return err
	}
	m := &Manifest{Format: formatNow, ID: rand.Text(), Tofu: version.String, Engine: version.Engine(), Mode: mode,
		Directories: dirs, Moves: moves}
	has := make(map[string]bool)
	for i, p := range parts {
		if p.Data == nil || p.Result.Failed() {
			m.Errored = true
			m.Failed = append(m.Failed, &Unplanned{Name: p.Result.Root.Name, Dir: p.Result.Root.Dir, Status: p.Result.Status(),
				Why: p.Result.Why, Because: p.Result.Because})
			continue
		}
		planned, err := a.merge(p, fmt.Sprintf("plans/part%d/", i))
		if err != nil {
			a.Discard()
			return notSaved(path, err)
		}
		for _, name := range p.Needs {
			if has[name] {
				planned.Needs = append(planned.Needs, name)
			}
		}
		has[planned.Name] = true
		m.Roots = append(m.Roots, planned)
	}
	return a.finish(m)
}

// merge adds the files of a part.
func (a *Archive) merge(p PartPlan, prefix string) (*Planned, error) {
	s, err := read(p.Result.Root.Name, p.Data)
	if err != nil {
		return nil, err
	}
	if len(s.Roots) != 1 {
		return nil, errors.New("a worker has not written the plan of one root module")
	}
	return s.Roots[0], s.copyFiles(a.zip, s.Roots, prefix)
}

// read opens an archive in memory.
func read(name string, data []byte) (*Saved, error) {
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, tfdiags.Errorf("Failed to load the plan file", "The plan of %s can't be used: %s.", name, err)
	}
	s := &Saved{path: name, zip: z}
	return s, s.load()
}
