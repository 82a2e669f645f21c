package ui

import (
	"bufio"
	"strings"
	"sync"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hcled"

	"tofu/internal/lang/nesting"
)

// sources provides the content of configuration files. Each file is split into lines and parsed
// only once, even if many diagnostics refer to it.
type sources struct {
	read  func(filename string) []byte // nil if no content is available
	mu    sync.Mutex
	files map[string]*sourceFile
}

type sourceFile struct {
	text   []byte
	lines  []hcl.Range // without line endings
	parsed *hcl.File   // nil if the file can't be parsed
}

func newSources(read func(string) []byte) *sources {
	return &sources{read: read, files: make(map[string]*sourceFile)}
}

// file returns a file, or nil if its content is not available.
func (s *sources) file(name string) *sourceFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.files[name]; ok {
		return f
	}
	var f *sourceFile
	if s.read != nil {
		if text := s.read(name); text != nil && nesting.OtherEncoding(text) == "" {
			f = &sourceFile{text: text, parsed: parseSource(name, text)}
			for sc := hcl.NewRangeScanner(text, name, bufio.ScanLines); sc.Scan(); {
				f.lines = append(f.lines, sc.Range())
			}
		}
	}
	s.files[name] = f
	return f
}

// parseSource parses as much of a file as possible.
func parseSource(name string, text []byte) *hcl.File {
	parse := nesting.Parse
	if strings.HasSuffix(name, ".json") {
		parse = nesting.ParseJSON
	}
	file, _ := parse(name, text)
	return file
}

// context returns the header of the block around a byte offset, for example resource "a" "b".
// It returns "" if the offset is not in a block.
func (f *sourceFile) context(offset int) string {
	if f.parsed == nil {
		return ""
	}
	return hcled.ContextString(f.parsed, offset-1)
}

// excerpt returns the lines of a range, the number of the first line, and the byte offset of
// the first line in the file. ok is false if the range doesn't begin in the file.
func (f *sourceFile) excerpt(rng hcl.Range) (code string, line, start int, ok bool) {
	first, last := rng.Start.Line-1, rng.End.Line-1
	if first < 0 || first >= len(f.lines) {
		return "", 0, 0, false
	}
	if last >= len(f.lines) {
		last = len(f.lines) - 1
	}
	// A range that ends in column 1 ends with the previous line.
	if last > first && rng.End.Column == 1 && rng.End.Byte > rng.Start.Byte {
		last--
	}
	var b strings.Builder
	for i := first; i <= last; i++ {
		if i > first {
			b.WriteByte('\n')
		}
		b.Write(f.lines[i].SliceBytes(f.text))
	}
	return b.String(), first + 1, f.lines[first].Start.Byte, true
}
