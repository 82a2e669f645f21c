package statefile

import (
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// EncodeObject returns the JSON of one object on a single line. It has the same fields as in
// snapshots, except its instance key, deposed key and provider.
func EncodeObject(obj *states.Object) ([]byte, error) { return new(Encoder).Object(obj) }

// Object is like EncodeObject, but encodes a list of dependencies only once even if several objects
// share it. It is safe for concurrent use unless NewEncoder created the encoder. An encoder must
// not be used for both Encode and Object.
func (e *Encoder) Object(obj *states.Object) ([]byte, error) {
	w := &chunk{writer: writer{first: true}}
	if err := e.writeObject(w, addrs.NoKey, addrs.NotDeposed, "", obj, nil); err != nil {
		return nil, err
	}
	if len(obj.DependencyInstances) > 0 {
		w.buf = w.buf[:len(w.buf)-1] // remove the closing bracket
		w.depth++
		writeInstanceList(&w.writer, dependencyInstances, obj.DependencyInstances)
		w.close('}')
	}
	return w.buf, nil
}

// ParseObject decodes the result of EncodeObject. The object shares the memory of data, so data
// must not be changed afterwards.
func ParseObject(data []byte) (*states.Object, error) {
	r := newReader(data)
	var in instanceV4
	if !r.fields(&in) || !r.End() {
		return nil, fmt.Errorf("reading an object: %w", r.failure())
	}
	return r.decoder.object(&in)
}
