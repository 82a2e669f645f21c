package funcs

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/marks"
	"tofu/internal/limits"
)

// A shownPath is a path in the configuration that may be sensitive.
type shownPath struct {
	path   string
	hidden bool // the path comes from a sensitive value
}

// name returns the path, or a placeholder if the path is sensitive.
func (p shownPath) name() string {
	if p.hidden {
		return "(sensitive value)"
	}
	return p.path
}

// String returns the quoted path, for messages.
func (p shownPath) String() string {
	if p.hidden {
		return p.name()
	}
	return strconv.Quote(p.path)
}

// failed returns the error of a file operation. It unwraps the errors of package os, because they
// repeat the path.
func (p shownPath) failed(doing string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fmt.Errorf("%s %s: %w", doing, p, err)
}

// pathFunc returns a function with a path as its argument. Marks on the path apply to the result.
func pathFunc(desc string, retType cty.Type, impl func(shownPath) (cty.Value, error)) function.Function {
	return function.New(&function.Spec{
		Description: desc,
		Params: []function.Parameter{{
			Name: "path", Type: cty.String, AllowMarked: true, AllowUnknown: true, Description: "The path.",
		}},
		Type:         function.StaticReturnType(retType),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path, ms := args[0].Unmark()
			if !path.IsKnown() {
				return cty.UnknownVal(retType).WithMarks(ms), nil
			}
			v, err := impl(shownPath{path.AsString(), ms.Has(marks.Sensitive)})
			if err != nil {
				return cty.NilVal, err
			}
			return v.WithMarks(ms), nil
		},
	})
}

// The functions read files at each call. A file must exist before the run starts, because a call
// doesn't depend on the resource that writes the file.

func fileFunc(b *binding) function.Function {
	return pathFunc("`file` returns the content of a file, which must be UTF-8 text.", cty.String,
		func(path shownPath) (cty.Value, error) {
			text, err := b.readText(path)
			if err != nil {
				return cty.NilVal, err
			}
			return cty.StringVal(text), nil
		})
}

func filebase64Func(b *binding) function.Function {
	return pathFunc("`filebase64` returns the content of a file in Base64.", cty.String,
		func(path shownPath) (cty.Value, error) {
			data, err := b.read(path)
			if err != nil {
				return cty.NilVal, function.NewArgError(0, err)
			}
			return cty.StringVal(base64.StdEncoding.EncodeToString(data)), nil
		})
}

func fileexistsFunc(b *binding) function.Function {
	return pathFunc(
		"`fileexists` reports whether a file exists at a path. It fails for other objects such as directories.",
		cty.Bool,
		func(path shownPath) (cty.Value, error) {
			name, err := b.resolve(path.path)
			if err != nil {
				return cty.NilVal, err
			}
			info, err := os.Stat(name)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return cty.False, nil
			case err != nil:
				return cty.NilVal, path.failed("cannot get information about", err)
			case info.IsDir():
				return cty.NilVal, fmt.Errorf("%s is a directory, not a file", path)
			case !info.Mode().IsRegular():
				return cty.NilVal, fmt.Errorf("%s is not a regular file", path)
			}
			return cty.True, nil
		})
}

// open opens a file for reading. Relative paths are relative to BaseDir.
func (b *binding) open(path shownPath) (*os.File, error) {
	name, err := b.resolve(path.path)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("no file exists at %s; "+
			"the file must exist before the run starts. To use a file that a resource creates, refer to an "+
			"attribute of that resource instead", path)
	case err != nil:
		return nil, path.failed("cannot open", err)
	}
	return f, nil
}

// read returns the content of a file, or an error if the file is larger than limits.Size.
func (b *binding) read(path shownPath) ([]byte, error) {
	f, err := b.open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tooLarge := fmt.Errorf("%s has more than %d MB", path, limits.Size>>20)
	if info, err := f.Stat(); err == nil && info.Size() > limits.Size {
		return nil, tooLarge
	}
	// Don't rely on the file's size: devices report no size, and may be endless.
	data, err := io.ReadAll(io.LimitReader(f, limits.Size+1))
	switch {
	case err != nil:
		return nil, path.failed("cannot read", err)
	case len(data) > limits.Size:
		return nil, tooLarge
	}
	return data, nil
}

// readText returns the content of a text file for the first argument of a function. It returns an
// error for bytes that are not UTF-8, because converting them to a string would silently replace
// them.
func (b *binding) readText(path shownPath) (string, error) {
	data, err := b.read(path)
	if err != nil {
		return "", function.NewArgError(0, err)
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf(
			"the content of %s is not valid UTF-8; use filebase64 or functions such as filesha256 for other "+
				"files", path)
	}
	return string(data), nil
}

// resolve converts the path of a file in the configuration, which will be read, to a path of the
// operating system.
func (b *binding) resolve(path string) (string, error) {
	path, err := expandHome(path)
	if err != nil {
		return "", err
	}
	path = b.fromBase(path)
	b.reads(path)
	return path, nil
}

func (b *binding) reads(path string) {
	if b.Read != nil {
		b.Read(path)
	}
}

// fromBase makes relative paths relative to BaseDir.
func (b *binding) fromBase(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(b.BaseDir, path)
}

// expandHome replaces a leading ~ with the home directory.
func expandHome(path string) (string, error) {
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	if len(path) > 1 && !os.IsPathSeparator(path[1]) {
		return "", errors.New("home directories of other users can't be resolved; use the full path")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		u, userErr := user.Current()
		if userErr != nil {
			return "", fmt.Errorf("the home directory is unknown: %w", err)
		}
		home = u.HomeDir
	}
	return filepath.Join(home, path[1:]), nil
}

// abspath, basename, dirname and pathexpand do not access the file system.

var pathexpandFunc = function.New(&function.Spec{
	Description:  "`pathexpand` replaces a leading ~ in a path with the home directory of the current user.",
	Params:       []function.Parameter{{Name: "path", Type: cty.String, Description: "The path."}},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		path, err := expandHome(args[0].AsString())
		return cty.StringVal(path), err
	},
})

func abspathFunc(b *binding) function.Function {
	return stringFunc(
		"`abspath` converts a path to an absolute path. It does not resolve symbolic links.",
		"path", "The path.",
		func(path string) (string, error) {
			abs, err := filepath.Abs(b.fromBase(path))
			return filepath.ToSlash(abs), err
		})
}

var basenameFunc = stringFunc(
	"`basename` returns the last segment of a path.",
	"path", "The path.",
	func(path string) (string, error) { return filepath.Base(path), nil })

var dirnameFunc = stringFunc(
	"`dirname` returns a path without its last segment.",
	"path", "The path.",
	func(path string) (string, error) { return filepath.Dir(path), nil })

// filesetFunc does not expand ~, unlike functions that take the path of one file.
func filesetFunc(b *binding) function.Function {
	return function.New(&function.Spec{
		Description: "`fileset` returns the names of the files below a directory that match a pattern.",
		Params: []function.Parameter{
			{Name: "path", Type: cty.String, Description: "The directory. The resulting names are relative to it."},
			{Name: "pattern", Type: cty.String, Description: "The pattern, with *, **, ?, [class] and {a,b}."},
		},
		Type:         function.StaticReturnType(cty.Set(cty.String)),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			dir, pattern := b.fromBase(args[0].AsString()), args[1].AsString()
			b.reads(fixedPart(filepath.Join(dir, pattern)))
			names, err := glob(dir, pattern)
			if err != nil {
				return cty.NilVal, err
			}
			if len(names) == 0 {
				return cty.SetValEmpty(cty.String), nil
			}
			return cty.SetVal(names), nil
		},
	})
}

// alternatives returns an upper bound for the number of patterns to which the braces in a pattern
// expand.
func alternatives(pattern string) int {
	total := 1
	for _, group := range strings.Split(pattern, "{")[1:] {
		inside, _, _ := strings.Cut(group, "}")
		total = min(total*(1+strings.Count(inside, ",")), maxAlternatives+1)
	}
	return total
}

// glob returns the regular files below dir that match the pattern, as paths relative to dir. The
// directory name is part of the pattern, as in OpenTofu.
func glob(dir, pattern string) ([]cty.Value, error) {
	for strings.Contains(pattern, "**/**") { // ** repeated is equivalent to a single **, but slower
		pattern = strings.ReplaceAll(pattern, "**/**", "**")
	}
	if alternatives(pattern) > maxAlternatives {
		return nil, fmt.Errorf("the braces expand to more than %d patterns", maxAlternatives)
	}
	matches, err := matchingFiles(filepath.Join(dir, pattern))
	if err != nil {
		return nil, fmt.Errorf("cannot match %q: %w", pattern, err)
	}
	var names []cty.Value
	for _, match := range matches {
		info, err := os.Stat(match) // follows symbolic links
		if err != nil {
			return nil, fmt.Errorf("cannot get information about a file that matches %q: %w", pattern, err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		name, err := filepath.Rel(dir, match)
		if err != nil {
			return nil, fmt.Errorf("cannot make the path of a file that matches %q relative: %w", pattern, err)
		}
		names = append(names, cty.StringVal(filepath.ToSlash(name)))
	}
	return names, nil
}
