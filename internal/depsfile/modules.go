package depsfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/lang/nesting"
	"tofu/internal/tfdiags"
)

// ModulesFileName is the name of the file that pins modules, in the root module's folder. It is there when the user asked for it.
const ModulesFileName = ".terraform.modules.lock.hcl"

const modulesHeader = `# This file is maintained automatically by "tofu init". It pins the modules that
# are not local ones; without the file they are not pinned.
`

// ModuleLock pins one package of modules.
type ModuleLock struct {
	Source   string // the address in normal form, without a subdirectory
	Version  string // of a package from a registry
	Revision string // the commit or digest that was fetched; empty where the source has none
	Hash     Hash   // over all files of the package
}

// ModuleLocks are the pinned packages by source and version. One source may be pinned in several versions.
type ModuleLocks []ModuleLock

// LoadModules reads the file that pins modules. Pinned tells whether it is there.
func LoadModules(path string) (locks ModuleLocks, pinned bool, diags tfdiags.Diagnostics) {
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, tfdiags.Errorf("Failed to read module lock file", "The file %s can't be read: %s.", path, err).List()
	}
	locks, diags = ParseModules(src, path)
	return locks, true, diags
}

// ParseModules reads the content of such a file; filename is for diagnostics.
func ParseModules(src []byte, filename string) (ModuleLocks, tfdiags.Diagnostics) {
	var diags tfdiags.Diagnostics
	f, hclDiags := nesting.Parse(filename, src)
	if diags = diags.AppendHCL(hclDiags); diags.HasErrors() {
		return nil, diags
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
			p.errorf(block.TypeRange, "Unsupported block type", "The file has only blocks \"module\" with the source address of a package as their label.")
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
	if diags = diags.Append(p.diags...); diags.HasErrors() {
		return nil, diags
	}
	return locks.Sorted(), diags
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
			if lock.Version = text; ok {
				p.moduleVersion(text, attr)
			}
		case "revision":
			if lock.Revision = text; ok && (text == "" || strings.HasPrefix(text, "-")) {
				p.errorf(attr.Expr.Range(), "Invalid revision", "%q is no revision.", text)
			}
		case "hash":
			h, err := ParseHash(text)
			if lock.Hash = h; ok && (err != nil || h.Scheme() != SchemeContent) {
				p.errorf(attr.Expr.Range(), "Invalid module hash", "The hash of a package of modules is an \"h1:\" hash.")
			}
		default:
			p.unexpected(attr)
		}
	}
	if lock.Hash == "" && len(p.diags) == 0 {
		p.errorf(block.LabelRanges[0], "Missing hash", "The lock for package %s has no \"hash\".", lock.Source)
	}
	return lock
}

func (p *parser) moduleVersion(text string, attr *hclsyntax.Attribute) {
	if v, err := ParseVersion(text); err != nil || v.String() != text {
		p.errorf(attr.Expr.Range(), "Invalid module version", "A version is written in full, like \"1.2.0\"; %q isn't such a version.", text)
	}
}

// Sorted gives the locks in the file's order.
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

// Bytes is the file's content.
func (l ModuleLocks) Bytes() []byte {
	var out strings.Builder
	out.WriteString(modulesHeader)
	for _, lock := range l.Sorted() {
		fmt.Fprintf(&out, "\nmodule %s {\n", quoted(lock.Source))
		attrs := []struct{ name, value string }{{"version", lock.Version}, {"revision", lock.Revision}, {"hash", string(lock.Hash)}}
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

// Save writes the file, so that a reader sees the old one or the new one.
func (l ModuleLocks) Save(path string) error { return save(path, l.Bytes()) }
