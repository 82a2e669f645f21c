package planfile

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/klauspost/compress/flate"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/limits"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

// File is a plan together with everything else in its plan file.
type File struct {
	Plan *plans.Plan
	// ID identifies the plan. Write sets it if it is empty.
	ID string

	// Serial and Lineage identify the state from which the plan was created.
	Serial  uint64
	Lineage string

	// Config holds the configuration files by slash-separated path. The writer decides what paths
	// are relative to.
	Config map[string][]byte
	// LockFile is the content of the provider lock file, or nil if there is no lock file.
	LockFile []byte
	Backend  Backend

	// Schemas holds the schemas of the resource types in the plan, which are needed to show the
	// plan. They have no descriptions. Schemas is nil if the plan was written without schemas.
	Schemas map[addrs.Provider]*providers.Schema
}

// Backend describes where the state is stored.
type Backend struct {
	Type      string
	Config    []byte // settings, as JSON
	Workspace string
	// State, StateOut and Backup are the values of the flags -state, -state-out and -backup.
	State, StateOut, Backup string
}

const (
	// These have OpenTofu's names and content.
	interchangeEntry = "tfplan"
	stateEntry       = "tfstate"
	prevEntry        = "tfstate-prev"
	lockEntry        = ".terraform.lock.hcl"
	configDir        = "tfconfig/"

	planEntry   = "plan"
	schemaEntry = "schemas"

	maxEntry = limits.State
	maxSize  = 4 * maxEntry // enough for two states, the plan and the configuration
)

// part is a part of a plan that has an entry of its own, as JSON.
type part struct {
	name   string
	encode func(*plans.Plan) any // returns nil if the plan doesn't have the part
	decode func([]byte, *plans.Plan) error
}

var parts = []part{
	{"footprint", encodeFootprint, decodeFootprint},
	{"remote", encodeRemote, decodeRemote},
	{"warnings", encodeWarnings, func(data []byte, p *plans.Plan) error { return json.Unmarshal(data, &p.Warnings) }},
	{"missing-modules", encodeMissing, decodeMissing},
	{"past", encodePast, decodePast},
	{"looked-at", encodeLooked, func(data []byte, p *plans.Plan) error { return json.Unmarshal(data, &p.Looked) }},
}

func encodeWarnings(p *plans.Plan) any {
	if p.Warnings == nil {
		return nil
	}
	return p.Warnings
}

func encodeLooked(p *plans.Plan) any {
	if p.Looked == nil {
		return nil
	}
	return p.Looked
}

// Is reports whether data looks like a plan file of any program. It returns false for state files.
func Is(data []byte) bool { return bytes.HasPrefix(data, []byte("PK\x03\x04")) }

// Write writes a plan file.
func Write(w io.Writer, f *File) error {
	if f.ID == "" {
		f.ID = uuid.NewString()
	}
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate,
		func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestSpeed) })
	if err := writeEntries(z, f); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	if err := z.Close(); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return nil
}

func writeEntries(z *zip.Writer, f *File) error {
	shared, err := encodeInterchange(f.Plan)
	if err != nil {
		return err
	}
	if err := writeEntry(z, interchangeEntry, shared); err != nil {
		return err
	}
	out, err := z.Create(planEntry)
	if err != nil {
		return err
	}
	if err := writePlan(out, f); err != nil {
		return err
	}
	if err := writeState(z, stateEntry, f, f.Plan.Prior); err != nil {
		return err
	}
	if !statefile.Equal(f.Plan.Prior, f.Plan.PrevRun) {
		if err := writeState(z, prevEntry, f, f.Plan.PrevRun); err != nil {
			return err
		}
	}
	if f.Schemas != nil {
		out, err := z.Create(schemaEntry)
		if err != nil {
			return err
		}
		if err := writeSchemas(out, f.Schemas); err != nil {
			return fmt.Errorf("writing the schemas: %w", err)
		}
	}
	for _, part := range parts {
		in := part.encode(f.Plan)
		if in == nil {
			continue
		}
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		if err := writeEntry(z, part.name, data); err != nil {
			return err
		}
	}
	if f.LockFile != nil {
		if err := writeEntry(z, lockEntry, f.LockFile); err != nil {
			return err
		}
	}
	for _, path := range slices.Sorted(maps.Keys(f.Config)) {
		if !fs.ValidPath(path) {
			return fmt.Errorf("%q is not a relative path", path)
		}
		if err := writeEntry(z, configDir+path, f.Config[path]); err != nil {
			return err
		}
	}
	return nil
}

func writeState(z *zip.Writer, name string, f *File, s *states.State) error {
	data, err := statefile.Encode(&statefile.File{Serial: f.Serial, Lineage: f.Lineage, State: s}, nil)
	if err != nil {
		return err
	}
	return writeEntry(z, name, data)
}

func writeEntry(z *zip.Writer, name string, data []byte) error {
	out, err := z.Create(name)
	if err != nil {
		return err
	}
	_, err = out.Write(data)
	return err
}

// Parse reads a plan file.
func Parse(data []byte) (*File, error) {
	if !Is(data) {
		return nil, errors.New("this is not a plan file")
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("the plan file is damaged: %w", err)
	}
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	entries := make(map[string]*zip.File, len(z.File))
	var size uint64 // total size according to the headers, which the zip reader enforces
	for _, e := range z.File {
		if entries[e.Name] != nil {
			return nil, fmt.Errorf("the plan file is damaged: it has two entries named %q", e.Name)
		}
		if e.UncompressedSize64 > maxEntry {
			return nil, fmt.Errorf("%s in the plan file is larger than %d MiB", e.Name, maxEntry>>20)
		}
		size += e.UncompressedSize64
		if size > maxSize {
			return nil, fmt.Errorf("the content of the plan file is larger than %d MiB", maxSize>>20)
		}
		entries[e.Name] = e
	}
	switch {
	case entries[planEntry] != nil:
	case entries[interchangeEntry] != nil:
		return nil, errors.New("the plan file was written by another program; create a new plan")
	default:
		return nil, errors.New("this is not a plan file: it is an archive of something else")
	}
	f, err := readEntries(entries)
	if errors.Is(err, errFormat) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("the plan file is damaged: %w", err)
	}
	return f, nil
}

func readEntries(entries map[string]*zip.File) (*File, error) {
	f := &File{}
	plan, err := entries[planEntry].Open()
	if err != nil {
		return nil, err
	}
	defer plan.Close()
	in, err := openPlan(plan)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{interchangeEntry, stateEntry} {
		if entries[name] == nil {
			return nil, fmt.Errorf("it has no entry named %q", name)
		}
	}
	prior, err := readState(entries[stateEntry])
	if err != nil {
		return nil, err
	}
	prev := prior
	if e := entries[prevEntry]; e != nil {
		prev, err = readState(e)
		if err != nil {
			return nil, err
		}
	}
	var variables map[string]cty.Value
	err = readPart(entries[interchangeEntry], func(data []byte) error {
		variables, err = decodeInterchange(data)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := readPlan(in, f, prior.State, variables); err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, plan); err != nil { // read to the end, where the checksum is verified
		return nil, err
	}
	f.Plan.Prior, f.Plan.PrevRun = prior.State, prev.State
	f.Serial, f.Lineage = prior.Serial, prior.Lineage
	for _, part := range parts {
		if e := entries[part.name]; e != nil {
			if err := readPart(e, func(data []byte) error { return part.decode(data, f.Plan) }); err != nil {
				return nil, err
			}
		}
	}
	if e := entries[schemaEntry]; e != nil {
		f.Schemas, err = readSchemaEntry(e)
		if err != nil {
			return nil, err
		}
	}
	for name, e := range entries {
		path, isConfig := strings.CutPrefix(name, configDir)
		switch {
		case isConfig && fs.ValidPath(path):
			if f.Config == nil {
				f.Config = make(map[string][]byte)
			}
			f.Config[path], err = readEntry(e)
			if err != nil {
				return nil, err
			}
		case isConfig:
			return nil, fmt.Errorf("invalid path %q", path)
		case name == lockEntry:
			f.LockFile, err = readEntry(e)
			if err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// readPart decodes an entry.
func readPart(e *zip.File, decode func([]byte) error) error {
	data, err := readEntry(e)
	if err != nil {
		return err
	}
	if err := decode(data); err != nil {
		return fmt.Errorf("%s: %w", e.Name, err)
	}
	return nil
}

func readSchemaEntry(e *zip.File) (map[addrs.Provider]*providers.Schema, error) {
	in, err := e.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	schemas, err := readSchemas(in)
	if err == nil {
		_, err = io.Copy(io.Discard, in) // read to the end, where the checksum is verified
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return schemas, nil
}

func readState(e *zip.File) (*statefile.File, error) {
	data, err := readEntry(e)
	if err != nil {
		return nil, err
	}
	return statefile.Parse(data)
}

func readEntry(e *zip.File) ([]byte, error) {
	in, err := e.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	defer in.Close()
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Name, err)
	}
	return data, nil
}
