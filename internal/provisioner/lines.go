package provisioner

import "bytes"

// maxLine is the size at which a line is split. It limits the memory that output without line ends
// needs.
const maxLine = 64 << 10

// lines is a writer that passes on its input line by line. A line feed, a carriage return, or a
// carriage return followed by a line feed ends a line: progress displays use carriage returns,
// terminals use both. It is not safe for concurrent use.
type lines struct {
	out     func(string)
	pending []byte
	cr      bool // whether the previous byte was a carriage return that ended a line
}

// Write implements io.Writer.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			l.add(p)
			break
		}
		if i == 0 && p[0] == '\n' && l.cr {
			l.cr = false
			p = p[1:]
			continue
		}
		l.add(p[:i])
		l.flush()
		l.cr = p[i] == '\r'
		p = p[i+1:]
	}
	return n, nil
}

func (l *lines) add(p []byte) {
	if len(p) > 0 {
		l.cr = false
	}
	for len(l.pending)+len(p) > maxLine {
		room := maxLine - len(l.pending)
		l.pending = append(l.pending, p[:room]...)
		p = p[room:]
		l.flush()
	}
	l.pending = append(l.pending, p...)
}

func (l *lines) flush() {
	l.out(string(bytes.ToValidUTF8(l.pending, []byte("\uFFFD"))))
	l.pending = l.pending[:0]
}

// end passes on the rest of the input if it doesn't end with a line end.
func (l *lines) end() {
	if len(l.pending) > 0 {
		l.flush()
	}
}

// tail keeps the last bytes written to it.
type tail struct {
	max  int
	kept []byte
	cut  bool
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - t.max; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
		t.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string {
	s := string(bytes.ToValidUTF8(t.kept, []byte("\uFFFD")))
	if t.cut {
		return "[...]" + s
	}
	return s
}
