package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"tofu/internal/jsonscan"
	"tofu/internal/states"
	"tofu/internal/version"
)

// MaxSize is the size above which a snapshot isn't read: some ten times what large configurations need, and small enough
// that an endless or hostile source can't exhaust the machine's memory.
const MaxSize = 1 << 30

// File is a snapshot with what the file says about it.
type File struct {
	TerraformVersion string // who wrote it; Encode writes this program's own
	Serial           uint64
	Lineage          string
	State            *states.State
}

var (
	// ErrEmpty is what Parse gives for no bytes at all.
	ErrEmpty = errors.New("the state file is empty")
	// ErrEncrypted is what Parse gives for an encrypted snapshot.
	ErrEncrypted = errors.New("the state is encrypted: add its key provider and method to the terraform.encryption block")
)

// DamagedError says that a text is a state of which only parts can be read; Salvage reads these.
type DamagedError struct{ Err error }

func (e DamagedError) Error() string { return e.Err.Error() }
func (e DamagedError) Unwrap() error { return e.Err }

// Read reads a snapshot.
func Read(r io.Reader) (*File, error) {
	data, err := ReadAll(r)
	if err != nil {
		return nil, err
	}
	return Parse(data)
}

// ReadAll reads a snapshot's bytes, up to MaxSize.
func ReadAll(r io.Reader) ([]byte, error) { return readUpTo(r, MaxSize) }

func readUpTo(r io.Reader, limit int64) ([]byte, error) {
	var buf bytes.Buffer
	if file, ok := r.(interface{ Stat() (fs.FileInfo, error) }); ok {
		if info, err := file.Stat(); err == nil && info.Size() <= limit {
			buf.Grow(int(info.Size()) + bytes.MinRead) // growing on the way would cost several times that
		}
	}
	if _, err := buf.ReadFrom(io.LimitReader(r, limit+1)); err != nil {
		return nil, err
	}
	data := buf.Bytes()
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the state is larger than %d MiB and can't be read", limit>>20)
	}
	return data, nil
}

// Parse reads a snapshot of any version. Unknown fields are left out. The objects of the state share the memory of data, which must
// not be changed.
func Parse(data []byte) (*File, error) {
	switch {
	case len(data) == 0:
		return nil, ErrEmpty
	case len(data) > MaxSize:
		return nil, fmt.Errorf("the state is larger than %d MiB and can't be read", MaxSize>>20)
	case bytes.HasPrefix(data, []byte("tfstate")):
		return nil, errors.New("the state is in the binary format of versions before 0.7: read and write it once with Terraform 0.6.16")
	}
	number, err := formatVersion(data)
	if err != nil {
		return nil, err
	}
	read := readers[number]
	if read == nil {
		return nil, fmt.Errorf("the state has format version %d, and version %s reads versions 1 to 4; a newer program may have written it", number, version.String)
	}
	return read(data)
}

// readers has a row for each version that can be read.
var readers = map[int]func(data []byte) (*File, error){1: readOld, 2: readOld, 3: readOld, 4: readV4}

// formatVersion gives the version that the file claims. Files begin with it, so that no more is read of them.
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
		return 0, errors.New("this is no state: it has no \"version\" attribute")
	}
	n, err := strconv.ParseUint(string(number), 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("this is no state: its \"version\" is %s, not a positive whole number", clip(number))
	}
	return int(n), nil
}

// syntaxError says what is wrong with a text that isn't JSON, or not to the position to which it was read.
func syntaxError(data []byte, read int) error {
	var raw json.RawMessage
	err := json.Unmarshal(data, &raw)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Errorf("the state can't be read (%s)", place(data, int64(read)+1))
	}
	return fmt.Errorf("the state is not valid JSON (%s): %w", place(data, syntax.Offset), err)
}

// place says where a byte, counted from 1, is, as editors count.
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
