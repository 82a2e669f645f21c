package configs

import (
	"slices"
	"strings"

	"github.com/apparentlymart/go-versions/versions"
	"github.com/apparentlymart/go-versions/versions/constraints"
	"github.com/hashicorp/hcl/v2"

	"tofu/internal/tfdiags"
	"tofu/internal/version"
)

// firstCompatibleWith is the first OpenTofu version that supports compatible_with.
const firstCompatibleWith = "1.12.0"

const languageEdition = "tofu2024"

var languageSchema = &hcl.BodySchema{
	Attributes: []hcl.AttributeSchema{{Name: "edition"}, {Name: "experiments"}},
	Blocks:     []hcl.BlockHeaderSchema{{Type: "compatible_with"}},
}

var compatibleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "opentofu"}}}

// decodeLanguage decodes a language block, which holds a module's requirements on the language.
func decodeLanguage(d *decoder, block *hcl.Block) {
	if d.override {
		d.errorf(block.DefRange, "Language selections in override file",
			"Move the \"language\" block to an ordinary file of the module. It is not allowed in override files.")
		return
	}
	content := d.content(block.Body, languageSchema)
	if attr, ok := content.Attributes["edition"]; ok {
		switch word := hcl.ExprAsKeyword(attr.Expr); word {
		case languageEdition:
		case "":
			d.errorf(attr.Expr.Range(), "Invalid language edition",
				"The edition must be a keyword without quotes. The only supported edition is %s.", languageEdition)
		default:
			d.errorf(attr.Expr.Range(), "Unsupported language edition",
				"The only supported edition is %s. This module requires another version of the program.",
				languageEdition)
		}
	}
	if attr, ok := content.Attributes["experiments"]; ok {
		exprs, diags := hcl.ExprList(attr.Expr)
		d.addHCL(diags)
		for _, expr := range exprs {
			if hcl.ExprAsKeyword(expr) == symbolLibraries {
				d.file.symbolLibraries = true
				continue
			}
			d.errorf(expr.Range(), "Unknown experiment keyword", "There is no experiment with this name.")
		}
	}
	if len(content.Blocks) > 1 {
		d.errorf(block.DefRange, "Duplicate compatible_with block",
			"The language block already has a compatible_with block.")
	}
	for i, inner := range content.Blocks {
		// Other programs may add arguments, so unknown ones are ignored.
		inside, _ := d.partial(inner.Body, compatibleSchema)
		if attr, ok := inside.Attributes["opentofu"]; ok {
			d.file.compatible = append(d.file.compatible, compatible{attr, i > 0})
		}
	}
}

// compatible is the version constraint of a compatible_with block. repeated is set for every block
// after the first. An error about those blocks is already reported.
type compatible struct {
	constraint *hcl.Attribute
	repeated   bool
}

// checkVersions checks the version constraints of a module against this program's version. If a
// constraint isn't met, the error reports only this, because other errors may be a result of the
// wrong version.
func checkVersions(files []*file, warn tfdiags.Sink) (compatible bool, err error) {
	var incompatible, other tfdiags.Diagnostics
	check := func(attr *hcl.Attribute, ineffective bool) {
		spec, set, err := programConstraint(attr)
		if err != nil {
			other = other.AppendError(err)
			return
		}
		if !set.Has(versions.MustParseVersion(version.String)) {
			incompatible = append(incompatible, tfdiags.Errorf("Incompatible module",
				"This module requires %[2]q, but this program is compatible with OpenTofu v%[1]s. Use another "+
					"version of the program, or relax the constraint if it is too strict.",
				version.String, spec).At(attr.Range))
		} else if ineffective && set.Has(versions.MustParseVersion("1.11.999")) {
			other = append(other, tfdiags.Warningf("Ineffective version constraint",
				"OpenTofu versions before v%s don't support compatible_with, so the constraint should exclude "+
					"them, for example with \">= %s\".",
				firstCompatibleWith, firstCompatibleWith).At(attr.Range))
		}
	}
	for _, f := range files {
		// Constraints in .tf files are for Terraform's versions. This program's version numbers are
		// unrelated to them.
		if isTofuFile(f.name) {
			for _, attr := range f.requiredVersions {
				check(attr, false)
			}
		}
		for _, c := range f.compatible {
			check(c.constraint, !c.repeated)
		}
	}
	if len(incompatible) > 0 {
		return false, incompatible.Err()
	}
	return true, other.Report(warn)
}

func programConstraint(attr *hcl.Attribute) (text string, set versions.Set, err error) {
	if diags := decodeConstant(attr.Expr, &text); diags.HasErrors() {
		return "", set, tfdiags.FromHCL(diags).Err()
	}
	spec, err := constraints.ParseRubyStyleMulti(text)
	if strings.TrimSpace(text) == "" {
		err = errEmptyConstraint
	}
	if err != nil {
		return "", set, tfdiags.Errorf("Invalid version constraint", badConstraint, text, err).At(attr.Expr.Range())
	}
	isPrerelease := func(s constraints.SelectionSpec) bool { return s.Boundary.Prerelease != "" }
	if slices.ContainsFunc(spec, isPrerelease) {
		return "", set, tfdiags.Errorf("Invalid required_version constraint",
			"Prerelease versions are not supported here: %s. Remove the prerelease suffix.", text).At(attr.Range)
	}
	return text, versions.MeetingConstraints(spec), nil
}
