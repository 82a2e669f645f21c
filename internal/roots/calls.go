package roots

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/tfdiags"
)

// Calls are the local directories that a module calls. If parts of the module can't be read or
// evaluated, it may call more directories than Dirs has.
type Calls struct {
	Dirs []string // certain
	May  []string // possible
	// MayBelow are directories: the module may call each directory in or below them.
	MayBelow []string
	Tests    []string // called by run blocks in the module's test files
}

// anywhere is the entry of Calls.MayBelow for a module that may call any directory.
var anywhere = string(filepath.Separator)

// CallsOf returns the calls of the module in a directory, whatever its variables are and even if
// the module has errors.
func CallsOf(p *configs.Parser, dir string) Calls {
	module, err := p.Module(dir, tfdiags.Drop)
	if module == nil {
		if isNoDirectory(dir) {
			return Calls{}
		}
		return Calls{MayBelow: []string{anywhere}}
	}
	unknown := make(map[string]configs.Given, len(module.Variables))
	for name := range module.Variables {
		unknown[name] = configs.Given{Val: cty.DynamicVal}
	}
	opts := &configs.LoadOptions{Parser: p, Variables: unknown, Unset: true}
	cfg, _ := configs.LoadRootModule(dir, opts, tfdiags.Drop)
	var out Calls
	out.add(p, cfg, nil)
	out.AddTests(p, cfg)
	if err == nil {
		return out
	}
	for _, name := range module.Files {
		out.scan(dir, p.Source(name))
	}
	return out
}

// add adds the calls of a module. installed are the modules that it has installed, by the name of
// the call: they decide what a source means that can't be evaluated.
func (c *Calls) add(p *configs.Parser, cfg *configs.Config, installed map[string]*configs.Config) {
	dirs, unknown := cfg.LocalCalls()
	c.Dirs = append(c.Dirs, dirs...)
	for _, call := range unknown {
		at := call.SourceRange
		switch {
		case installed[call.Name] != nil:
			c.Dirs = append(c.Dirs, installed[call.Name].Module.Dir)
		case call.SourceExpr == nil && mentionsSource(call, p.Source(call.Range.Filename)):
			// A syntax error hides the source, so CallsOf scans the file.
		case call.SourceExpr == nil:
			c.MayBelow = append(c.MayBelow, anywhere)
		default:
			c.scan(cfg.Module.Dir, append([]byte("module \"\" {\nsource = "), at.SliceBytes(p.Source(at.Filename))...))
		}
	}
}

// AddTests adds the calls in the test files of a module.
func (c *Calls) AddTests(p *configs.Parser, cfg *configs.Config) {
	apart := configs.NewParser(p.FS()) // p would keep the text of the files
	files, _ := apart.TestFiles(cfg.Module.Dir, configs.DefaultTestDirectory, tfdiags.Drop)
	for _, f := range files {
		for _, run := range f.Runs {
			if run.Module == nil {
				continue
			}
			if req, _ := run.Module.Request(cfg); req != nil && req.Source.Kind == addrs.LocalModule {
				c.Tests = append(c.Tests, req.LocalDir())
			}
		}
	}
}

// mentionsSource reports whether there is a source in the text of a call, whatever its syntax is.
func mentionsSource(call *configs.ModuleCall, file []byte) bool {
	if !call.Range.CanSliceBytes(file) {
		return false
	}
	text, _, _ := bytes.Cut(file[call.Range.End.Byte:], []byte("\n}"))
	found := sourceText.FindSubmatch(text)
	return found != nil && found[1] == nil && found[2] == nil
}

var (
	// localText matches the beginning of a quoted text that is a relative path.
	localText = regexp.MustCompile(`"(\.\.?/[^"\n]*)`)
	// sourceText matches a source, with its value up to the end of the line, and the beginnings of
	// the blocks that have arguments of this name. It is for native syntax and JSON.
	sourceText = regexp.MustCompile(`\b(module|resource|data|provisioner)(?:[ \t]+"|"[ \t]*:)|\b(required_providers)\b|` +
		`\bsource"?[ \t]*[=:][ \t]*([^\n]*)`)
)

// scan adds what the text of a file in dir may call, whatever its syntax is. The text is nil if the
// file can't be read.
func (c *Calls) scan(dir string, text []byte) {
	if text == nil || !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		c.MayBelow = append(c.MayBelow, anywhere)
		return
	}
	for _, found := range localText.FindAllSubmatch(text, -1) {
		path := string(found[1])
		constant, _, _ := strings.Cut(path, "${")
		constant, _, _ = strings.Cut(constant, "%{")
		if constant == path {
			c.May = append(c.May, filepath.Join(dir, filepath.FromSlash(path)))
			continue
		}
		parent := constant[:strings.LastIndex(constant, "/")+1]
		c.MayBelow = append(c.MayBelow, filepath.Join(dir, filepath.FromSlash(parent)))
	}
	block := ""
	for _, found := range sourceText.FindAllSubmatch(text, -1) {
		if word := string(found[1]) + string(found[2]); word != "" {
			block = word
			continue
		}
		value := string(found[3])
		isConstant := strings.HasPrefix(value, `"`) && !strings.HasPrefix(value, `"${`) && !strings.HasPrefix(value, `"%{`)
		if block == "module" && !isConstant {
			c.MayBelow = append(c.MayBelow, anywhere)
		}
	}
}

// Callers decides which modules are root modules: those that no other module calls. It first needs
// the calls of all modules. The zero value is ready for use.
type Callers struct {
	calls         set                     // certain, by [Real] path
	may, mayBelow map[string][]*Directory // callers by [Real] path
	tests         set                     // called by tests, by [Real] path
	by            map[string][]string     // [Real] paths of the certain callers of each module
	above         map[string]set          // all modules above one that may call any others: its callers, theirs and so on
	real          map[string]string       // results of [Real]
	unsure        []unsure
}

type set = map[string]bool

// unsure is a directory that a module may call.
type unsure struct{ dir, caller string }

// AddUnread adds directories that can't be searched. There may be modules in them.
func (c *Callers) AddUnread(dirs []string) {
	for _, dir := range dirs {
		c.Add(&Directory{Dir: dir, Real: Real(dir)}, Calls{MayBelow: []string{anywhere}})
	}
}

// Add adds the calls of the module in a directory. What an excluded directory may call is ignored,
// so that users can declare that it doesn't matter.
func (c *Callers) Add(caller *Directory, calls Calls) {
	if c.calls == nil {
		c.calls, c.tests, c.real = make(set), make(set), make(map[string]string)
		c.by, c.above = make(map[string][]string), make(map[string]set)
		c.may, c.mayBelow = make(map[string][]*Directory), make(map[string][]*Directory)
	}
	realOf := func(dir string) string { // many modules call the same ones
		if c.real[dir] == "" {
			c.real[dir] = Real(dir)
		}
		return c.real[dir]
	}
	for _, dir := range calls.Dirs {
		real := realOf(dir)
		c.calls[real] = true
		c.by[real] = append(c.by[real], caller.Real)
	}
	for _, dir := range calls.Tests {
		if real := realOf(dir); real != caller.Real {
			c.tests[real] = true
		}
	}
	if caller.Excluded && !caller.Declared {
		return
	}
	note := func(callers map[string][]*Directory, dirs []string) {
		for _, dir := range dirs {
			real := realOf(dir)
			if known := callers[real]; len(known) == 0 || known[len(known)-1] != caller {
				callers[real] = append(known, caller)
			}
		}
	}
	note(c.may, calls.May)
	note(c.mayBelow, calls.MayBelow)
}

// IsRoot reports whether the module in a directory is a root module. It is one if it is declared,
// or if it isn't excluded and no module calls it. If a test calls it or a module may call it, it is
// one if it has what only root modules have (hasOwn). If it can't be read (broken), it is one unless
// there is a sign of such a call.
func (c *Callers) IsRoot(d *Directory, hasOwn, broken bool) bool {
	switch {
	case d.Declared:
		return true
	case d.Excluded || c.calls[d.Real]:
		return false
	case hasOwn:
		return true
	case c.tests[d.Real]:
		return false
	}
	caller := c.caller(d, !broken)
	if caller == "" {
		return true
	}
	c.unsure = append(c.unsure, unsure{d.Dir, caller})
	return false
}

// caller returns the directory of a module that may call the one in d, or "". Modules that may call
// any directory count if all is set. A module doesn't call the modules that it is called through.
func (c *Callers) caller(d *Directory, all bool) string {
	other := func(callers []*Directory) string {
		for _, by := range callers {
			if by.Real != d.Real && !c.allAbove(by.Real)[d.Real] {
				return by.Dir
			}
		}
		return ""
	}
	by := other(c.may[d.Real])
	for at := d.Real; by == ""; at = filepath.Dir(at) {
		isTop := at == filepath.Dir(at)
		if all || !isTop {
			by = other(c.mayBelow[at])
		}
		if isTop {
			break
		}
	}
	return by
}

// allAbove returns the [Real] paths of the modules that call the one with the given path, directly or
// through others.
func (c *Callers) allAbove(real string) set {
	found, ok := c.above[real]
	if ok {
		return found
	}
	found = make(set)
	for next := c.by[real]; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		if !found[at] {
			found[at] = true
			next = append(next, c.by[at]...)
		}
	}
	c.above[real] = found
	return found
}

// Unsure returns a warning about the directories for which it is not certain that a module calls
// them, or nil if there are none.
func (c *Callers) Unsure() tfdiags.Diagnostics {
	if len(c.unsure) == 0 {
		return nil
	}
	const most = 10
	var lines []string
	for i, u := range c.unsure {
		if i == most && len(c.unsure) > most+1 {
			lines = append(lines, fmt.Sprintf("and %d more", len(c.unsure)-most))
			break
		}
		lines = append(lines, fmt.Sprintf("%s, because of %s", u.dir, u.caller))
	}
	return tfdiags.Warningf("Directories that may be modules", "The modules that these directories call can't all be "+
		"found. They may call the following ones, which are therefore not treated as root modules:\n  - %s\nCorrect the "+
		"calling modules, or run \"tofu init\" in them. If a directory in the list is a root module, declare it in "+
		"roots.tofu.hcl.", strings.Join(lines, "\n  - ")).List()
}

// HasOwn reports whether a module has what only root modules have: a backend, values of its
// variables, or a state. dataDir is its directory for working files.
func HasOwn(module *configs.Module, dataDir string) bool {
	if module.BackendOrCloud() != nil {
		return true
	}
	if _, err := os.Stat(filepath.Join(dataDir, "terraform.tfstate")); err == nil {
		return true
	}
	entries, err := os.ReadDir(module.Dir)
	return err == nil && slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		name := e.Name()
		return name == "terraform.tfstate" || name == "terraform.tfstate.d" || inputs.IsAutomatic(name)
	})
}
