package statefile

import (
	"bytes"
	"fmt"
	"runtime"

	"tofu/internal/parallel"
	"tofu/internal/states"
)

// chunkSize is the number of resources in a chunk.
const chunkSize = 256

// A chunk is the JSON of consecutive resources, with the positions of their objects in it.
type chunk struct {
	writer
	copies  []copiedText // texts that belong into the JSON but are not in writer.buf, by position
	nearest writer       // the nearest dependencies of these resources
	texts   []objectText // objects without copied texts
	err     error

	// The objects of a resource usually share their dependencies, so the last ones are copied. start
	// and end are their position.
	dependencies *states.Dependencies
	start, end   int
}

// copiedText is a text that belongs before the byte at a position in a buffer.
type copiedText struct {
	at   int
	text []byte
}

type objectText struct {
	obj          *states.Object
	dependencies *states.Dependencies
	start, end   int
}

// copied writes valid JSON. Most of a large state is text that already has the right layout, because
// it was read from the last snapshot. Such a text is only copied when the chunks are joined.
func (w *chunk) copied(text []byte) {
	const long = 512 // bytes; copying a short text at once takes less time than remembering it
	if len(text) < long || !laidOut(text, w.depth, w.indent) {
		w.raw(text)
		return
	}
	w.copies = append(w.copies, copiedText{len(w.buf), text})
}

// size returns the length of the chunk's JSON.
func (w *chunk) size() int {
	n := len(w.buf)
	for _, c := range w.copies {
		n += len(c.text)
	}
	return n
}

// appendTo appends the chunk's JSON.
func (w *chunk) appendTo(dst []byte) []byte {
	at := 0
	for _, c := range w.copies {
		dst = append(dst, w.buf[at:c.at]...)
		dst = append(dst, c.text...)
		at = c.at
	}
	return append(dst, w.buf[at:]...)
}

// chunks encodes the resources in parallel, as elements of the array that w has opened.
func (e *Encoder) chunks(w *writer, resources []*states.Resource) ([]chunk, error) {
	chunks := make([]chunk, (len(resources)+chunkSize-1)/chunkSize)
	parallel.Each(len(chunks), runtime.GOMAXPROCS(0), func(i int) {
		c := &chunks[i]
		part := resources[i*chunkSize : min((i+1)*chunkSize, len(resources))]
		c.writer = writer{buf: make([]byte, 0, likelySize(part, w.indent)), indent: w.indent, depth: w.depth, first: i == 0}
		c.nearest = writer{indent: w.indent, depth: w.depth}
		for _, r := range part {
			c.err = e.writeResource(c, r)
			if c.err != nil {
				c.err = fmt.Errorf("%s can't be written to the state: %w", r.Addr, c.err)
				return
			}
		}
	})
	for i := range chunks {
		if chunks[i].err != nil {
			return nil, chunks[i].err
		}
	}
	return chunks, nil
}

// likelySize returns about the number of bytes that a chunk needs for the resources. A buffer of this
// size is rarely copied to a larger one.
func likelySize(resources []*states.Resource, indent bool) int {
	size := 0
	for _, r := range resources {
		for _, inst := range r.Instances {
			for o := range inst.Objects() {
				size += 512 + 40*o.Dependencies.Len() + len(o.Private)*4/3
				if indented := len(o.Attrs) > 1 && o.Attrs[1] == '\n'; indented != indent {
					size += len(o.Attrs) * 5 / 4 // the attributes aren't just copied
				}
			}
		}
	}
	return size
}

// join returns a snapshot: what comes before the resources, their chunks, and the rest. A snapshot can
// be as large as half of the memory, so there is only one buffer, of the exact size.
func join(start []byte, chunks []chunk, end []byte) []byte {
	size := len(start)
	offsets := make([]int, len(chunks))
	for i := range chunks {
		offsets[i] = size
		size += chunks[i].size()
	}
	out := append(make([]byte, 0, size+len(end)), start...)
	parallel.Each(len(chunks), runtime.GOMAXPROCS(0), func(i int) {
		chunks[i].appendTo(out[offsets[i]:offsets[i]:size])
	})
	return append(out[:size], end...)
}

// remember keeps the encoded objects of this snapshot and drops all others.
func (e *Encoder) remember(chunks []chunk) {
	if e.texts == nil {
		return
	}
	clear(e.texts)
	for i := range chunks {
		for _, p := range chunks[i].texts {
			e.texts[p.obj] = encoded{chunks[i].buf[p.start:p.end:p.end], p.dependencies}
		}
	}
}

// writeNearestLists writes the nearest dependencies that the chunks have. It writes nothing if there
// are none.
func writeNearestLists(w *writer, chunks []chunk) {
	var all []byte
	for i := range chunks {
		all = append(all, chunks[i].nearest.buf...)
	}
	if len(all) == 0 {
		return
	}
	w.key(nearestDependencies)
	w.open('[')
	w.first = false
	w.buf = append(w.buf, bytes.TrimPrefix(all, []byte{','})...)
	w.close(']')
}
