package statefile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

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

// Parse reads a snapshot of any version. Unknown fields are left out.
func Parse(data []byte) (*File, error) {
	switch {
	case len(data) == 0:
		return nil, ErrEmpty
	case len(data) > MaxSize:
		return nil, fmt.Errorf("the state is larger than %d MiB and can't be read", MaxSize>>20)
	case bytes.HasPrefix(data, []byte("tfstate")):
		return nil, errors.New("the state is in the binary format of versions before 0.7: read and write it once with Terraform 0.6.16")
	}
	// Nearly all files are of version 4, so that form is tried at once; what it makes of another version is thrown away.
	var v4 fileV4
	err := json.Unmarshal(data, &v4)
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return nil, DamagedError{fmt.Errorf("the state is not valid JSON (%s): %w", place(data, syntax.Offset), err)}
	}
	number, verr := v4.version()
	if verr != nil {
		return nil, verr
	}
	read := readers[number]
	if read == nil {
		return nil, fmt.Errorf("the state has format version %d, and version %s reads versions 1 to 4; a newer program may have written it", number, version.String)
	}
	if number == 4 && err != nil {
		return nil, DamagedError{typeError(data, err)}
	}
	return read(data, &v4)
}

// readers has a row for each version that can be read.
var readers = map[int]func(data []byte, v4 *fileV4) (*File, error){
	1: readOld,
	2: readOld,
	3: readOld,
	4: func(_ []byte, v4 *fileV4) (*File, error) {
		file, err := v4.decode()
		if err != nil {
			return nil, DamagedError{err}
		}
		return file, nil
	},
}

// version gives the format version that the file claims.
func (f *fileV4) version() (int, error) {
	switch {
	case f.EncryptedData != nil:
		return 0, ErrEncrypted
	case f.Version == nil:
		return 0, errors.New("this is no state: it has no \"version\" attribute")
	}
	n, err := strconv.ParseUint(string(f.Version), 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("this is no state: its \"version\" is %s, not a positive whole number", clip(f.Version))
	}
	return int(n), nil
}

// typeError rewrites what encoding/json says about a value of the wrong type.
func typeError(data []byte, err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return fmt.Errorf("the state can't be read: %w", err)
	}
	if wrong.Field == "" {
		return fmt.Errorf("this is no state: a JSON object is needed, not %s", wrong.Value)
	}
	return fmt.Errorf("the state has an invalid value for %q (%s): %s", wrong.Field, place(data, wrong.Offset), wrong.Value)
}

// place says where a byte is, as editors count.
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
