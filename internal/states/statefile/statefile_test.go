package statefile_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/version"
)

// TestGoldenFilesRoundTrip checks that reading and writing golden files doesn't change them.
// OpenTofu 1.12.6 wrote the files, but their check results were sorted afterwards.
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
		got, _ = statefile.Encode(f, nil)
		if compact.String() != string(got) {
			t.Errorf("%s on one line (-want +got):\n%s", path, cmp.Diff(compact.String(), string(got)))
		}
	}
}

// writtenByUs returns a state that OpenTofu 1.12.6 wrote as this program would have written it.
func writtenByUs(state []byte) []byte {
	engine, _ := json.Marshal(version.Engine())
	member := append([]byte(`,"engine":`), engine...)
	if bytes.HasPrefix(state, []byte("{\n")) {
		engine, _ = json.MarshalIndent(version.Engine(), "  ", "  ")
		member = append([]byte(",\n  \"engine\": "), engine...)
		member = append(member, '\n')
	}
	state = bytes.Replace(state, []byte(`"1.12.6"`), []byte(strconv.Quote(version.String)), 1)
	before := bytes.TrimRight(bytes.TrimSuffix(bytes.TrimSpace(state), []byte("}")), "\n")
	return append(append(before, member...), "}\n"...)
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
	// The encoder keeps the content of a moved object, but must write the fields that depend on its
	// address again.
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
			inst.Current, err = statefile.ParseObject(text)
			if err != nil {
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

// TestUnusualLayout checks unusual state files: the type and name of a resource may come after its
// instances, each instance may name its provider, and null is the same as a missing field.
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
	f.Add([]byte(`{"version":1,"modules":[{"path":["root"],"resources":{"a.b":{"primary":{"id":"1",` +
		`"meta":{"schema_version":[]}}}}}]}`))
	f.Add([]byte(`{"version":1,"modules":[{"path":["root"],"resources":{"a.b":{"provider":"a.x%","primary":{"id":"1"}}}}]}`))
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
