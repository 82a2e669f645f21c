package statefile

import (
	"bytes"
	"runtime"
	"slices"

	"tofu/internal/jsonscan"
	"tofu/internal/limits"
	"tofu/internal/parallel"
	"tofu/internal/states"
)

// sectionSize is the minimum size of a section in bytes.
const sectionSize = 1 << 21

// A section is a part of a large list of resources. Sections are read at the same time, each from a
// place that looks like the start of a resource. It is one if the section before it ends there.
// Otherwise the section doesn't count.
type section struct {
	reader
	end  int // the offset after the last resource
	next int // the offset of the resource after that one; -1 at the end of the list
}

// resourcesFrom reads the resource at the current position, and those after it if the list is large.
func (r *reader) resourcesFrom() bool {
	if r.sectioned || r.salvage {
		return r.resource()
	}
	r.sectioned = true
	r.Space()
	starts := r.sectionStarts()
	if len(starts) == 1 {
		return r.resource()
	}
	sections := make([]section, len(starts))
	parallel.Each(len(starts), len(starts), func(i int) { sections[i].read(r, starts[i], starts) })
	next := r.Pos
	for i := range sections {
		s := &sections[i]
		if starts[i] != next || s.next == 0 || !r.file.State.Take(s.file.State) {
			continue
		}
		r.Pos, next = s.end, s.next
	}
	return next != starts[0] || r.resource()
}

// sectionStarts returns offsets at which sections begin. The first is the current position, which is that
// of the first resource.
func (r *reader) sectionStarts() []int {
	starts := []int{r.Pos}
	rest := r.Data[r.Pos:]
	quote := bytes.IndexByte(rest, '"')
	n := min(runtime.GOMAXPROCS(0), len(rest)/sectionSize)
	if n < 2 || quote < 0 || quote+3 > len(rest) {
		return starts
	}
	// Programs write all elements in the same layout: as many spaces, and nearly always the same name
	// first, of which the beginning is enough ("mode" and "module").
	before := bytes.LastIndexByte(r.Data[:r.Pos], '[') + 1
	between := append([]byte{','}, r.Data[before:r.Pos+quote+3]...)
	for i := 1; i < n; i++ {
		at := r.Pos + len(rest)/n*i
		if start := r.resourceAfter(at, at+sectionSize, between); start > starts[len(starts)-1] {
			starts = append(starts, start)
		}
	}
	return starts
}

// resourceAfter returns the offset of the first resource in a part of the text, or 0. between is the text
// between two resources.
func (r *reader) resourceAfter(from, to int, between []byte) int {
	for {
		i := bytes.Index(r.Data[from:to], between)
		if i < 0 {
			return 0
		}
		start := from + i + bytes.IndexByte(between, '{')
		from += i + 1
		trial := r.at(start)
		if trial.resource() {
			return start
		}
	}
}

// ParseSections reads a snapshot that has been divided already: data is the snapshot without the resources
// in sections, each of which is an array of resources. See Parse.
func ParseSections(data []byte, sections [][]byte) (*File, error) {
	size := len(data)
	for _, s := range sections {
		size += len(s)
	}
	if size > limits.State {
		return nil, limits.TooLarge("the state", limits.State)
	}
	file, err := Parse(data)
	if err != nil {
		return nil, err
	}
	n := min(runtime.GOMAXPROCS(0), len(sections))
	parts, errs := make([]*File, n), make([]error, n)
	of := func(i int) [][]byte { return sections[i*len(sections)/n : (i+1)*len(sections)/n] }
	parallel.Each(n, n, func(i int) {
		parts[i] = &File{State: states.New()}
		errs[i] = readSections(parts[i], of(i))
	})
	for i, part := range parts {
		if errs[i] == nil && !file.State.Take(part.State) { // a resource is in several parts
			errs[i] = readSections(file, of(i))
		}
		if errs[i] != nil {
			return nil, DamagedError{errs[i]}
		}
	}
	return file, nil
}

// readSections adds the resources of sections to a file.
func readSections(to *File, sections [][]byte) error {
	r := newReader(nil)
	r.file = to
	for _, s := range sections {
		r.Scanner = jsonscan.Scanner{Data: s}
		if !r.array("resources", r.resource) || !r.End() {
			return r.failure()
		}
	}
	return nil
}

// at returns a reader for resources at another position.
func (r *reader) at(pos int) reader {
	out := *newReader(r.Data)
	out.Scanner = r.Scanner
	out.Pos = pos
	return out
}

// read reads resources up to the start of another section or the end of the list.
func (s *section) read(of *reader, start int, starts []int) {
	s.reader = of.at(start)
	for s.resource() {
		s.end, s.next = s.Pos, -1
		if s.Space() != ',' {
			return
		}
		s.Pos++
		s.Space()
		if s.next = s.Pos; slices.Contains(starts, s.next) {
			return
		}
	}
	s.next = 0 // the first reader finds the problem
}
