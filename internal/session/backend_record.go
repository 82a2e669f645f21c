package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/atomicfile"
	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
)

// BackendRecord is the record of the backend that init writes to the data directory. It contains
// the settings, including those of the command line, and a hash of the backend block. A different
// hash shows later commands that the block has changed.
type BackendRecord struct {
	Type   string          `json:"type"`
	Config json.RawMessage `json:"config"`
	Hash   uint64          `json:"hash"`
}

// backendFile is the content of the file with the record. It looks like a state file of version 3,
// because such files once contained the record.
type backendFile struct {
	Version int            `json:"version"`
	Backend *BackendRecord `json:"backend,omitempty"`
}

func (d *Dirs) backendRecordPath() string { return filepath.Join(d.DataDir, "terraform.tfstate") }

// ReadBackendRecord returns the record, or nil if the directory has none.
func (d *Dirs) ReadBackendRecord() (*BackendRecord, error) {
	src, err := atomicfile.Read(d.backendRecordPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the stored backend settings: %w", err)
	}
	var file backendFile
	if err := json.Unmarshal(src, &file); err != nil {
		return nil, fmt.Errorf("%s, in which init stores the backend settings, is damaged: %w; run `%s -reconfigure` "+
			"to write it again", d.backendRecordPath(), err, d.InitCommand)
	}
	if file.Version != 3 {
		return nil, fmt.Errorf("%s, in which init stores the backend settings, has version %d instead of 3, so "+
			"another program or version wrote it; move it away and run `%s`", d.backendRecordPath(), file.Version,
			d.InitCommand)
	}
	if file.Backend != nil && file.Backend.Type == "" {
		return nil, nil
	}
	return file.Backend, nil
}

// WriteBackendRecord replaces the record. A nil record removes it. A state in its place, which a
// symbolic link can lead to, is kept.
func (d *Dirs) WriteBackendRecord(r *BackendRecord) error {
	path := d.backendRecordPath()
	var present backendFile
	if text, err := atomicfile.Read(path); err == nil && json.Unmarshal(text, &present) == nil && present.Version > 3 {
		return fmt.Errorf("%s is a state, which would be lost: move it away and run `%s`", path, d.InitCommand)
	}
	if r == nil {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing the stored backend settings: %w", err)
		}
		return nil
	}
	text, err := json.MarshalIndent(backendFile{Version: 3, Backend: r}, "", "    ")
	if err != nil {
		return fmt.Errorf("storing the backend settings: %w", err)
	}
	return d.WriteDataFile("terraform.tfstate", append(text, '\n'), 0o600) // settings may contain secrets
}

// BackendHash returns the hash of a backend block, which the record contains.
func BackendHash(typ string, config cty.Value) uint64 {
	return uint64(cty.TupleVal([]cty.Value{cty.StringVal(typ), config}).Hash())
}

// NewBackendRecord returns the record of a backend. block holds the settings in the backend block.
// complete also includes those of the command line.
func NewBackendRecord(typ string, block, complete cty.Value) (*BackendRecord, error) {
	text, err := ctyjson.Marshal(complete, complete.Type())
	if err != nil {
		return nil, fmt.Errorf("storing the settings of the backend %q: %w", typ, err)
	}
	return &BackendRecord{Type: typ, Config: text, Hash: BackendHash(typ, block)}, nil
}

// Value returns the recorded settings as a value of the backend's schema. It drops settings
// that are not in the schema.
func (r *BackendRecord) Value(schema *configschema.Block) (cty.Value, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(r.Config, &given); err != nil {
		return cty.NilVal, fmt.Errorf("reading the recorded settings of the backend %q: %w", r.Type, err)
	}
	values := make(map[string]cty.Value)
	for name := range schema.ImpliedType().AttributeTypes() {
		text, ok := given[name]
		if !ok || string(text) == "null" {
			continue
		}
		// An object that another version of this program has recorded may have other attributes.
		ty, err := ctyjson.ImpliedType(text)
		if err == nil {
			values[name], err = ctyjson.Unmarshal(text, ty)
		}
		if err == nil && schema.Attributes[name] != nil {
			values[name], err = convert.Convert(values[name], schema.Attributes[name].ConfigType())
		}
		if err != nil {
			return cty.NilVal, fmt.Errorf("reading the recorded setting %s of the backend %q: %w", name, r.Type, err)
		}
	}
	v, err := OptionalSchema(schema).CoerceValue(cty.ObjectVal(values))
	if err != nil {
		return cty.NilVal, fmt.Errorf("reading the recorded settings of the backend %q: %s", r.Type,
			tfdiags.FormatError(err))
	}
	return v, nil
}
