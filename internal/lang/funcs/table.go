package funcs

import (
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// Namespace is a prefix under which every function is also available, regardless of which other
// names are in scope.
const Namespace = "core::"

// Options configure one function table.
type Options struct {
	// BaseDir is the base directory of relative paths in filesystem functions. Empty means the
	// working directory.
	BaseDir string

	// PureOnly makes functions that return a different result for each call (timestamp, uuid,
	// bcrypt) return unknown values. It is for evaluation before the apply phase.
	PureOnly bool

	// Constant leaves out functions whose results depend on more than their arguments and files.
	Constant bool

	// Read, if not nil, is called with the path of each file that a function reads or looks for, and
	// with the directory above those that fileset looks for. plantimestamp calls it with "".
	Read func(path string)

	// PlanTimestamp is the result of plantimestamp. If it is zero, there is no plan yet and the
	// result is unknown.
	PlanTimestamp time.Time
}

// A Theme groups functions in lists and documentation.
type Theme string

// The themes in listing order.
const (
	Numeric    Theme = "numeric"
	String     Theme = "string"
	Collection Theme = "collection"
	Encoding   Theme = "encoding"
	Filesystem Theme = "filesystem"
	DateTime   Theme = "datetime"
	Crypto     Theme = "crypto"
	Network    Theme = "network"
	Conversion Theme = "conversion"
)

// A row is a function of the language. It has fn, or it has bind if the function depends on the
// options.
type row struct {
	name  string
	theme Theme
	fn    function.Function
	bind  func(*binding) function.Function

	impure  bool // the function returns a different result for each call
	removed bool // the function only returns an error that names its replacement, and is not listed
}

// A binding holds the data that the functions of one table share.
type binding struct {
	Options
	funcs map[string]function.Function // the table itself, which templates use
}

// Table returns every function under its own name and under its name in Namespace. The functions
// are safe for concurrent use. Callers should keep the table, because building it takes a few
// hundred map writes, and must not change it.
func Table(o Options) map[string]function.Function {
	b := &binding{Options: o, funcs: maps.Clone(fixed())}
	for _, r := range functions {
		if r.fixed() {
			continue
		}
		fn := r.function(b)
		if o.Constant && (r.impure || r.name == "plantimestamp") {
			continue
		}
		if r.impure && o.PureOnly {
			fn = function.Unpredictable(fn)
		}
		b.add(&r, fn)
	}
	return b.funcs
}

func (b *binding) add(r *row, fn function.Function) {
	fn = Checked(fn)
	b.funcs[r.name] = fn
	b.funcs[Namespace+r.name] = fn
}

// Steady reports whether the function of the given name has the same result for the same arguments in
// every run. It returns false if no such function exists.
func Steady(name string) bool {
	_, ok := fixed()[name]
	return ok && name != "pathexpand"
}

// fixed reports whether the function is the same in all tables.
func (r *row) fixed() bool { return r.bind == nil && !r.impure }

// fixed returns the part that all tables share. Most of the time for a table goes into checking the
// types of its functions.
var fixed = sync.OnceValue(func() map[string]function.Function {
	b := &binding{funcs: make(map[string]function.Function, 2*len(functions))}
	for _, r := range functions {
		if r.fixed() {
			b.add(&r, r.fn)
		}
	}
	return b.funcs
})

func (r *row) function(b *binding) function.Function {
	if r.bind != nil {
		return r.bind(b)
	}
	return r.fn
}

// A Doc is the documentation of a function.
type Doc struct {
	Name        string // name without Namespace
	Theme       Theme
	Description string
	Params      []Param
	Variadic    *Param   // parameter for further arguments; nil if not variadic
	ReturnType  cty.Type // cty.DynamicPseudoType if the type depends on the arguments
}

// A Param describes one parameter of a function.
type Param struct {
	Name        string
	Description string
	Type        cty.Type
	Nullable    bool
}

// Docs describes every function of the language except removed ones, ordered by theme and name.
func Docs() []Doc {
	b := &binding{}
	docs := make([]Doc, 0, len(functions))
	for _, r := range functions {
		if r.removed {
			continue
		}
		fn := r.function(b)
		doc := Doc{Name: r.name, Theme: r.theme, Description: fn.Description(), ReturnType: returnType(fn)}
		for _, p := range fn.Params() {
			doc.Params = append(doc.Params, paramDoc(p))
		}
		if p := fn.VarParam(); p != nil {
			v := paramDoc(*p)
			doc.Variadic = &v
		}
		docs = append(docs, doc)
	}
	return docs
}

func paramDoc(p function.Parameter) Param {
	ty := p.Type
	if ty.IsCapsuleType() { // try and can have expressions as arguments, and convert has a type
		ty = cty.DynamicPseudoType
	}
	return Param{Name: p.Name, Description: p.Description, Type: ty, Nullable: p.AllowNull}
}

// returnType returns the result type of fn as far as the parameter types determine it.
func returnType(fn function.Function) cty.Type {
	args := make([]cty.Type, 0, len(fn.Params())+1)
	for _, p := range fn.Params() {
		args = append(args, p.Type)
	}
	if p := fn.VarParam(); p != nil {
		args = append(args, p.Type)
	}
	ty, err := fn.ReturnType(args)
	if err != nil {
		return cty.DynamicPseudoType // some functions return an error for arguments of unknown type
	}
	return ty
}

// withDescriptions returns a library function with descriptions of the function and its parameters.
func withDescriptions(fn function.Function, desc string, params ...string) function.Function {
	return fn.WithNewDescriptions(desc, params)
}

// withoutPanic returns a function that returns an error with the given message where fn panics. The
// result of fn must never be null.
func withoutPanic(fn function.Function, message string) function.Function {
	return function.New(&function.Spec{
		Description:  fn.Description(),
		Params:       fn.Params(),
		Type:         func(args []cty.Value) (cty.Type, error) { return typeOf(args, fn.ReturnTypeForValues) },
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := fn.Call(args)
			if _, ok := errors.AsType[function.PanicError](err); ok {
				err = errors.New(message)
			}
			return v, err
		},
	})
}

// notNull is the refinement of functions that never return null.
func notNull(b *cty.RefinementBuilder) *cty.RefinementBuilder {
	return b.NotNull()
}
