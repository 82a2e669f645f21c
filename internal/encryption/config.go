package encryption

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/blocks"
	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
)

// Source holds the input of [Load].
type Source struct {
	// Blocks are the encryption blocks, checked by package configs. Later blocks take precedence.
	Blocks []*hcl.Block
	Env    string // the value of TF_ENCRYPTION, which takes precedence over the blocks
	// Eval evaluates an expression that may use variables and local values.
	Eval     func(expr hcl.Expression, want cty.Type) (cty.Value, error)
	Getenv   func(string) string
	Registry *Registry
}

// Config holds a target for each kind of encrypted data.
type Config struct {
	state, plan, otherStates *Target
	named                    map[string]*Target
	clear                    *hcl.Range // range of the first block with the method "unencrypted"; nil if unused
}

// Load builds a Config. Key providers and methods that no target uses are not evaluated.
func Load(src *Source) (*Config, error) {
	var doc document
	var errs tfdiags.Diagnostics
	for _, b := range src.Blocks {
		errs = errs.AppendError(doc.add(b.Body, b.DefRange))
	}
	if strings.TrimSpace(src.Env) != "" {
		body, err := parseEnv(src.Env)
		if err == nil {
			err = doc.add(body, hcl.Range{Filename: envName})
		}
		errs = errs.AppendError(err)
	}
	if err := errs.Err(); err != nil {
		return nil, err
	}
	l := &loader{src: src, doc: &doc, providers: make(map[string]*provider), methods: make(map[string]*method)}
	out := &Config{named: make(map[string]*Target), clear: doc.clear}
	out.state = l.target("the state", doc.state)
	out.plan = l.target("the plan", doc.plan)
	out.otherStates = l.target("the remote state", doc.otherStates)
	for _, name := range slices.Sorted(maps.Keys(doc.named)) {
		out.named[name] = l.target(fmt.Sprintf("the remote state %q", name), doc.named[name])
	}
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// State returns the target for the state, or nil if it isn't encrypted.
func (c *Config) State() *Target { return c.state }

// Plan returns the target for plan files, or nil if they aren't encrypted.
func (c *Config) Plan() *Target { return c.plan }

// Enforced reports whether the state or plans must be encrypted.
func (c *Config) Enforced() bool {
	return c != nil && (c.state != nil && c.state.enforced || c.plan != nil && c.plan.enforced)
}

// Warn warns if a configuration uses the method "unencrypted", which leaves everything in clear
// text and is meant for migrations. Commands that plan or initialize call it.
func (c *Config) Warn(warn tfdiags.Sink) {
	if c.clear == nil {
		return
	}
	warn(tfdiags.Warningf("Unencrypted method configured",
		"The encryption block has the method \"unencrypted\". It is meant "+
			"for the migration to or from encryption; remove it afterwards.").At(*c.clear))
}

// Remote returns the target for the state that a terraform_remote_state data source reads, or nil
// if it isn't encrypted. Blocks name the data source by its module path and name, with or without
// an instance key.
func (c *Config) Remote(addr addrs.AbsInstance) *Target {
	name := addr.Resource.Name
	if module := strings.Join(addr.Module.Module().Names(), "."); module != "" {
		name = module + "." + name
	}
	for _, key := range []string{name + addr.Key.String(), name} {
		if t := c.named[key]; t != nil {
			return t
		}
	}
	return c.otherStates
}

// loader builds each method and key provider once. If building one fails, it is stored as nil, so
// that its error is reported only once.
type loader struct {
	src       *Source
	doc       *document
	providers map[string]*provider
	methods   map[string]*method
	errs      tfdiags.Diagnostics
}

// provider is a key provider in use.
type provider struct {
	addr  string // "key_provider.type.name"
	meta  string // name of its metadata in encrypted data
	keys  KeyProvider
	chain *provider
	busy  bool // whether it is being built; a reference to it is then part of a cycle
}

// method is a method in use.
type method struct {
	addr     string
	cipher   Method // nil for "unencrypted"
	provider *provider
	fixed    *Keys // keys that are written in the configuration itself
}

func (l *loader) errorf(at hcl.Range, summary, detail string, args ...any) {
	l.errs = l.errs.Append(tfdiags.Errorf(summary, detail, args...).At(at))
}

// target builds the target for a block. It returns nil if there is no block, or if there is an
// error, which it adds to l.errs.
func (l *loader) target(what string, b *targetBlock) *Target {
	if b == nil {
		return nil
	}
	t := &Target{what: what, decryption: make(map[string]Keys), reusable: make(map[string]*sealing)}
	for inner := b; inner != nil; inner = inner.fallback {
		attr := inner.attrs["method"]
		if attr == nil {
			l.errorf(inner.rng, "Missing encryption method",
				"The encryption of %s needs a method in each block. Add one: method = method.TYPE.NAME.", what)
			return nil
		}
		m := l.method(attr.Expr)
		if m == nil {
			return nil
		}
		t.methods = append(t.methods, m)
	}
	if attr := b.attrs["enforced"]; attr != nil {
		v, err := l.src.Eval(attr.Expr, cty.Bool)
		l.errs = l.errs.AppendError(err)
		v, _ = v.Unmark()
		t.enforced = err == nil && v.IsKnown() && !v.IsNull() && v.True()
	}
	if t.enforced {
		for _, m := range t.methods {
			if m.cipher == nil {
				l.errorf(b.rng, "Encryption is enforced",
					"%s must be encrypted, because \"enforced\" is set, but %s is one of its methods.",
					tfdiags.Capitalize(what), m.addr)
				return nil
			}
		}
	}
	return t
}

// method builds the method that an expression refers to. It returns nil if that fails, and adds the
// error to l.errs.
func (l *loader) method(expr hcl.Expression) *method {
	name, ok := reference(expr, "method")
	if !ok {
		l.errorf(expr.Range(), "Invalid encryption method",
			"A reference to a method block is needed here: method.TYPE.NAME.")
		return nil
	}
	m, known := l.methods[name]
	if !known {
		m = l.newMethod(name, expr.Range())
		l.methods[name] = m
	}
	return m
}

func (l *loader) newMethod(name string, at hcl.Range) *method {
	b, driver, ok := declared(l, "method", name, at, l.doc.methods, l.src.Registry.Methods)
	if !ok {
		return nil
	}
	m := &method{addr: "method." + name}
	if keys := b.attrs["keys"]; keys != nil && driver.Keys != NoKeys {
		b = b.without("keys")
		if m.provider, m.fixed, ok = l.keys(keys.Expr); !ok {
			return nil
		}
	} else if driver.Keys == RequiredKeys {
		l.errorf(b.rng, "Missing keys", "The method needs keys: keys = key_provider.TYPE.NAME.")
		return nil
	}
	config := driver.Config()
	if !l.open(b, config, "Invalid encryption method", m.addr, func() (err error) {
		m.cipher, err = driver.Open(config)
		return err
	}) {
		return nil
	}
	return m
}

// subjects are what errors call the two kinds of blocks.
var subjects = map[string]string{"method": "encryption method", "key_provider": "key provider"}

// declared returns the block of a kind with the given name, and its driver. It returns false if one
// doesn't exist, and adds the error to l.errs.
func declared[D any](
	l *loader, kind, name string, at hcl.Range, all map[string]*block, drivers map[string]*D,
) (*block, *D, bool) {
	typ, label, _ := strings.Cut(name, ".")
	b := all[name]
	if b == nil {
		l.errorf(at, "Undeclared "+subjects[kind], "There is no block %s %q %q in the encryption block.", kind, typ, label)
		return nil, nil, false
	}
	driver := drivers[typ]
	if driver == nil {
		l.errorf(b.rng, "Unknown "+subjects[kind], "There is no %s %q. Use one of: %s.", subjects[kind], typ,
			strings.Join(slices.Sorted(maps.Keys(drivers)), ", "))
	}
	return b, driver, driver != nil
}

// open decodes a block to a driver's configuration and calls open. It returns false after an error,
// which it adds to l.errs.
func (l *loader) open(b *block, config any, summary, addr string, open func() error) bool {
	if !l.decode(b, config) {
		return false
	}
	err := open()
	if err != nil {
		l.errorf(b.rng, summary, "%s: %s.", addr, err)
	}
	return err == nil
}

// keys reads a "keys" or "chain" argument: a reference to a key provider, or an object with the
// keys. It returns false after an error, which it adds to l.errs.
func (l *loader) keys(expr hcl.Expression) (*provider, *Keys, bool) {
	if name, ok := reference(expr, "key_provider"); ok {
		p := l.provider(name, expr.Range())
		return p, nil, p != nil
	}
	bytes := cty.List(cty.Number)
	keys := map[string]cty.Type{"encryption_key": bytes, "decryption_key": bytes}
	v, err := l.src.Eval(expr, cty.ObjectWithOptionalAttrs(keys, []string{"decryption_key"}))
	if err != nil {
		l.errs = l.errs.AppendError(err)
		return nil, nil, false
	}
	v, _ = v.UnmarkDeep()
	if !v.IsWhollyKnown() || v.IsNull() || v.GetAttr("encryption_key").IsNull() {
		l.errorf(expr.Range(), "Invalid keys",
			"A reference to a key provider, key_provider.TYPE.NAME, or an object with an \"encryption_key\" is needed here.")
		return nil, nil, false
	}
	var k Keys
	for name, to := range map[string]*[]byte{"encryption_key": &k.Encryption, "decryption_key": &k.Decryption} {
		list := v.GetAttr(name)
		if list.IsNull() {
			continue
		}
		var ok bool
		*to, ok = byteList(list)
		if !ok {
			l.errorf(expr.Range(), "Invalid keys", "%q must be a list of bytes: numbers from 0 to 255.", name)
			return nil, nil, false
		}
	}
	return nil, &k, true
}

// byteList converts a list of numbers to bytes. It returns false if a number is not a byte.
func byteList(list cty.Value) ([]byte, bool) {
	var out []byte
	for _, elem := range list.AsValueSlice() {
		if elem.IsNull() {
			return nil, false
		}
		n, accuracy := elem.AsBigFloat().Int64()
		if n < 0 || n > 255 || accuracy != big.Exact {
			return nil, false
		}
		out = append(out, byte(n))
	}
	return out, true
}

// provider returns the key provider with the given name, building it first if necessary. It returns
// nil if that fails, and adds the error to l.errs.
func (l *loader) provider(name string, at hcl.Range) *provider {
	p, known := l.providers[name]
	if !known {
		l.providers[name] = &provider{addr: "key_provider." + name, busy: true}
		p = l.newProvider(name, at)
		l.providers[name] = p
	} else if p != nil && p.busy {
		l.errorf(at, "Circular key providers", "The key provider %s is chained to itself.", p.addr)
		return nil
	}
	return p
}

func (l *loader) newProvider(name string, at hcl.Range) *provider {
	b, driver, ok := declared(l, "key_provider", name, at, l.doc.keyProviders, l.src.Registry.KeyProviders)
	if !ok {
		return nil
	}
	p := &provider{addr: "key_provider." + name, meta: "key_provider." + name}
	if alias := b.attrs["encrypted_metadata_alias"]; alias != nil {
		b = b.without("encrypted_metadata_alias")
		v, err := l.src.Eval(alias.Expr, cty.String)
		l.errs = l.errs.AppendError(err)
		v, _ = v.Unmark()
		if err != nil || v.IsNull() || !v.IsKnown() || v.AsString() == "" {
			l.errorf(alias.Range, "Invalid key provider", "encrypted_metadata_alias must be a string that is known and not empty.")
			return nil
		}
		p.meta = v.AsString()
	}
	if chain := b.attrs["chain"]; chain != nil && driver.Chains {
		b = b.without("chain")
		if p.chain, _, ok = l.keys(chain.Expr); !ok {
			return nil
		}
		if p.chain == nil {
			l.errorf(chain.Range, "Invalid key provider",
				"A reference to another key provider is needed here: key_provider.TYPE.NAME.")
			return nil
		}
	}
	config := driver.Config()
	if !l.open(b, config, "Invalid key provider", p.addr, func() (err error) {
		p.keys, err = driver.Open(config, p.chain != nil)
		return err
	}) {
		return nil
	}
	return p
}

// decode evaluates the arguments and nested blocks of a block and decodes them to a driver's
// configuration. It returns false after an error, which it adds to l.errs.
func (l *loader) decode(of *block, config any) bool {
	schema := blocks.Schema(config)
	before := len(l.errs)
	values := l.evaluate(of.attrs, schema)
	for _, b := range of.nested {
		inner := schema.BlockTypes[b.Type]
		if inner == nil {
			l.errorf(b.DefRange, "Unsupported block type", "Blocks of type %q are not expected here.", b.Type)
			continue
		}
		if _, again := values[b.Type]; again {
			l.errorf(b.DefRange, "Duplicate block", "Only one block of type %q is allowed here.", b.Type)
			continue
		}
		attrs, diags := b.Body.JustAttributes()
		l.errs = l.errs.AppendHCL(diags)
		values[b.Type] = cty.TupleVal([]cty.Value{cty.ObjectVal(l.evaluate(attrs, &inner.Block))})
	}
	if len(l.errs) > before {
		return false
	}
	for _, d := range tfdiags.FromError(blocks.Decode(cty.ObjectVal(values), config, l.src.Getenv, tfdiags.Drop)) {
		rng := of.rng
		if step, ok := d.Path[0].(cty.GetAttrStep); ok && of.attrs[step.Name] != nil {
			rng = of.attrs[step.Name].Range
		}
		l.errs = l.errs.Append(d.At(rng))
	}
	return len(l.errs) == before
}

// evaluate evaluates the arguments of a block.
func (l *loader) evaluate(attrs map[string]*hcl.Attribute, schema *configschema.Block) map[string]cty.Value {
	values := make(map[string]cty.Value)
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		attr := attrs[name]
		if schema.Attributes[name] == nil {
			l.errorf(attr.NameRange, "Unsupported argument", "An argument named %q is not expected here.", name)
			continue
		}
		v, err := l.src.Eval(attr.Expr, schema.Attributes[name].ConfigType())
		l.errs = l.errs.AppendError(err)
		values[name] = v
	}
	return values
}
