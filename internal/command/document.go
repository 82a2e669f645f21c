package command

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"tofu/internal/atomicfile"
	"tofu/internal/tfdiags"
)

// document is the destination of a document that a command writes: standard output, or a file that
// appears when the document is complete.
type document struct {
	io.Writer
	path string       // "" for standard output
	text bytes.Buffer // text written so far, if path is set
}

// openDocument returns the document of an -out option with the value path; without it, the document
// goes to stdout. openDocument returns an error at once if the file can't be created, because the
// work for a document may take a long time.
func openDocument(stdout io.Writer, path string) (*document, error) {
	d := &document{Writer: stdout, path: path}
	if path != "" {
		d.Writer = &d.text
		if err := cmp.Or(writable(path), linkedVictim(path, "document", isDocument)); err != nil {
			return nil, documentNotWritten(path, err)
		}
	}
	return d, nil
}

// close writes the file. If err, the error of the command, is not nil, close writes nothing and
// returns err.
func (d *document) close(err error) error {
	if err != nil || d.path == "" {
		return err
	}
	// Only the user can read the file, because the document shows a plan.
	err = atomicfile.WriteNamed(d.path, d.text.Bytes(), 0o600)
	var atPath *fs.PathError
	if errors.As(err, &atPath) {
		err = atPath.Err // drop the path, which is the path of a temporary file
	}
	if err != nil {
		return documentNotWritten(d.path, err)
	}
	return nil
}

// reportFile is the value of a -report option. Without the option, write does nothing.
type reportFile[T any] struct {
	path string
	form func(T, io.Writer) error
}

// add declares the option. The keys of forms are the possible extensions of the file.
func (r *reportFile[T]) add(fs *options, usage string, forms map[string]func(T, io.Writer) error) {
	fs.Func("report", usage, func(path string) error {
		extension := filepath.Ext(path)
		if err := oneOf(extension, slices.Sorted(maps.Keys(forms))); err != nil {
			return fmt.Errorf("the extension %w", err)
		}
		r.path, r.form = path, forms[extension]
		return writable(path)
	})
}

// write writes the file.
func (r *reportFile[T]) write(content T) error {
	if r.path == "" {
		return nil
	}
	out, err := openDocument(nil, r.path)
	if err != nil {
		return err
	}
	return out.close(r.form(content, out))
}

func documentNotWritten(path string, err error) error {
	return tfdiags.Errorf("Failed to write the document", "It could not be written to %s: %s. Choose another path.",
		path, err)
}

// documentStarts are the beginnings of the documents that commands write: JSON, XML and HTML,
// Markdown, and graphs.
var documentStarts = []string{"{", "<", "**", "###", "digraph ", "flowchart "}

// isDocument reports whether a file with this content may be an earlier document.
func isDocument(text []byte) bool {
	return slices.ContainsFunc(documentStarts, func(s string) bool { return bytes.HasPrefix(text, []byte(s)) })
}
