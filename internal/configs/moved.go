package configs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang"
	"tofu/internal/tfdiags"
)

var movedSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "from", Required: true},
	{Name: "to", Required: true}, {Name: "for_each"}}}

// movedEnds are the addresses of a moved block, with the names of other root modules or "".
type movedEnds struct {
	from, to         addrs.Target
	fromRoot, toRoot string
}

// lateMove is a moved block with for_each, whose keys may be expressions. Its moves are known only when the
// values of variables and local values are.
type lateMove struct {
	forEach  hcl.Expression
	from, to hcl.Expression
	between  bool // whether one end is in another root module
	rng      hcl.Range
}

// decodeMoved decodes a moved block. How it relates to other moves can be checked only when the
// whole tree is loaded.
func decodeMoved(d *decoder, block *hcl.Block) {
	before := len(d.errs)
	content := d.content(block.Body, movedSchema)
	var ends movedEnds
	late := &lateMove{rng: block.DefRange}
	if attr, ok := content.Attributes["for_each"]; ok {
		late.forEach = attr.Expr
	}
	for _, end := range []struct {
		name string
		addr *addrs.Target
		root *string
		expr *hcl.Expression
	}{{"from", &ends.from, &ends.fromRoot, &late.from}, {"to", &ends.to, &ends.toRoot, &late.to}} {
		attr, ok := content.Attributes[end.name]
		if ok {
			*end.expr = addressExpr(attr.Expr)
			*end.root, *end.addr, ok = d.rootTarget(*end.expr, late.forEach != nil)
		}
		if !ok || end.addr.Resource.Mode == addrs.Ephemeral {
			d.errorf(block.DefRange, "Invalid \"moved\" address",
				"The argument %q must be the address of a resource or module that can be moved. Ephemeral "+
					"resources can't.", end.name)
		}
	}
	if len(d.errs) == before && !d.override {
		d.addError(ends.check(block.DefRange))
	}
	d.refuseOverride(block)
	switch {
	case d.override || len(d.errs) > before:
	case late.forEach != nil:
		late.between = ends.fromRoot+ends.toRoot != ""
		d.file.lateMoves = append(d.file.lateMoves, late)
	default:
		ends.add(&d.file.moved, &d.file.rootMoves, block.DefRange)
	}
}

// check checks that both addresses fit together.
func (e *movedEnds) check(at hcl.Range) error {
	if e.from.IsModule() != e.to.IsModule() {
		return tfdiags.Errorf("Invalid \"moved\" addresses", "A resource can't be moved to a module address, or a module to a "+
			"resource address. \"from\" and \"to\" must be of the same kind.").At(at)
	}
	if e.fromRoot != "" && e.toRoot != "" {
		return tfdiags.Errorf("Invalid \"moved\" addresses", "Only one of \"from\" and \"to\" can be in another root "+
			"module. Write the block in one of the two, without root[…] before the address there.").At(at)
	}
	return nil
}

// add adds a move to those within the root module, or to those between root modules.
func (e *movedEnds) add(within *[]*Moved, between *[]*RootMove, at hcl.Range) {
	if root := cmp.Or(e.fromRoot, e.toRoot); root != "" {
		*between = append(*between, &RootMove{Root: root, Leaves: e.toRoot != "", From: e.from, To: e.to, Range: at})
		return
	}
	*within = append(*within, &Moved{From: e.from, To: e.to, Range: at})
}

// rootTarget decodes the address of a module, resource or instance, which may begin with the name of another
// root module. If computed is true, names and keys in it may be expressions, and the result has others instead.
func (d *decoder) rootTarget(expr hcl.Expression, computed bool) (root string, t addrs.Target, ok bool) {
	traversal, literal, err := Address(expr, anyKey)
	if err != nil || !literal && !computed {
		_, diags := hcl.AbsTraversalForExpr(expr)
		d.addReference(expr, diags)
		return "", t, false
	}
	if traversal.RootName() == "each" {
		d.errorf(expr.Range(), "Invalid address", "Only keys in an address can be expressions, such as each.key. Write the "+
			"address of the resource or module before them.")
		return "", t, false
	}
	root, t, err = addrs.ParseRootTarget(traversal)
	d.addError(err)
	return root, t, err == nil
}

// addressExpr returns the expression in a JSON string. It returns other expressions, and strings that contain
// no expression, unchanged.
func addressExpr(expr hcl.Expression) hcl.Expression {
	if text, start, ok := jsonText(expr); ok {
		if inner, diags := hclsyntax.ParseExpression([]byte(text), expr.Range().Filename, start); !diags.HasErrors() {
			return inner
		}
	}
	return expr
}

// HasLateRootMoves reports whether moves to or from other root modules are known only after ExpandMoves.
func (m *Module) HasLateRootMoves() bool {
	return slices.ContainsFunc(m.lateMoves, func(late *lateMove) bool { return late.between })
}

// lacksValues reports whether a root variable has no value yet.
func (c *Config) lacksValues() bool {
	for name, v := range c.Root.Module.Variables {
		if _, given := c.static.env.given[name]; !given && !v.Default.Set {
			return true
		}
	}
	return false
}

// ExpandMoves evaluates moved blocks with for_each, and adds what they move to
// the moves of the module. Loading a whole tree does this for all modules; see LoadOptions.Moves.
func (c *Config) ExpandMoves() error {
	if len(c.Module.lateMoves) == 0 {
		return nil
	}
	m := *c.Module
	m.lateMoves = nil
	m.Moved, m.RootMoves = m.Moved[:len(m.Moved):len(m.Moved)], m.RootMoves[:len(m.RootMoves):len(m.RootMoves)]
	var errs tfdiags.Diagnostics
	c.static.env.mu.Lock()
	defer c.static.env.mu.Unlock()
	for _, late := range c.Module.lateMoves {
		errs = errs.AppendError(c.expandMove(&m, late))
	}
	c.Module = &m
	return errs.Err()
}

func (c *Config) expandMove(m *Module, late *lateMove) error {
	elements, err := c.moveElements(late.forEach)
	if err != nil {
		return err
	}
	for _, element := range elements {
		var ends movedEnds
		var err error
		scope := c.static.scope("moved", late.rng)
		scope.Data = &eachData{Data: scope.Data, element: element}
		if ends.fromRoot, ends.from, err = c.movedAddress(late.from, scope); err == nil {
			ends.toRoot, ends.to, err = c.movedAddress(late.to, scope)
		}
		switch {
		case errors.Is(err, errUnset):
			continue
		case err != nil:
			return tfdiags.MapError(err, func(diags tfdiags.Diagnostics) tfdiags.Diagnostics {
				return diags.Map(func(d *tfdiags.Diagnostic) { d.Detail += " " + describeElement(element) })
			})
		}
		if ends.from != ends.to || ends.fromRoot != ends.toRoot { // keys that stay the same
			ends.add(&m.Moved, &m.RootMoves, late.rng)
		}
	}
	return nil
}

// moveElements returns the elements of for_each of a moved block. They must be known and stay the same.
func (c *Config) moveElements(forEach hcl.Expression) ([]lang.Element, error) {
	const user, invalid = "moved.for_each", "Invalid for_each argument"
	at := forEach.Range()
	v, err := c.static.eval(forEach, cty.DynamicPseudoType, user, at)
	if err != nil {
		return nil, err
	}
	elements, err := lang.ForEachOrList(v)
	switch {
	case errors.Is(err, lang.ErrUnknownKeys) && c.static.env.unset:
		return nil, nil
	case errors.Is(err, lang.ErrUnknownKeys):
		return nil, tfdiags.Errorf(invalid, "The \"for_each\" value of a moved block must be known before planning.").At(at)
	case err != nil:
		return nil, tfdiags.Errorf(invalid, "%s", err).At(at)
	case c.keysVary(forEach, user):
		return nil, tfdiags.Errorf(invalid, "The keys depend on a function that has another value each time, such as "+
			"timestamp, uuid or bcrypt, so each plan would move other objects. Use values that stay the same.").At(at)
	}
	return elements, nil
}

// errUnset says that a key is not known, as a variable has no value; see LoadOptions.Unset.
var errUnset = errors.New("a key is not known")

// movedAddress evaluates the keys in an address of a moved block.
func (c *Config) movedAddress(expr hcl.Expression, scope *lang.Scope) (string, addrs.Target, error) {
	traversal, _, err := Address(expr, func(key hcl.Expression) (cty.Value, error) {
		v, err := scope.EvalExpr(key, cty.DynamicPseudoType)
		if err = tfdiags.Join(err, refuseMarks(v, "a key in a moved block", key.Range())); err != nil {
			return v, err
		}
		if v, _ = v.UnmarkDeep(); !v.IsKnown() && c.static.env.unset {
			return v, errUnset
		}
		if _, err := addrs.KeyFromValue(v); err != nil {
			return v, tfdiags.Errorf("Invalid key in a moved block", "%s", tfdiags.Sentence(err)).At(key.Range())
		}
		return v, nil
	})
	if err != nil {
		return "", addrs.Target{}, err
	}
	return addrs.ParseRootTarget(traversal)
}

// describeElement returns the key of an element of for_each, in a sentence.
func describeElement(e lang.Element) string {
	key, err := addrs.KeyFromValue(e.Key)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("The element of for_each is %s.", key)
}

// eachData adds each.key and each.value to the values of a scope.
type eachData struct {
	lang.Data
	element lang.Element // zero without for_each
}

// Value implements lang.Data.
func (d *eachData) Value(subject addrs.Referenceable, rng hcl.Range) (cty.Value, error) {
	each, ok := subject.(addrs.ForEachAttr)
	switch {
	case !ok:
		return d.Data.Value(subject, rng)
	case d.element.Key == cty.NilVal:
		return cty.DynamicVal, tfdiags.Errorf("Reference to \"each\" without for_each", "%s can be used only in a moved block "+
			"with for_each.", each).At(rng)
	case each.Name == "key":
		return d.element.Key, nil
	case each.Name == "value":
		return d.element.Value, nil
	}
	return cty.DynamicVal, tfdiags.Errorf("Invalid \"each\" attribute", "There is no %s. Only each.key and each.value can be "+
		"used.", each).At(rng)
}
