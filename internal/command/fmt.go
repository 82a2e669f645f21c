package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/atomicfile"
	"tofu/internal/diff"
	"tofu/internal/hclfmt"
	"tofu/internal/roots/rootsfile"
	"tofu/internal/tfdiags"
)

var cmdFmt = &Command{
	Name:  "fmt",
	Args:  "[target...]",
	Short: "Format configuration files",
	Long: `
Rewrites configuration files (.tf, .tofu, roots.tofu.hcl), variable files
(.tfvars), tests (.tftest.hcl, .tofutest.hcl), mocks (.tfmock.hcl), queries (.tfquery.hcl)
and symbols (.sym.hcl) in the standard style. JSON files are left alone.

Without a target, the files of the working directory are rewritten. A target
is a directory, a single file, or a single dash ("-") for standard input,
whose formatted text is written to standard output. With -list=false and
-write=false, but without -diff and -check, the formatted text of files is
written there too.`,
	New: with(func(f *fmtFlags, fs *options) {
		f.viewFlags.add(fs)
		fs.BoolVar(&f.List, "list", true, "Do not list the files that were not formatted. Always so for "+
			"standard input.")
		fs.BoolVar(&f.Write, "write", true, "Do not write to the files. Always so for standard input and with -check.")
		fs.BoolVar(&f.Diff, "diff", false, "Show what formatting changes.")
		fs.BoolVar(&f.Check, "check", false, "Only check: the exit status is 0 when everything is formatted, "+
			"3 when something is not, and 2 after an error.")
		fs.BoolVar(&f.Recursive, "recursive", false, "Include subdirectories.")
	}, runFmt),
}

type fmtFlags struct {
	viewFlags
	List, Write, Diff, Check, Recursive bool
}

var fmtSuffixes = []string{".tf", ".tofu", ".tfvars", ".tftest.hcl", ".tofutest.hcl", ".tfmock.hcl", ".tfquery.hcl",
	".sym.hcl", rootsfile.FileName}

// formatter holds the options and the results of one run of fmt.
type formatter struct {
	*fmtFlags
	out     io.Writer
	changed bool
	errs    tfdiags.Diagnostics
}

func runFmt(_ context.Context, app *App, flags *fmtFlags, args []string) error {
	f := &formatter{fmtFlags: flags, out: app.Out}
	if len(args) == 0 {
		args = []string{"."}
	}
	if slices.Contains(args, "-") {
		if len(args) > 1 {
			app.printOnStderr(tfdiags.Warningf("Ignored targets",
				`With the target "-" only standard input is formatted. The other targets were ignored.`).List())
		}
		f.List, f.Write = false, false
		f.source(app.In, "<stdin>")
	} else {
		for _, target := range args {
			f.target(target)
		}
	}
	app.Printer.Diagnostics(f.errs)
	switch {
	case len(f.errs) > 0:
		return exitStatus(2)
	case f.Check && f.changed:
		return exitStatus(3)
	}
	return nil
}

// isFormatted reports whether files of this name are formatted.
func isFormatted(name string) bool {
	return slices.ContainsFunc(fmtSuffixes, func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// target formats the file or directory that the user named.
func (f *formatter) target(path string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.errs = f.errs.Append(tfdiags.Errorf("No file or directory at "+path, "%s", err))
	case err != nil:
		f.errs = f.errs.Append(tfdiags.Errorf("Can't read "+path, "%s", err))
	case info.IsDir():
		f.dir(path)
	case isFormatted(path):
		f.file(path)
	default:
		f.errs = f.errs.Append(tfdiags.Errorf("Not a file that can be formatted",
			"The name of %s doesn't have one of these endings: %s.", path, strings.Join(fmtSuffixes, ", ")))
	}
}

func (f *formatter) dir(path string) {
	entries, err := os.ReadDir(path)
	if err != nil {
		f.errs = f.errs.AppendError(fmt.Errorf("reading the directory: %w", err))
		return
	}
	for _, e := range entries {
		name := e.Name()
		inside := filepath.Join(path, name)
		switch {
		case strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") || strings.HasPrefix(name, "#") &&
			strings.HasSuffix(name, "#"):
		case e.IsDir():
			if f.Recursive {
				f.dir(inside)
			}
		case isFormatted(name):
			f.file(inside)
		}
	}
}

func (f *formatter) file(path string) {
	file, err := atomicfile.Open(path)
	if err != nil {
		f.errs = f.errs.AppendError(fmt.Errorf("reading %s: %w", path, err))
		return
	}
	defer file.Close()
	f.source(file, path)
}

// source formats the content of one file or of standard input. It writes, lists or compares the
// result as the options request.
func (f *formatter) source(r io.Reader, path string) {
	src, err := io.ReadAll(r)
	if err != nil {
		f.errs = f.errs.AppendError(fmt.Errorf("reading %s: %w", path, err))
		return
	}
	result, err := hclfmt.Format(src, path)
	if err != nil {
		f.errs = f.errs.AppendError(err)
		return
	}
	same := bytes.Equal(src, result)
	f.changed = f.changed || !same
	if !same {
		if f.List {
			fmt.Fprintln(f.out, path)
		}
		if f.Write && !f.Check {
			if err := rewrite(path, result); err != nil {
				f.errs = f.errs.AppendError(fmt.Errorf("writing the formatted file: %w", err))
			}
		}
		if f.Diff {
			fmt.Fprint(f.out, diff.Unified("old/"+path, "new/"+path, string(src), string(result)))
		}
	}
	// Without these options, print the result, as for standard input.
	if !f.List && !f.Write && !f.Diff && !f.Check {
		_, _ = f.out.Write(result)
	}
}

// rewrite replaces a file atomically, unless it is write-protected.
func rewrite(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	f.Close()
	return atomicfile.Rewrite(path, text)
}
