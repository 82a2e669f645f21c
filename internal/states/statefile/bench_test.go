package statefile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
)

// large returns a state with n instances of about one kilobyte each.
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
			Dependencies: states.NewDependencies([]addrs.ConfigResource{{Resource: addrs.Resource{Mode: addrs.Managed,
				Type: "lab_object", Name: fmt.Sprint("r", (i+1)%1000)}}})}
		s.SetCurrent(addr, obj, provider)
	}
	data, err := statefile.Encode(&statefile.File{State: s, Lineage: "l", Serial: 1}, &statefile.Options{Indent: true})
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// TestEncodeLarge checks that a state with several chunks has the layout of encoding/json,
// including when it is encoded again.
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
