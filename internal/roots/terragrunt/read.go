package terragrunt

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/atomicfile"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/nesting"
	"tofu/internal/memo"
	"tofu/internal/tfdiags"
)

// reading is a file that is being read or has been read for a unit.
type reading struct {
	done   bool
	config *config
	err    error
}

// files are the parsed files and the functions for their directories. All units share them, because
// they read the same files.
type files struct {
	parsed    memo.Map[string, *file]
	functions memo.Map[string, *hcl.EvalContext]
}

// file is a parsed file.
type file struct {
	src  []byte
	body *hclsyntax.Body
}

// read reads a file for a unit, with everything that the file includes. Another read of the same
// file returns the same config.
func (u *unit) read(path string) (*config, error) {
	if r := u.reads[path]; r != nil {
		if !r.done {
			return nil, fmt.Errorf("%s is needed to read itself: files read each other in a cycle", path)
		}
		return r.config, r.err
	}
	r := &reading{}
	if u.reads == nil {
		u.reads = make(map[string]*reading)
	}
	u.reads[path] = r
	r.config, r.err = u.readOnce(path)
	r.done = true
	return r.config, r.err
}

func (u *unit) readOnce(path string) (*config, error) {
	f, err := u.files.parse(u.real(path))
	if err != nil {
		return nil, err
	}
	c := u.config(path, f)
	if u.own == nil {
		u.own = c
	}
	if err := c.readIncludes(); err != nil {
		return nil, err
	}
	c.evaluateLocals()
	return c, nil
}

// parse reads and parses a file.
func (f *files) parse(path string) (*file, error) {
	return f.parsed.Do(path, func() (*file, error) {
		src, err := atomicfile.Read(path)
		if err != nil {
			return nil, err
		}
		if d := nesting.Check(path, src); d != nil {
			return nil, tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
		}
		parsed, diags := nesting.ParseChecked(path, src)
		if diags.HasErrors() {
			return nil, tfdiags.FromHCL(diags).Err()
		}
		return &file{src, parsed.Body.(*hclsyntax.Body)}, nil
	})
}

// language returns a scope with the language's own functions for files in a directory.
func (f *files) language(dir string) *hcl.EvalContext {
	ctx, _ := f.functions.Do(dir, func() (*hcl.EvalContext, error) {
		functions := funcs.Table(funcs.Options{BaseDir: dir})
		markContents(functions)
		return &hcl.EvalContext{Functions: functions}, nil
	})
	return ctx
}
