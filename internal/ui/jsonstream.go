package ui

import (
	"bufio"
	"encoding/json"
	"io"

	"tofu/internal/states"
)

// stream writes a JSON document piece by piece, so that long lists need little memory. It keeps
// the first error.
type stream struct {
	w     *bufio.Writer
	err   error
	comma bool // whether the next item needs a comma before it
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

// object writes an object. body writes its members.
func (s *stream) object(body func()) { s.nest("{", "}", body) }

// list writes a list. body writes its items.
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
		b, err = json.Marshal(v)
		if err != nil && s.err == nil {
			s.err = err
		}
	}
	if s.err == nil {
		_, s.err = s.w.Write(b)
	}
	s.comma = true
}

// name writes the name of a member. The caller must write the value next.
func (s *stream) name(name string) {
	s.separate()
	s.raw(string(states.AppendString(nil, name)) + ":")
}

// field writes a member, with its name and its value.
func (s *stream) field(name string, v any) {
	s.name(name)
	s.item(v)
}

// fail records an error that is not a write error.
func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
