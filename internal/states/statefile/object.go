package statefile

import (
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// EncodeObject gives one object in the form that objects have in snapshots, on one line and without what says where it belongs.
func EncodeObject(obj *states.Object) ([]byte, error) { return new(Encoder).Object(obj) }

// Object is EncodeObject for many objects. Other than Encode it may be called from many goroutines; an encoder that was not made by
// NewEncoder does either the one or the other.
func (e *Encoder) Object(obj *states.Object) ([]byte, error) {
	w := &chunk{writer: writer{first: true}}
	if err := e.writeObject(w, addrs.NoKey, addrs.NotDeposed, "", obj); err != nil {
		return nil, err
	}
	return w.buf, nil
}

// ParseObject reads what EncodeObject wrote. The object shares the memory of data, which must not be changed.
func ParseObject(data []byte) (*states.Object, error) {
	r := newReader(data)
	var in instanceV4
	if !r.fields(&in) || !r.End() {
		return nil, fmt.Errorf("reading an object: %w", r.failure())
	}
	return r.decoder.object(&in)
}
