package planfile_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/plans"
	"tofu/internal/plans/planfile"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

// compare returns the differences between two plan files.
func compare(want, got *planfile.File) string {
	return cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b cty.Value) bool {
			return a == cty.NilVal && b == cty.NilVal || a != cty.NilVal && b != cty.NilVal && a.RawEquals(b)
		}),
		cmp.FilterValues(func(a, b cty.Path) bool { return len(a)+len(b) > 0 },
			cmp.Comparer(func(a, b cty.Path) bool { return a.Equals(b) })),
		cmp.Comparer(statefile.Equal),
		cmp.Comparer(
			func(a, b *checks.Results) bool { return (a == nil) == (b == nil) && cmp.Equal(a.Sorted(), b.Sorted()) }),
		cmp.Comparer(func(a, b addrs.InstanceKey) bool { return a == b }),
		cmpopts.IgnoreUnexported(plans.Changes{}, configschema.Block{}),
		cmp.Comparer(cty.Type.Equals),
	)
}

func encode(t interface{ Fatal(...any) }, f *planfile.File) []byte {
	var buf bytes.Buffer
	if err := planfile.Write(&buf, f); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// A generator uses rapid to draw random plans.
type generator struct{ t *rapid.T }

func (g generator) n(name string, max int) int { return rapid.IntRange(0, max).Draw(g.t, name) }

func (g generator) word() string { return rapid.StringMatching(`[a-z]{1,4}`).Draw(g.t, "word") }

// text draws a string in the normal form that strings have in the language.
func (g generator) text() string {
	return cty.StringVal(rapid.StringN(0, 6, -1).Draw(g.t, "text")).AsString()
}

func (g generator) yes() bool { return rapid.Bool().Draw(g.t, "yes") }

func (g generator) typ(depth int) cty.Type {
	max := 8
	if depth == 0 {
		max = 2
	}
	switch g.n("type", max) {
	case 0:
		return cty.String
	case 1:
		return cty.Number
	case 2:
		return cty.Bool
	case 3:
		return cty.List(g.typ(depth - 1))
	case 4:
		return cty.Set(g.typ(depth - 1))
	case 5:
		return cty.Map(g.typ(depth - 1))
	case 6:
		return cty.Tuple([]cty.Type{g.typ(depth - 1), g.typ(depth - 1)})
	case 7:
		return cty.DynamicPseudoType
	}
	return g.object(depth)
}

func (g generator) object(depth int) cty.Type {
	attrs := make(map[string]cty.Type)
	for range g.n("attributes", 4) {
		attrs[g.word()] = g.typ(max(depth-1, 0))
	}
	return cty.Object(attrs)
}

// value draws a value of a type. Inside a set, it draws neither marks nor unknown values.
func (g generator) value(ty cty.Type, inSet bool) cty.Value {
	v := g.bare(ty, inSet)
	if inSet {
		return v
	}
	if g.n("mark", 6) == 0 {
		v = v.Mark(marks.Sensitive)
	}
	return v
}

func (g generator) bare(ty cty.Type, inSet bool) cty.Value {
	if !inSet {
		switch g.n("special", 10) {
		case 0:
			return cty.UnknownVal(ty)
		case 1:
			return cty.NullVal(ty)
		case 2:
			if ty == cty.String {
				return cty.UnknownVal(ty).Refine().NotNull().StringPrefix("ab").NewValue()
			}
		}
	}
	elems := func(ety cty.Type, set bool) []cty.Value {
		var out []cty.Value
		for range g.n("elements", 3) {
			out = append(out, g.value(ety, set))
		}
		return out
	}
	switch {
	case ty == cty.String:
		return cty.StringVal(g.text())
	case ty == cty.Number:
		return cty.MustParseNumberVal(fmt.Sprintf("%d.%d", g.n("number", 1<<40), g.n("fraction", 999)))
	case ty == cty.Bool:
		return cty.BoolVal(g.yes())
	case ty == cty.DynamicPseudoType:
		if inSet {
			return cty.StringVal(g.text())
		}
		return g.bare(g.typ(1), inSet)
	case ty.IsListType() && !ty.HasDynamicTypes():
		if list := elems(ty.ElementType(), inSet); len(list) > 0 {
			return cty.ListVal(list)
		}
		return cty.ListValEmpty(ty.ElementType())
	case ty.IsSetType() && !ty.HasDynamicTypes():
		if list := elems(ty.ElementType(), true); len(list) > 0 {
			return cty.SetVal(list)
		}
		return cty.SetValEmpty(ty.ElementType())
	case ty.IsMapType() && !ty.HasDynamicTypes():
		out := make(map[string]cty.Value)
		for _, v := range elems(ty.ElementType(), inSet) {
			out[g.text()] = v
		}
		if len(out) == 0 {
			return cty.MapValEmpty(ty.ElementType())
		}
		return cty.MapVal(out)
	case ty.IsTupleType():
		out := make([]cty.Value, 0, 2)
		for _, ety := range ty.TupleElementTypes() {
			out = append(out, g.value(ety, inSet))
		}
		return cty.TupleVal(out)
	case ty.IsObjectType():
		out := make(map[string]cty.Value)
		for _, name := range slices.Sorted(maps.Keys(ty.AttributeTypes())) {
			out[name] = g.value(ty.AttributeType(name), inSet)
		}
		return cty.ObjectVal(out)
	}
	return cty.NullVal(ty) // the other types are collections whose elements have several types
}

func (g generator) key() addrs.InstanceKey {
	switch g.n("key", 2) {
	case 0:
		return addrs.NoKey
	case 1:
		return addrs.IntKey(g.n("index", 300))
	}
	return addrs.StringKey(g.text())
}

func (g generator) module() addrs.ModuleInstance {
	var m addrs.ModuleInstance
	for range g.n("depth", 2) {
		m = m.Child(g.word(), g.key())
	}
	return m
}

func (g generator) instance() addrs.AbsInstance {
	mode := addrs.Managed
	if g.yes() {
		mode = addrs.Data
	}
	return addrs.AbsInstance{Module: g.module(), Resource: addrs.Resource{Mode: mode, Type: g.word(),
		Name: g.word()}, Key: g.key()}
}

func (g generator) provider() addrs.ProviderInstance {
	p := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Module: g.module().Module(),
		Provider: addrs.DefaultProvider(g.word())}, Key: g.key()}
	if g.yes() {
		p.Config.Alias = g.word()
	}
	return p
}

func (g generator) path() cty.Path {
	var p cty.Path
	for range g.n("steps", 3) {
		switch g.n("step", 2) {
		case 0:
			p = p.GetAttr(g.word())
		case 1:
			p = p.IndexInt(g.n("index", 9))
		case 2:
			p = p.IndexString(g.text())
		}
	}
	return p
}

func (g generator) target() addrs.Target {
	if g.yes() {
		return addrs.Target{Module: g.module()}
	}
	i := g.instance()
	t := addrs.Target{Module: i.Module, Resource: i.Resource}
	if g.yes() {
		t.Key, t.HasKey = i.Key, true
	}
	return t
}

func (g generator) identity() cty.Value {
	if g.yes() {
		return cty.NilVal
	}
	return cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal(g.text())})
}

func (g generator) change(s *states.State) *plans.InstanceChange {
	ty := g.object(2)
	c := &plans.InstanceChange{
		Addr: g.instance(), Provider: g.provider(), Action: plans.Action(g.n("action", int(plans.ForgetThenCreate))),
		Reason: plans.ReplaceByRequest,
		Before: g.value(ty, false), After: g.value(ty, false), BeforeIdentity: g.identity(),
		AfterIdentity: g.identity(),
		Private:       []byte(g.text()), GeneratedConfig: g.text(), NeededBy: g.text(),
	}
	if len(c.Private) == 0 {
		c.Private = nil
	}
	if g.yes() {
		c.Restored = g.value(ty, false)
		c.Restored, _ = c.Restored.UnmarkDeep()
	}
	if g.yes() {
		from := g.instance()
		c.MovedFrom = &from
	}
	if g.yes() {
		c.Deposed = "0123abcd"
	}
	if c.Action == plans.NoOp && g.yes() {
		c.After = c.Before
	}
	for range g.n("invocations", 2) {
		c.Invocations = append(c.Invocations, g.invocation())
		c.Invocations[0].Trigger = &plans.Trigger{Caller: c.Addr, Event: g.word(), Block: g.n("block", 3),
			Index: g.n("index", 3), OnFailure: g.word(), Undecided: g.yes()}
	}
	for range g.n("reads", 2) {
		i := g.instance()
		c.Reads = append(c.Reads, plans.InstanceRead{Resource: i.Resource, Key: i.Key})
	}
	for range g.n("replace paths", 2) {
		c.RequiredReplace = append(c.RequiredReplace, g.path())
	}
	if g.yes() {
		c.Importing = &plans.Importing{ID: g.text(), Identity: g.identity()}
	}
	if g.yes() { // the state may contain the same object as the plan
		if attrs, secret, err := states.EncodeValue(c.Before, c.Before.Type()); err == nil &&
			!c.Before.Type().HasDynamicTypes() {
			obj := &states.Object{Attrs: attrs, SensitivePaths: secret}
			if c.Deposed == "" {
				s.SetCurrent(c.Addr, obj, c.Provider)
			} else {
				s.SetDeposed(c.Addr, c.Deposed, obj, c.Provider)
			}
		}
	}
	return c
}

func (g generator) invocation() *plans.Invocation {
	at := g.instance()
	at.Resource.Mode = addrs.Action
	return &plans.Invocation{Addr: at, Provider: g.provider(), Config: g.value(g.object(1), false)}
}

func (g generator) file() *planfile.File {
	p := &plans.Plan{
		Mode: plans.Mode(g.n("mode", 2)), Errored: g.yes(), Applyable: g.yes(), Complete: g.yes(),
		Timestamp: time.Unix(int64(g.n("seconds", 1<<31)), 123).UTC(),
		Changes:   &plans.Changes{}, Prior: states.New(), Variables: map[string]cty.Value{},
		VariableSources:    map[string]string{},
		EphemeralVariables: map[string]bool{}, GeneratedConfig: map[string]string{g.word(): g.text()},
	}
	seen := map[string]bool{}
	for range g.n("changes", 4) {
		c := g.change(p.Prior)
		if steps := c.Addr.Module.Steps(); len(steps) > 0 && g.yes() {
			c.Reason = plans.DeleteNoModule
			c.NoModule = plans.MissingModule{At: addrs.RootInstance.Child(steps[0].Name, steps[0].Key), Call: "count"}
		}
		if id := c.Addr.String() + string(c.Deposed); !seen[id] {
			seen[id] = true
			p.Changes.Instances = append(p.Changes.Instances, c)
		}
	}
	for range g.n("invoked", 2) {
		p.Changes.Invoked = append(p.Changes.Invoked, g.invocation())
	}
	for range g.n("drift", 2) {
		p.Drift = append(p.Drift, g.change(states.New()))
	}
	for range g.n("outputs", 2) {
		ty := g.typ(2)
		p.Changes.AddOutput(&plans.OutputChange{Name: g.word(), Before: g.value(ty, false),
			After: g.value(ty, false), Sensitive: g.yes(), Deprecated: g.text()})
	}
	p.Changes.Sort()
	for range g.n("variables", 3) {
		name := g.word()
		p.Variables[name], p.VariableSources[name] = g.value(g.typ(2), false), g.text()
		p.EphemeralVariables[g.word()] = g.yes()
	}
	for range g.n("targets", 2) {
		p.Targets, p.Excludes = append(p.Targets, g.target()), append(p.Excludes, g.target())
		p.ForceReplace = append(p.ForceReplace, g.instance())
		p.RelevantAttributes = append(p.RelevantAttributes, plans.RelevantAttribute{Resource: g.target(),
			Attr: g.path()})
		p.Read = append(p.Read, plans.RelevantAttribute{Resource: g.target(), Attr: g.path()})
	}
	p.PrevRun = p.Prior.Clone()
	if g.yes() {
		p.PrevRun.SetOutput("o", &states.Output{Value: cty.True})
	}
	if g.yes() {
		p.Checks = &checks.Results{}
		p.Checks.Declare(checks.KindCheck, "check."+g.word()).Set("check.a", checks.Fail, []string{g.text()})
	}
	if g.yes() {
		p.Past = &plans.Past{At: p.Timestamp, Run: g.text(), Lost: []plans.Lost{{Addr: g.instance(),
			Why: plans.LostIdentity, Attributes: []string{g.word()}}}}
		if g.yes() {
			to := g.instance()
			p.Past.Lost[0].Why, p.Past.Lost[0].MovedTo = plans.LostMove, &to
		}
	}
	if g.yes() {
		p.Footprint = &plans.Footprint{Revision: uint64(g.n("revision", 99)), Outputs: []string{g.word()},
			Reads: []addrs.AbsInstance{g.instance()}, Wholes: []addrs.ConfigResource{g.instance().Config()},
			Writes: []plans.Write{{Addr: g.instance(), Existed: g.yes(), Destroys: g.yes()}}}
	}
	if g.yes() {
		p.Remote = []plans.RemoteRead{{Data: g.instance(), Backend: g.word(), Config: []byte("{}"),
			OutputsRead: plans.OutputsRead{Workspace: g.word(), Revision: uint64(g.n("revision", 99)), All: g.yes(),
				Names: []string{g.word(), "z"}, Missing: []string{"z"}}}}
	}
	var schemas map[addrs.Provider]*providers.Schema
	if g.yes() {
		schemas = g.schemas()
	}
	return &planfile.File{
		Plan: p, Schemas: schemas, Serial: uint64(g.n("serial", 99)), Lineage: g.word(),
		Config:   map[string][]byte{"main.tf": []byte(g.text()), "a/b.tf": nil},
		LockFile: []byte(g.text()),
		Backend:  planfile.Backend{Type: g.word(), Config: []byte("{}"), Workspace: g.word(), State: g.text()},
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := generator{t}.file()
		data := encode(t, want)
		got, err := planfile.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := compare(want, got); diff != "" {
			t.Fatal(diff)
		}
		for _, c := range want.Plan.Changes.Instances {
			if got.Plan.Changes.Instance(c.Addr, c.Deposed) == nil {
				t.Fatalf("%s isn't indexed", c.Addr)
			}
		}
		if !bytes.Equal(data, encode(t, got)) {
			t.Fatal("writing twice gives different bytes")
		}
	})
}

// wide returns a plan with the given action for n objects.
func wide(tb testing.TB, n int, action plans.Action) *planfile.File {
	tb.Helper()
	p := &plans.Plan{Changes: &plans.Changes{}, Prior: states.New()}
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("lab")}}
	for i := range n {
		addr := addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object", Name: "a"},
			Key: addrs.IntKey(i)}
		v := cty.ObjectVal(map[string]cty.Value{
			"id":   cty.StringVal(fmt.Sprint("id-", i)),
			"note": cty.StringVal(fmt.Sprintf("%x", i*7919)).Mark(marks.Sensitive),
			"tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("x"),
				"b": cty.StringVal(fmt.Sprint(i))}), "size": cty.NumberIntVal(int64(i)),
		})
		attrs, secret, err := states.EncodeValue(v, v.Type())
		if err != nil {
			tb.Fatal(err)
		}
		p.Prior.SetCurrent(addr, &states.Object{Attrs: attrs, SensitivePaths: secret}, provider)
		after := v
		if action != plans.NoOp {
			after = cty.ObjectVal(map[string]cty.Value{"id": v.GetAttr("id"), "note": v.GetAttr("note"),
				"tags": v.GetAttr("tags"), "size": cty.Zero})
		}
		p.Changes.Instances = append(p.Changes.Instances, &plans.InstanceChange{
			Addr: addr, Provider: provider, Action: action, Before: v, After: after})
	}
	p.PrevRun = p.Prior
	return &planfile.File{Plan: p, ID: "id"}
}

// TestUnchangedObjectsAreCompact checks that an unchanged object takes hardly any space in the
// plan, in addition to its space in the state.
func TestUnchangedObjectsAreCompact(t *testing.T) {
	size := func(data []byte, name string) int {
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			if f.Name == name {
				return int(f.UncompressedSize64)
			}
		}
		return 0
	}
	const n = 1000
	data := encode(t, wide(t, n, plans.NoOp))
	if got := size(data, "plan"); got > 80*n {
		t.Errorf("%d unchanged objects take %d bytes of the plan", n, got)
	}
	if size(data, "tfstate-prev") != 0 {
		t.Error("the same state is in the file twice")
	}
	if got := len(data); got > 60*n {
		t.Errorf("%d unchanged objects take %d bytes", n, got)
	}
}

func TestWriteErrors(t *testing.T) {
	f := wide(t, 1, plans.Update)
	f.Plan.Changes.Instances[0].After = cty.ObjectVal(
		map[string]cty.Value{"id": cty.StringVal("x").Mark(marks.Ephemeral)})
	if err := planfile.Write(io.Discard, f); err == nil || !strings.Contains(err.Error(),
		`lab_object.a[0]: .id has the mark marks.ephemeral`) {
		t.Errorf("an ephemeral value: %v", err)
	}
	f = wide(t, 1, plans.NoOp)
	f.Config = map[string][]byte{"../x": nil}
	if err := planfile.Write(io.Discard, f); err == nil {
		t.Error("a path out of the configuration is written")
	}
	if err := planfile.Write(broken{}, wide(t, 1, plans.NoOp)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a writer that fails: %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, os.ErrClosed }

// archive returns a zip archive with the entries.
func archive(t *testing.T, entries ...string) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := 0; i < len(entries); i += 2 {
		w, err := z.Create(entries[i])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(w, entries[i+1])
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// bomb returns a small archive whose entries all claim to be large.
func bomb(t *testing.T, entries int, size uint64) []byte {
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	for i := range entries {
		_, err := z.CreateRaw(&zip.FileHeader{Name: fmt.Sprint("tfconfig/", i, ".tf"), Method: zip.Deflate,
			UncompressedSize64: size})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestParseErrors(t *testing.T) {
	good := encode(t, wide(t, 3, plans.Update))
	const state = `{"version":4}`
	flipped := bytes.Clone(good)
	flipped[len(flipped)/3] ^= 0xff
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "this is not a plan file"},
		{"state", []byte(state), "this is not a plan file"},
		{"foreign", archive(t, "tfplan", "x", "tfstate", state), "written by another program"},
		{"other archive", archive(t, "readme", "x"), "an archive of something else"},
		{"truncated", good[:len(good)/2], "the plan file is damaged: zip: not a valid zip file"},
		{"flipped", flipped, "the plan file is damaged: "},
		{"other format", archive(t, "plan", "\x63", "other", state), "another version of this program"},
		{"no plan", archive(t, "plan", "", "tfstate", state), "the plan file is damaged: EOF"},
		{"twice", archive(t, "plan", "", "plan", "", "tfstate", state), `two entries named "plan"`},
		{"no state", archive(t, "plan", "\x07", "tfplan", ""),
			`the plan file is damaged: it has no entry named "tfstate"`},
		{"no variables", archive(t, "plan", "\x07", "tfstate", state), `it has no entry named "tfplan"`},
		{"bad state", archive(t, "plan", "\x07", "tfplan", "", "tfstate", "{"),
			"the plan file is damaged: the state is not valid JSON"},
		{"bad variables", archive(t, "plan", "\x07", "tfplan", "\x12\xff", "tfstate", state),
			"the plan file is damaged: tfplan: "},
		{"large entry", bomb(t, 1, 1<<30+1), "tfconfig/0.tf in the plan file is larger than 1024 MiB"},
		{"many entries", bomb(t, 5000, 1<<20), "the content of the plan file is larger than 4096 MiB"},
		{"sizes beyond numbers", bomb(t, 3, 1<<63), "is larger than 1024 MiB"},
	} {
		_, err := planfile.Parse(test.data)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

func TestIs(t *testing.T) {
	if !planfile.Is(encode(t, wide(t, 1, plans.NoOp))) || planfile.Is([]byte(`{"version":4}`)) || planfile.Is(nil) {
		t.Error("plan files and others aren't told apart")
	}
}

// entry returns the content of an entry of an archive.
func entry(tb testing.TB, z *zip.Reader, name string) []byte {
	tb.Helper()
	in, err := z.Open(name)
	if err != nil {
		tb.Fatal(err)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestSharedEntries checks the entries of plan files that other programs read. They find a message
// of OpenTofu's in "tfplan": a format, values of variables and the name of a program.
func TestSharedEntries(t *testing.T) {
	f := wide(t, 2, plans.Update)
	secret := cty.StringVal("once").Mark(marks.Sensitive)
	f.Plan.Variables = map[string]cty.Value{"size": cty.NumberIntVal(3),
		"tags": cty.MapVal(map[string]cty.Value{"a": secret}), "later": cty.UnknownVal(cty.String)}
	f.Serial, f.LockFile = 7, []byte("# lock")
	f.Config = map[string][]byte{"modules.json": []byte("[]"), "m-a.b/main.tf": []byte("# b")}
	data := encode(t, f)
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	const number = "\x12\x16\n\x04size\x12\x0e\n\x0c\x92\xc4\b\"number\"\x03"
	for name, want := range map[string]string{
		"tfplan": number, "tfstate": `"serial":7,`, ".terraform.lock.hcl": "# lock", "tfconfig/modules.json": "[]",
		"tfconfig/m-a.b/main.tf": "# b",
	} {
		if got := entry(t, z, name); !bytes.Contains(got, []byte(want)) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if shared := entry(t, z, "tfplan"); !bytes.HasPrefix(shared, []byte("\x08\x03")) ||
		!bytes.Contains(shared, []byte("+tofu.")) {
		t.Errorf("tfplan has another head: %q", shared)
	}
	if plan := entry(t, z, "plan"); bytes.Contains(plan, []byte("once")) {
		t.Errorf("the value of a variable is there twice: %q", plan)
	}
}

// FuzzParse checks that Parse does not panic if the plan inside an archive is changed. The archive
// itself stays valid, because its checksums would detect any other change.
func FuzzParse(f *testing.F) {
	for i := range 40 {
		file := rapid.Custom(func(t *rapid.T) *planfile.File { return generator{t}.file() }).Example(i)
		data := encode(f, file)
		z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(entry(f, z, "plan"), entry(f, z, "tfplan"), data)
	}
	f.Fuzz(func(t *testing.T, plan, shared, whole []byte) {
		_, _ = planfile.Parse(whole)
		file, err := planfile.Parse(archive(t, "plan", string(plan), "tfplan", string(shared), "tfstate", `{"version":4}`))
		if err != nil {
			return
		}
		var buf bytes.Buffer
		if err := planfile.Write(&buf, file); err != nil {
			return // the plan has values that cannot be stored
		}
		if _, err := planfile.Parse(buf.Bytes()); err != nil {
			t.Fatalf("a plan that was written can't be read: %v", err)
		}
	})
}

func benchmark(b *testing.B, action plans.Action) {
	f := wide(b, 10_000, action)
	data := encode(b, f)
	b.Run("write", func(b *testing.B) {
		b.ReportMetric(float64(len(data)), "bytes")
		for b.Loop() {
			if err := planfile.Write(io.Discard, f); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := planfile.Parse(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkNoOp(b *testing.B)   { benchmark(b, plans.NoOp) }
func BenchmarkUpdate(b *testing.B) { benchmark(b, plans.Update) }
