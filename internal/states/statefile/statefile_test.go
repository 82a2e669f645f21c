package statefile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/version"
)

// The golden files were written by OpenTofu 1.12.6, except that their check results are sorted.
func TestGoldenFilesRoundTrip(t *testing.T) {
	paths, err := filepath.Glob("testdata/golden/*.tfstate")
	if err != nil || len(paths) < 2 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := statefile.Parse(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := statefile.Encode(f, &statefile.Options{Indent: true})
		if err != nil {
			t.Fatal(err)
		}
		want = writtenByUs(want)
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s (-read +written):\n%s", path, diff)
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, want); err != nil {
			t.Fatal(err)
		}
		compact.WriteByte('\n')
		if got, _ = statefile.Encode(f, nil); compact.String() != string(got) {
			t.Errorf("%s on one line (-want +got):\n%s", path, cmp.Diff(compact.String(), string(got)))
		}
	}
}

// writtenByUs returns a state written by OpenTofu 1.12.6 with the version that this program writes.
func writtenByUs(state []byte) []byte {
	return bytes.Replace(state, []byte(`"1.12.6"`), []byte(strconv.Quote(version.String)), 1)
}

func TestEncoderKeepsTexts(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/everything.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	f, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	enc, opts := statefile.NewEncoder(), &statefile.Options{Indent: true}
	if _, err := enc.Encode(f, opts); err != nil {
		t.Fatal(err)
	}
	// The text of a moved object is kept; the fields that depend on its place are new.
	for r := range f.State.Resources() {
		if r.Addr.Resource.Name != "z" {
			continue
		}
		for key, inst := range r.Instances {
			moved := r.Addr.Instance(addrs.StringKey("moved " + key.String()))
			f.State.SetCurrent(moved, inst.Current, addrs.ProviderInstance{Config: r.Provider})
			f.State.SetDeposed(moved, "12345678", inst.Current, addrs.ProviderInstance{Config: r.Provider})
			f.State.Forget(r.Addr.Instance(key))
		}
	}
	got, err := enc.Encode(f, opts)
	if err != nil {
		t.Fatal(err)
	}
	want, err := statefile.Encode(f, opts)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("(-new +kept):\n%s", diff)
	}
	if _, err := statefile.Parse(got); err != nil {
		t.Error(err)
	}
}

func TestObjectRoundTrip(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/everything.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	f, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	for r := range f.State.Resources() {
		for key, inst := range r.Instances {
			if inst.Current == nil {
				continue
			}
			text, err := statefile.EncodeObject(inst.Current)
			if err != nil || bytes.ContainsRune(text, '\n') {
				t.Fatalf("%s, %v", text, err)
			}
			if inst.Current, err = statefile.ParseObject(text); err != nil {
				t.Fatalf("%s%s: %v\n%s", r.Addr, key, err, text)
			}
		}
	}
	got, err := statefile.Encode(f, &statefile.Options{Indent: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(writtenByUs(data)), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestVersion3(t *testing.T) {
	data, err := os.ReadFile("testdata/v3.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if f.Serial != 7 || f.Lineage != "abc" {
		t.Errorf("serial %d, lineage %q", f.Serial, f.Lineage)
	}
	got, err := statefile.Encode(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/v3-upgraded.tfstate") // written by OpenTofu 1.12.6 from the same file
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(writtenByUs(want)), string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestVersion1(t *testing.T) {
	data, err := os.ReadFile("testdata/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	f, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := addrs.ParseInstanceText("a_b.c[1]")
	inst := f.State.Instance(first)
	if inst.Current.Status != states.Tainted || inst.Current.Flatmap["id"] != "t1" ||
		inst.Deposed["00000001"].Flatmap["id"] != "t2" {
		t.Errorf("a tainted object is missing: %+v", inst)
	}
	second, _ := addrs.ParseInstanceText("a_b.d")
	want2 := map[string]string{"id": "i", "tags.%": "1", "tags.a": "b", "l.#": "1", "l.0": "q"}
	if diff := cmp.Diff(want2, f.State.Instance(second).Current.Flatmap); diff != "" {
		t.Error(diff)
	}
}

func TestErrors(t *testing.T) {
	resource := func(fields string) string {
		return `{"version": 4, "resources": [{"mode": "managed", "type": "a", "name": "b", "provider": "provider[\"x/y\"]"` + fields + `}]}`
	}
	for _, test := range []struct{ input, want string }{
		{"", "the state file is empty"},
		{"{ oops", "the state is not valid JSON (line 1, column 3): invalid character 'o' looking for beginning of object key string"},
		{"{\n  \"version\": 4,\n  \"ser", "the state is not valid JSON (line 3, column 6): unexpected end of JSON input"},
		{" \n", "the state is not valid JSON (line 1, column 2): unexpected end of JSON input"},
		{`{"version": 4} more`, "the state is not valid JSON (line 1, column 16): invalid character 'm' after top-level value"},
		{"[]", "this is not a state file: it has no \"version\" attribute"},
		{"{}", "this is not a state file: it has no \"version\" attribute"},
		{`{"version": 0}`, `this is not a state file: its "version" is 0, not a positive whole number`},
		{`{"version": "4"}`, `this is not a state file: its "version" is "4", not a positive whole number`},
		{`{"version": 5, "resources": {}}`, "the state has format version 5, and version " + version.String + " reads versions 1 to 4; " +
			"a newer program may have written it"},
		{"tfstate binary", "the state is in the binary format of versions before 0.7: read and write it once with Terraform 0.6.16"},
		{`{"meta": {}, "encrypted_data": "aGE="}`, statefile.ErrEncrypted.Error()},
		{`{"version": 4, "serial": -1}`, `the state has an invalid value for "serial" (line 1, column 26): -1`},
		{`{"version": 4, "resources": {}}`, `the state has an invalid value for "resources" (line 1, column 29): {}`},
		{`{"resources": [], "version": 4, "outputs": []}`,
			`the state has an invalid value for "outputs" (line 1, column 44): []`},
		{resource(`, "instances": [{"schema_version": 4294967296}]`),
			`the state has an invalid value for "schema_version" (line 1, column 142): 4294967296`},
		{resource(`, "instances": [{"private": "%"}]`),
			`the state has an invalid value for "private" (line 1, column 135): "%"`},
		{resource(`, "instances": [{"attributes_flat": {"a": 1}}]`),
			`the state has an invalid value for "attributes_flat" (line 1, column 143): {"a": 1}`},
		{resource(`, "instances": [{"attributes": {"a": 01}}]`),
			"the state is not valid JSON (line 1, column 145): invalid character '1' after object key:value pair"},
		{`{"version": 4, "terraform_version": "new"}`,
			`the state's "terraform_version" is "new", which is not a version number`},
		{strings.Replace(resource(""), "managed", "ghostly", 1),
			`the state has a resource a.b of the unknown mode "ghostly"`},
		{strings.Replace(resource(""), `provider[\"x/y\"]`, "terraform", 1),
			`a.b in the state: invalid provider configuration address "terraform"`},
		{strings.Replace(resource(""), `provider[\"x/y\"]`, "", 1),
			`a.b in the state has no provider, and neither do its instances`},
		{strings.Replace(resource(`, "instances": [{"attributes": {}}]`), `provider[\"x/y\"]`, "", 1),
			`a.b in the state has no provider, and neither do its instances`},
		{resource(`, "module": "modul.x"`), `the state has a resource in the invalid module address "modul.x"`},
		{resource(`, "instances": [{"index_key": true}]`),
			`a.b in the state has an instance with the invalid key true`},
		{resource(`, "instances": [{}, {}]`), `a.b is in the state twice`},
		{resource(`, "instances": [{"status": "wobbly"}]`), `a.b in the state: unknown status "wobbly"`},
		{resource(`, "instances": [{"dependencies": ["nope"]}]`), `a.b in the state: invalid dependency "nope"`},
		{resource(`, "instances": [{"deposed": "zz"}]`),
			`a.b in the state has a deposed object with the invalid key "zz"`},
		{resource(`, "instances": [{"sensitive_attributes": [[{"type": "x"}]]}]`),
			`a.b in the state: invalid sensitive_attributes: unknown step type "x"`},
		{`{"version": 4, "outputs": {"o": {"value": 1, "type": "nmbr"}}}`,
			`the state's output value "o" can't be read: invalid primitive type name "nmbr"`},
		{`{"version": 4, "outputs": {"o": {"value": "x", "type": "number"}}}`,
			`the state's output value "o" can't be read: a number is required`},
		{`{"version": 4, "outputs": {"o": {"value": [1e999999999], "type": ["list", "number"]}}}`,
			`the state's output value "o" can't be read: a number is too large or too close to zero`},
		{`{"version": 3, "modules": [{"path": ["root"], "resources": {"z": {}}}]}`,
			`the state has a resource with the invalid address "z"`},
	} {
		_, err := statefile.Parse([]byte(test.input))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got %v\nwant %s", test.input, err, test.want)
		}
	}
}

// The type and name of a resource may come after its instances, an instance may have the provider,
// and null is the same as a missing field.
func TestUnusualLayout(t *testing.T) {
	const text = `{"resources": [{"instances": [{"index_key": null, "attributes": {"id": "1"}, "provider": "provider[\"x/y\"][\"k\"]", "private": null,
		"dependencies": null, "status": null}], "name": "b", "type": "a", "mode": "managed", "module": "module.m"}], "outputs": null, "version": 4, "check_results": null}`
	f, err := statefile.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	addr, _ := addrs.ParseInstanceText("module.m.a.b")
	inst := f.State.Instance(addr)
	if inst == nil || string(inst.Current.Attrs) != `{"id": "1"}` || inst.ProviderKey != addrs.StringKey("k") {
		t.Errorf("got %+v", inst)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestReadLimit(t *testing.T) {
	if _, err := statefile.ReadUpTo(endless{}, 8<<20); err == nil ||
		!strings.Contains(err.Error(), "larger than 8 MiB") {
		t.Errorf("an endless state: %v", err)
	}
	if data, err := statefile.ReadUpTo(strings.NewReader("12345678"), 8); err != nil || len(data) != 8 {
		t.Errorf("a state of exactly the limit: %d bytes, %v", len(data), err)
	}
}

func TestEqual(t *testing.T) {
	data, err := os.ReadFile("testdata/golden/everything.tfstate")
	if err != nil {
		t.Fatal(err)
	}
	parse := func(data []byte) *states.State {
		f, err := statefile.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return f.State
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, bytes.ReplaceAll(data, []byte(`\u003c`), []byte("<"))); err != nil {
		t.Fatal(err)
	}
	if !statefile.Equal(parse(data), parse(compact.Bytes())) {
		t.Error("states with different layouts differ")
	}
	if !statefile.Equal(nil, states.New()) {
		t.Error("nil and an empty state differ")
	}
	for _, change := range [][2]string{
		{`"schema_version": 3`, `"schema_version": 4`}, {`"private": "YQ=="`, `"private": "YWI="`},
		{`"data.t.x"`, `"data.t.y"`},
		{`"create_before_destroy": true`, `"create_before_destroy": false`}, {`"b": 1,`, `"b": 2,`},
		{`"status": "unknown"`, `"status": "fail"`},
		{`"index_key": 10`, `"index_key": 11`}, {`"value": "k"`, `"value": "l"`}, {`"status": "tainted",`, ``},
		{`"name": "q"`, `"name": "r"`},
		{`"identity_schema_version": 1`, `"identity_schema_version": 2`}, {`"type": "number"`, `"type": "string"`},
		{`].q"`, `].r"`},
		{`"failure_messages"`, `"messages"`}, {`x[\"k\"]`, `x[\"k3\"]`}, {`"id": "x"`, `"id": "y"`},
	} {
		changed := strings.Replace(string(data), change[0], change[1], 1)
		if changed == string(data) {
			t.Errorf("the state has no %s", change[0])
		} else if statefile.Equal(parse(data), parse([]byte(changed))) {
			t.Errorf("a state with %s equals one with %s", change[1], change[0])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/golden/*", "testdata/*.json"} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte(`{"version":1,"modules":[{"path":["root"],"resources":{"a.b":{"primary":{"id":"1","meta":{"schema_version":[]}}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := statefile.Parse(data)
		if err != nil {
			return
		}
		written, err := statefile.Encode(first, &statefile.Options{Indent: true})
		if err != nil {
			t.Fatalf("a parsed state can't be encoded: %v", err)
		}
		second, err := statefile.Parse(written)
		if err != nil {
			t.Fatalf("an encoded state can't be parsed: %v\n%s", err, written)
		}
		if !statefile.Equal(first.State, second.State) {
			t.Fatalf("the state changed after encoding and parsing:\n%s", written)
		}
		again, err := statefile.Encode(second, &statefile.Options{Indent: true})
		if err != nil || !bytes.Equal(written, again) {
			t.Fatalf("a second encoding differs: %v\n%s\n%s", err, written, again)
		}
	})
}

// large returns a state of n instances with about a kilobyte each.
func large(tb testing.TB, n int) []byte {
	tb.Helper()
	s := states.New()
	provider := addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("lab")}}
	ty := cty.Object(map[string]cty.Type{"id": cty.String, "tags": cty.Map(cty.String), "text": cty.String})
	for i := range n {
		addr := addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object",
			Name: fmt.Sprint("r", i%1000)}, Key: addrs.IntKey(i)}
		attrs, _, err := states.EncodeValue(cty.ObjectVal(map[string]cty.Value{
			"id":   cty.StringVal(fmt.Sprint("id-", i)),
			"text": cty.StringVal(strings.Repeat("some text ", 40)),
			"tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("x"), "b": cty.StringVal("y"),
				"c": cty.StringVal(fmt.Sprint(i))}),
		}), ty)
		if err != nil {
			tb.Fatal(err)
		}
		obj := &states.Object{Attrs: attrs, Private: []byte("private"),
			SensitivePaths: []cty.Path{cty.GetAttrPath("text")},
			Dependencies: []addrs.ConfigResource{{Resource: addrs.Resource{Mode: addrs.Managed, Type: "lab_object",
				Name: fmt.Sprint("r", (i+1)%1000)}}}}
		s.SetCurrent(addr, obj, provider)
	}
	data, err := statefile.Encode(&statefile.File{State: s, Lineage: "l", Serial: 1}, &statefile.Options{Indent: true})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestEncodeLarge checks that a state of several chunks has the layout of encoding/json, also when
// it is encoded again.
func TestEncodeLarge(t *testing.T) {
	data := large(t, 1000)
	var indented bytes.Buffer
	if err := json.Indent(&indented, bytes.TrimSpace(data), "", "  "); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(indented.String()+"\n", string(data)); diff != "" {
		t.Fatalf("the layout differs from encoding/json (-want +got):\n%s", diff)
	}
	f, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	enc := statefile.NewEncoder()
	for i := range 3 {
		again, err := enc.Encode(f, &statefile.Options{Indent: true})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, data) {
			t.Errorf("encoding %d differs", i+1)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	benchmark(b, func(data []byte, f *statefile.File) error { _, err := statefile.Parse(data); return err })
}
func BenchmarkEncode(b *testing.B) {
	benchmark(b, func(_ []byte, f *statefile.File) error {
		_, err := statefile.Encode(f, &statefile.Options{Indent: true})
		return err
	})
}
func BenchmarkEncodeAgain(b *testing.B) {
	enc := statefile.NewEncoder()
	benchmark(b, func(_ []byte, f *statefile.File) error {
		_, err := enc.Encode(f, &statefile.Options{Indent: true})
		return err
	})
}
func BenchmarkEqual(b *testing.B) {
	var other *statefile.File
	benchmark(b, func(data []byte, f *statefile.File) error {
		if other == nil {
			var compact bytes.Buffer
			if err := json.Compact(&compact, data); err != nil {
				return err
			}
			other, _ = statefile.Parse(compact.Bytes())
		}
		if !statefile.Equal(f.State, other.State) {
			return errors.New("not equal")
		}
		return nil
	})
}

func benchmark(b *testing.B, op func([]byte, *statefile.File) error) {
	data := large(b, 10000)
	f, err := statefile.Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := op(data, f); err != nil {
			b.Fatal(err)
		}
	}
}
