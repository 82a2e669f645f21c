package ui

import (
	"bufio"
	"encoding/json"
	"io"

	"tofu/internal/states"
)

// stream writes a JSON document piece by piece, so that long lists are never in memory. It keeps
// the first error.
type stream struct {
	w     *bufio.Writer
	err   error
	comma bool // a comma is due before the next item
}

func newStream(w io.Writer) *stream { return &stream{w: bufio.NewWriterSize(w, 1<<16)} }

// finish ends the document with a newline and returns the first error.
func (s *stream) finish() error {
	s.raw("\n")
	if s.err == nil {
		s.err = s.w.Flush()
	}
	return s.err
}

func (s *stream) raw(text string) {
	if s.err == nil {
		_, s.err = s.w.WriteString(text)
	}
}

// object writes an object whose members body writes.
func (s *stream) object(body func()) { s.nest("{", "}", body) }

// list writes a list whose items body writes.
func (s *stream) list(body func()) { s.nest("[", "]", body) }

func (s *stream) nest(open, end string, body func()) {
	s.separate()
	s.raw(open)
	s.comma = false
	body()
	s.raw(end)
	s.comma = true
}

func (s *stream) separate() {
	if s.comma {
		s.raw(",")
	}
	s.comma = false
}

// item writes a value that encoding/json supports.
func (s *stream) item(v any) {
	s.separate()
	b, ok := v.(json.RawMessage)
	if !ok {
		var err error
		if b, err = json.Marshal(v); err != nil && s.err == nil {
			s.err = err
		}
	}
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	s.comma = true
}

// name writes the name of a member. Its value must follow.
func (s *stream) name(name string) {
	s.separate()
	s.raw(string(states.AppendString(nil, name)) + ":")
}

// field writes a member.
func (s *stream) field(name string, v any) {
	s.name(name)
	s.item(v)
}

// fail records an error other than a write error.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
