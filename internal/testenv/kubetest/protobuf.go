package kubetest

import (
	"bytes"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
)

// protobufType is the content type of objects in the binary form, in which some clients write
// leases.
const protobufType = "application/vnd.kubernetes.protobuf"

// decodeLease decodes a lease in the binary form: a prefix, then an envelope with the object.
func decodeLease(body []byte) (Object, error) {
	envelope, ok := bytes.CutPrefix(body, []byte("k8s\x00"))
	if !ok {
		return nil, errors.New("the object has no prefix of the binary form")
	}
	var raw []byte
	err := fields(envelope, func(n protowire.Number, value []byte) error {
		if n == 2 {
			raw = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := Object{"metadata": Object{}, "spec": Object{}}
	err = fields(raw, func(n protowire.Number, value []byte) error {
		switch n {
		case 1:
			return decodeMetadata(value, out["metadata"].(Object))
		case 2:
			return decodeSpec(value, out["spec"].(Object))
		}
		return nil
	})
	return out, err
}

func decodeMetadata(data []byte, out Object) error {
	names := map[protowire.Number]string{1: "name", 3: "namespace", 5: "uid", 6: "resourceVersion", 11: "labels",
		12: "annotations"}
	return fields(data, func(n protowire.Number, value []byte) error {
		name := names[n]
		switch {
		case name == "":
		case n < 11:
			out[name] = string(value)
		default:
			entries, _ := out[name].(Object)
			if entries == nil {
				entries = Object{}
				out[name] = entries
			}
			entry := map[protowire.Number]string{}
			err := fields(value, func(n protowire.Number, text []byte) error {
				entry[n] = string(text)
				return nil
			})
			if err != nil {
				return err
			}
			entries[entry[1]] = entry[2]
		}
		return nil
	})
}

func decodeSpec(data []byte, out Object) error {
	return fields(data, func(n protowire.Number, value []byte) error {
		if n == 1 {
			out["holderIdentity"] = string(value)
		}
		return nil
	})
}

// fields passes each field of a message whose value is bytes to the function found.
func fields(data []byte, found func(n protowire.Number, value []byte) error) error {
	for len(data) > 0 {
		n, typ, size := protowire.ConsumeTag(data)
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
		if typ != protowire.BytesType {
			size = protowire.ConsumeFieldValue(n, typ, data)
		} else {
			var value []byte
			value, size = protowire.ConsumeBytes(data)
			if size >= 0 {
				if err := found(n, value); err != nil {
					return err
				}
			}
		}
		if size < 0 {
			return protowire.ParseError(size)
		}
		data = data[size:]
	}
	return nil
}
