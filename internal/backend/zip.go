package backend

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"

	"tofu/internal/limits"
)

// Zip compresses a state with a level of [gzip].
func Zip(data []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, level)
	if err == nil {
		_, err = w.Write(data)
		err = errors.Join(err, w.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("compressing: %w", err)
	}
	return out.Bytes(), nil
}

// Unzip returns the state from which [Zip] has made data. It is an error if the state is larger than
// any state may be.
func Unzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	out, err := limits.ReadAll(r, limits.State, "the state")
	if err != nil {
		return nil, fmt.Errorf("decompressing: %w", err)
	}
	return out, nil
}
