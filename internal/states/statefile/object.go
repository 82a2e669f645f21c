package statefile

import (
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/states"
)

// EncodeObject returns the JSON of one object on a single line. It has the same fields as in
// snapshots, except its instance key, deposed key and provider.
func EncodeObject(obj *states.Object) ([]byte, error) {
	w := &chunk{writer: writer{first: true}}
	if err := new(Encoder).writeObject(w, addrs.NoKey, addrs.NotDeposed, "", obj, obj.Dependencies); err != nil {
		return nil, err
	}
	if len(obj.DependencyInstances) > 0 {
		w.buf = w.buf[:len(w.buf)-1] // remove the closing bracket
		w.depth++
		writeInstanceList(&w.writer, dependencyInstances, obj.DependencyInstances)
		w.close('}')
	}
	return w.appendTo(nil), nil
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
