package otlptest

import (
	"encoding/hex"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Span is a span as the collector received it.
type Span struct {
	Trace, ID, Parent, State, Name string // IDs in hexadecimal digits
	Kind, Status                   uint64
	Message                        string   // message of the span's status
	Exceptions                     []string // messages of exception events
	Began, Ended                   uint64   // nanoseconds
	Attributes, Resource           map[string]string
}

// message is a decoded message: a list of the values of each field in the order of their
// appearance. Values are uint64 or []byte.
type message map[protowire.Number][]any

func decode(b []byte) (message, error) {
	m := message{}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(b)
		default:
			return nil, fmt.Errorf("field %d has the wire type %d", number, kind)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		b = b[n:]
		m[number] = append(m[number], v)
	}
	return m, nil
}

// each decodes the messages in a field and calls f with each of them.
func (m message) each(field protowire.Number, f func(message) error) error {
	for _, v := range m[field] {
		raw, ok := v.([]byte)
		if !ok {
			return fmt.Errorf("field %d is not a message", field)
		}
		inner, err := decode(raw)
		if err == nil {
			err = f(inner)
		}
		if err != nil {
			return fmt.Errorf("in field %d: %w", field, err)
		}
	}
	return nil
}

func (m message) bytes(field protowire.Number) []byte {
	for _, v := range m[field] {
		b, _ := v.([]byte)
		return b
	}
	return nil
}

func (m message) number(field protowire.Number) uint64 {
	for _, v := range m[field] {
		n, _ := v.(uint64)
		return n
	}
	return 0
}

// attributes decodes a field with attributes whose values are text.
func (m message) attributes(field protowire.Number) (map[string]string, error) {
	out := map[string]string{}
	err := m.each(field, func(pair message) error {
		return pair.each(2, func(value message) error {
			out[string(pair.bytes(1))] = string(value.bytes(1))
			return nil
		})
	})
	return out, err
}

// Decode reads an ExportTraceServiceRequest.
func Decode(request []byte) ([]Span, error) {
	var spans []Span
	whole, err := decode(request)
	if err != nil {
		return nil, err
	}
	err = whole.each(1, func(group message) error { // field resource_spans
		who := map[string]string{}
		err := group.each(1, func(resource message) (err error) {
			who, err = resource.attributes(1)
			return err
		})
		if err != nil {
			return err
		}
		return group.each(2, func(scope message) error { // field scope_spans
			return scope.each(2, func(span message) error {
				s, err := readSpan(span)
				s.Resource = who
				spans = append(spans, s)
				return err
			})
		})
	})
	return spans, err
}

func readSpan(m message) (Span, error) {
	s := Span{
		Trace: hex.EncodeToString(m.bytes(1)), ID: hex.EncodeToString(m.bytes(2)), State: string(m.bytes(3)),
		Parent: hex.EncodeToString(m.bytes(4)), Name: string(m.bytes(5)), Kind: m.number(6), Began: m.number(7),
		Ended: m.number(8),
	}
	if len(s.Trace) != 32 || len(s.ID) != 16 || len(s.Parent) != 16 && s.Parent != "" {
		return s, fmt.Errorf("the span %q has an ID of the wrong length", s.Name)
	}
	var err error
	s.Attributes, err = m.attributes(9)
	if err != nil {
		return s, err
	}
	err = m.each(11, func(event message) error {
		attributes, err := event.attributes(3)
		if string(event.bytes(2)) == "exception" && event.number(1) == s.Ended {
			s.Exceptions = append(s.Exceptions, attributes["exception.message"])
		}
		return err
	})
	if err != nil {
		return s, err
	}
	return s, m.each(15, func(status message) error {
		s.Status, s.Message = status.number(3), string(status.bytes(2))
		return nil
	})
}
