package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"tofu/internal/jsonscan"
	"tofu/internal/lang/nesting"
	"tofu/internal/limits"
	"tofu/internal/states"
	"tofu/internal/version"
)

// File is a snapshot and its metadata.
type File struct {
	TerraformVersion string // version of the program that wrote the file; Encode writes this program's version instead
	Serial           uint64
	Lineage          string
	State            *states.State
	// Unsaved describes the run that wrote this file because the store did not accept its changes.
	// It is nil in all other files, and for stores that keep whole documents.
	Unsaved *UnsavedRun
	// InDoubt has the operations whose outcome is unknown, in the encoding of statemgr.
	InDoubt []json.RawMessage
}

// UnsavedRun is a run whose changes are in a file because the store did not accept them.
type UnsavedRun struct {
	ID       string `json:"id"`
	Revision uint64 `json:"revision"` // revision of the state that the run started from
	// Provided has the addresses of the current objects that a provider has created, changed or
	// destroyed, if the store doesn't have these changes. All other changes in the file affect only
	// the state.
	Provided []string `json:"provided,omitempty"`
}

var (
	// ErrEmpty is the error that Parse returns for empty input.
	ErrEmpty = errors.New("the state file is empty")
	// ErrEncrypted is the error that Parse returns for an encrypted snapshot.
	ErrEncrypted = errors.New("the state is encrypted: add its key provider and method to the " +
		"encryption block in the terraform block, or to TF_ENCRYPTION")
)

// DamagedError reports that only parts of a state can be read. Salvage reads these parts.
type DamagedError struct{ Err error }

func (e DamagedError) Error() string { return e.Err.Error() }
func (e DamagedError) Unwrap() error { return e.Err }

// Read reads a snapshot.
func Read(r io.Reader) (*File, error) {
	data, err := limits.ReadAll(r, limits.State, "the state")
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// Parse reads a snapshot of any version. It ignores unknown fields. The objects of the state share
// the memory of data, so data must not be changed afterwards.
func Parse(data []byte) (*File, error) {
	switch {
	case len(data) == 0:
		return nil, ErrEmpty
	case len(data) > limits.State:
		return nil, limits.TooLarge("the state", limits.State)
	case bytes.HasPrefix(data, []byte("tfstate")):
		return nil, errors.New("the state is in a binary format, which Terraform supported only before " +
			"version 0.7: upgrade the state with Terraform 0.6.16 first")
	}
	number, err := formatVersion(data)
	if err != nil {
		return nil, err
	}
	read := readers[number]
	if read == nil {
		return nil, fmt.Errorf("the state has format version %d, but version %s of this program reads versions "+
			"1 to 4; a newer program may have written it", number, version.String)
	}
	return read(data)
}

// readers holds, by format version, the function that reads it.
var readers = map[int]func(data []byte) (*File, error){1: readOld, 2: readOld, 3: readOld, 4: readV4}

// formatVersion returns the file's format version. The version is usually the first member, and
// nothing after it is read.
func formatVersion(data []byte) (int, error) {
	var number []byte
	encrypted := false
	s := jsonscan.Scanner{Data: data}
	whole := s.Members(func(name []byte) bool {
		raw, ok := s.Raw()
		switch {
		case !ok:
			return false
		case string(name) == "encrypted_data":
			encrypted = true
		case string(name) == "version":
			number = raw
		}
		return !encrypted && number == nil
	})
	switch {
	case encrypted:
		return 0, ErrEncrypted
	case number != nil:
	case !whole && !json.Valid(data):
		return 0, DamagedError{syntaxError(data, s.Pos)}
	default:
		return 0, errors.New("this is not a state file: it has no \"version\" attribute")
	}
	n, err := strconv.ParseUint(string(number), 10, 31)
	if err != nil || n == 0 {
		const format = "this is not a state file: its \"version\" is %s, not a positive whole number"
		return 0, fmt.Errorf(format, clip(number))
	}
	return int(n), nil
}

// syntaxError describes the syntax error in data. It uses the position that encoding/json reports.
// If encoding/json accepts the text, it uses the offset in the parameter read.
func syntaxError(data []byte, read int) error {
	if problem := nesting.EncodingProblem(data, true); problem != "" {
		return fmt.Errorf("the state can't be read: %s", problem)
	}
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	syntax, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return fmt.Errorf("the state can't be read (%s)", place(data, int64(read)+1))
	}
	return fmt.Errorf("the state is not valid JSON (%s): %w", place(data, syntax.Offset), err)
}

// place returns the line and column of the byte at offset. Both are counted from 1, as in editors.
func place(data []byte, offset int64) string {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line := bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf("line %d, column %d", line+1, column)
}

func clip(raw []byte) string {
	if len(raw) > 40 {
		return string(raw[:40]) + "…"
	}
	return string(raw)
}
