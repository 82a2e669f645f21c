package lsp

import (
	"net/url"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/lsp/protocol"
)

// document is the text of a file with the places where its lines begin. It is immutable.
//
// Three kinds of positions meet here. HCL counts bytes from the beginning of the file, and so does this
// package. The protocol counts lines, and the UTF-16 code units within a line.
type document struct {
	path  string
	text  []byte
	lines []int // offset of the beginning of each line
}

func newDocument(path string, text []byte) *document {
	d := &document{path: path, text: text, lines: []int{0}}
	for i, c := range text {
		if c == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// offset converts a position of the protocol. A position after the end of a line means that end.
func (d *document) offset(p protocol.Position) int {
	if int(p.Line) >= len(d.lines) {
		return len(d.text)
	}
	at := d.lines[p.Line]
	for units := int(p.Character); units > 0 && at < len(d.text) && d.text[at] != '\n'; units-- {
		r, size := utf8.DecodeRune(d.text[at:])
		if r > 0xffff {
			units--
		}
		at += size
	}
	return at
}

// position converts an offset.
func (d *document) position(offset int) protocol.Position {
	offset = max(0, min(offset, len(d.text)))
	line := sort.SearchInts(d.lines, offset+1) - 1
	units := 0
	for _, r := range string(d.text[d.lines[line]:offset]) {
		if units++; r > 0xffff {
			units++
		}
	}
	return protocol.Position{Line: uint32(line), Character: uint32(units)}
}

func (d *document) span(start, end int) protocol.Range {
	return protocol.Range{Start: d.position(start), End: d.position(end)}
}

func (d *document) rangeOf(r hcl.Range) protocol.Range { return d.span(r.Start.Byte, r.End.Byte) }

// lineEnd returns the offset of the end of the line that contains an offset.
func (d *document) lineEnd(offset int) int {
	for offset < len(d.text) && d.text[offset] != '\n' {
		offset++
	}
	return offset
}

// uriOf returns the URI of a file from its absolute path.
func uriOf(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/dir
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// pathOf returns the path of a file from its URI, or "" if the URI is not that of a file.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || u.Path == "" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.Clean(filepath.FromSlash(path))
}
