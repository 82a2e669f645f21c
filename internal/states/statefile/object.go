package statefile

import (
	"encoding/json"
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// EncodeObject gives one object in the form that objects have in snapshots, on one line and without what says where it belongs.
func EncodeObject(obj *states.Object) ([]byte, error) { return new(Encoder).Object(obj) }

// Object is EncodeObject for many objects. Other than Encode it may be called from many goroutines; an encoder that was not made by
// NewEncoder does either the one or the other.
func (e *Encoder) Object(obj *states.Object) ([]byte, error) {
	w := &writer{first: true}
	if err := e.writeObject(w, addrs.NoKey, addrs.NotDeposed, "", obj); err != nil {
		return nil, err
	}
	return w.buf, nil
}

// ParseObject reads what EncodeObject wrote.
func ParseObject(data []byte) (*states.Object, error) {
	var in instanceV4
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("reading an object: %w", err)
	}
	return newDecoder().object(&in)
}
