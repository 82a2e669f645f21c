package depsfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/atomicfile"
	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// ModulesFileName is the name of the file that pins modules, in the root module's directory. The
// file exists only if the user asked for pinning.
const ModulesFileName = ".terraform.modules.lock.hcl"

const modulesHeader = `# This file is maintained automatically by "tofu init". It pins the modules that
# are not local ones; without the file they are not pinned.
`

// ModuleLock pins a module package.
type ModuleLock struct {
	Source   string // normalized address without subdirectory
	Version  string // only for packages from a registry
	Revision string // the fetched commit or digest; empty if the source has none
	Hash     Hash   // hash of all files in the package
}

// ModuleLocks are pinned packages. Several versions of a source may be pinned.
type ModuleLocks []ModuleLock

// LoadModules reads the file that pins modules. pinned reports whether the file exists.
func LoadModules(path string) (locks ModuleLocks, pinned bool, err error) {
	src, err := atomicfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, tfdiags.Errorf("Failed to read module lock file",
			"The module lock file can't be read: %s.", err) // err names the file
	}
	locks, err = parseModules(src, path)
	return locks, true, err
}

// parseModules parses the content of the file; filename is used in diagnostics.
func parseModules(src []byte, filename string) (ModuleLocks, error) {
	f, diags := nesting.Parse(filename, src)
	if diags.HasErrors() {
		return nil, tfdiags.FromHCL(diags).Err()
	}
	var p parser
	var locks ModuleLocks
	type pinned struct{ source, version string }
	seen := make(map[pinned]bool)
	body := f.Body.(*hclsyntax.Body)
	for _, attr := range sortedAttributes(body) {
		p.unexpected(attr)
	}
	for _, block := range body.Blocks {
		if block.Type != "module" || len(block.Labels) != 1 {
			p.errorf(block.TypeRange, "Unsupported block type",
				"The file may only contain \"module\" blocks with the source address of a package as label.")
			continue
		}
		lock := p.module(block)
		key := pinned{lock.Source, lock.Version}
		if seen[key] {
			p.errorf(block.LabelRanges[0], "Duplicate module lock", "The package %s is pinned twice.", lock.Source)
		}
		seen[key] = true
		locks = append(locks, lock)
	}
	if err := p.errs.Err(); err != nil {
		return nil, err
	}
	return locks.Sorted(), nil
}

func (p *parser) module(block *hclsyntax.Block) ModuleLock {
	lock := ModuleLock{Source: block.Labels[0]}
	for _, nested := range block.Body.Blocks {
		p.errorf(nested.TypeRange, "Unsupported block type", "Blocks of type %q are not expected here.", nested.Type)
	}
	for _, attr := range sortedAttributes(block.Body) {
		text, ok := p.text(attr)
		switch attr.Name {
		case "version":
			lock.Version = text
			if ok {
				p.moduleVersion(text, attr)
			}
		case "revision":
			lock.Revision = text
			if ok && (text == "" || strings.HasPrefix(text, "-")) {
				p.errorf(attr.Expr.Range(), "Invalid revision",
					"%q is not a valid revision. A revision must not be empty or begin with a hyphen.", text)
			}
		case "hash":
			h, err := ParseHash(text)
			lock.Hash = h
			if ok && (err != nil || h.Scheme() != SchemeContent) {
				p.errorf(attr.Expr.Range(), "Invalid module hash",
					"The hash of a module package must be an \"h1:\" hash.")
			}
		default:
			p.unexpected(attr)
		}
	}
	if lock.Hash == "" && len(p.errs) == 0 {
		p.errorf(block.LabelRanges[0], "Missing hash", "The lock for package %s has no \"hash\".", lock.Source)
	}
	return lock
}

func (p *parser) moduleVersion(text string, attr *hclsyntax.Attribute) {
	if v, err := ParseVersion(text); err != nil || v.String() != text {
		p.errorf(attr.Expr.Range(), "Invalid module version", "%q is not a complete version like \"1.2.0\".", text)
	}
}

// Sorted returns the locks in the order of the file.
func (l ModuleLocks) Sorted() ModuleLocks {
	return slices.SortedFunc(slices.Values(l), func(a, b ModuleLock) int {
		if c := strings.Compare(a.Source, b.Source); c != 0 {
			return c
		}
		x, xErr := ParseVersion(a.Version)
		y, yErr := ParseVersion(b.Version)
		if xErr != nil || yErr != nil {
			return strings.Compare(a.Version, b.Version)
		}
		return cmp.Or(CompareVersions(x, y), strings.Compare(a.Version, b.Version))
	})
}

// Bytes returns the content of the file.
func (l ModuleLocks) Bytes() []byte {
	var out strings.Builder
	out.WriteString(modulesHeader)
	for _, lock := range l.Sorted() {
		fmt.Fprintf(&out, "\nmodule %s {\n", quoted(lock.Source))
		attrs := []struct{ name, value string }{{"version", lock.Version}, {"revision", lock.Revision},
			{"hash", string(lock.Hash)}}
		width := 0
		for _, a := range attrs {
			if a.value != "" {
				width = max(width, len(a.name))
			}
		}
		for _, a := range attrs {
			if a.value != "" {
				fmt.Fprintf(&out, "  %-*s = %s\n", width, a.name, quoted(a.value))
			}
		}
		out.WriteString("}\n")
	}
	return []byte(out.String())
}

// Save writes the file atomically.
func (l ModuleLocks) Save(path string) error { return save(path, l.Bytes()) }
