package hclfmt

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestFormat checks the formatted files in testdata/*.txtar. The file NAME.want contains the
// expected result for the file NAME. If there is no NAME.want, formatting NAME must fail.
func TestFormat(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, f := range archive.Files {
			if base, ok := strings.CutSuffix(f.Name, ".want"); ok {
				want[base] = string(f.Data)
			}
		}
		for _, f := range archive.Files {
			if strings.HasSuffix(f.Name, ".want") {
				continue
			}
			t.Run(f.Name, func(t *testing.T) {
				got, err := Format(f.Data, f.Name)
				expected, ok := want[f.Name]
				if ok == (err != nil) {
					t.Fatalf("got errors %v", err)
				}
				if !ok {
					return
				}
				if diff := cmp.Diff(expected, string(got)); diff != "" {
					t.Error(diff)
				}
				again, err := Format(got, f.Name)
				if err != nil || string(again) != string(got) && f.Name != "nested" {
					t.Errorf("formatted again: %s %v", again, err)
				}
			})
		}
	}
}

func TestKeep(t *testing.T) {
	const loose, canonical = "a = 1\nlong = 2\n", "a    = 1\nlong = 2\n"
	for before, want := range map[string]string{"": canonical, "b = 1\n": canonical, "b=1\n": loose, "b = \n": loose} {
		if got, err := Keep([]byte(before), []byte(loose), "test.tf"); err != nil || string(got) != want {
			t.Errorf("after %q: got %q, %v", before, got, err)
		}
	}
	if _, err := Keep(nil, []byte("a = \n"), "test.tf"); err == nil {
		t.Error("no error for text that can't be parsed")
	}
}

// FuzzFormat checks that formatting terminates, is stable and keeps valid source valid.
func FuzzFormat(f *testing.F) {
	f.Add("a=1\nbb = \"${x}\"\nvariable x {\n type = \"list\"\n}\n")
	f.Add("a = \"${\n  x + # c\n 1\n}\"\n")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<12 {
			return
		}
		once, err := Format([]byte(src), "fuzz.tf")
		if err != nil {
			return
		}
		_, err = Format(once, "fuzz.tf")
		if err != nil {
			t.Errorf("%q is formatted as %q, which is invalid: %v", src, once, err)
		}
	})
}
