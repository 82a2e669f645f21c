package upgrade

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"tofu/internal/depsfile"
)

func version(t interface{ Fatal(...any) }, text string) depsfile.Version {
	v, err := depsfile.ParseVersion(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestRaise(t *testing.T) {
	for _, c := range []struct{ old, to, want string }{
		{"5.6.0", "5.7.0", "5.7.0"},
		{"5.6", "5.7.2", "5.7.2"},
		{"= 5.6.0", "5.7.0", "= 5.7.0"},
		{" =5.6.0 ", "5.7.0", " =5.7.0 "},
		{"v5.6.0", "5.7.0", "v5.7.0"},
		{"~> 5.6", "5.7.2", "~> 5.7"},
		{"~> 5.6", "6.1.3", "~> 6.1"},
		{"~> 5", "6.1.3", "~> 6"},
		{"~>5.6.1", "6.1.3", "~>6.1.3"},
		{"~> 5.7", "5.7.2", "~> 5.7"},
		{">= 1.6", "1.9.0", ">= 1.9"},
		{">= 1.6.0", "1.9.0", ">= 1.9.0"},
		{"> 1.6.0", "1.9.0", "> 1.6.0"},
		{">= 4.0, < 6.0", "5.7.0", ">= 5.7, < 6.0"},
		{">= 4.0.0,< 6.0.0", "6.1.3", ">= 6.1.3,< 7.0.0"},
		{"< 5", "5.7.0", "< 6"},
		{"< 5.8", "5.9.1", "< 5.10"},
		{"< 5.8.3", "5.9.1", "< 5.9.2"},
		{"<= 5.8.0", "5.9.1", "<= 5.9.1"},
		{"<= 5.9.1", "5.9.1", "<= 5.9.1"},
		{">= 5.0, != 5.6.1", "5.7.0", ">= 5.7, != 5.6.1"},
		{"5.7.0", "5.7.0", "5.7.0"},
		{"5.6.0", "6.0.0-beta1", "6.0.0-beta1"},
		{"5.8.0", "5.7.0", "newer"},
		{">= 5.8", "5.7.0", "newer"},
		{"> 5.7.0", "5.7.0", "newer"},
		{">= 5.0, != 5.7.0", "5.7.0", "excludes"},
		{"~> 5.6", "6.0.0-beta1", "does not match"},
		{"five", "5.7.0", "not a version constraint"},
		{">= 5.0,", "5.7.0", "not a version constraint"},
	} {
		got, err := Raise(c.old, version(t, c.to))
		if err != nil && strings.Contains(err.Error(), c.want) && c.want != "" {
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q to %s: got %q, %v", c.old, c.to, got, err)
		}
	}
}

// TestRaiseProperties checks that a constraint that Raise returns without an error accepts the
// version, and that raising it again changes nothing.
func TestRaiseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`[0-3]\.[0-3](\.[0-3])?`)
		parts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{"", "= ", "~> ", ">= ", "> ", "< ", "<= ", "!= "}).Draw(t,
				"operator") + number.Draw(t, "bound")
		}), 1, 3).Draw(t, "parts")
		old := strings.Join(parts, ", ")
		v := version(t, rapid.StringMatching(`[0-3]\.[0-3]\.[0-3]`).Draw(t, "version"))
		raised, err := Raise(old, v)
		if err != nil {
			return
		}
		c, err := depsfile.ParseConstraints(raised)
		if err != nil || !depsfile.Acceptable(c).Has(v) {
			t.Fatalf("%q does not match %s: %v", raised, v, err)
		}
		if again, err := Raise(raised, v); err != nil || again != raised {
			t.Fatalf("%q raised again: %q, %v", raised, again, err)
		}
	})
}

func TestRaiseRef(t *testing.T) {
	for _, c := range []struct{ old, to, want string }{
		{"v1.2.3", "1.3.0", "v1.3.0"}, {"1.2.3", "1.3.0", "1.3.0"}, {"net-v1.2.3", "2.0.0", "net-v2.0.0"},
		{"v1.3.0", "1.3.0", "v1.3.0"},
		{"v1.2.3", "1.0.0", "newer"}, {"main", "1.0.0", "doesn't end in a version"},
		{"v1.2", "1.3.0", "doesn't end in a version"},
	} {
		got, err := RaiseRef(c.old, version(t, c.to))
		if err != nil && strings.Contains(err.Error(), c.want) {
			continue
		}
		if err != nil || got != c.want {
			t.Errorf("%q to %s: got %q, %v", c.old, c.to, got, err)
		}
	}
}

// TestPlaces checks how all constraints in the files of an archive are raised to 9.8.7. The
// expected text of each constraint follows "=>".
func TestPlaces(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(archives, err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var files []File
		want := make(map[string]string)
		for _, f := range archive.Files {
			if old, ok := strings.CutPrefix(f.Name, "=> "); ok {
				want[old] = string(f.Data)
				continue
			}
			files = append(files, File{f.Name, f.Data})
		}
		places, err := Places(files)
		if err != nil {
			t.Fatal(err)
		}
		edits := make(map[string][]Edit)
		var log strings.Builder
		for _, p := range places {
			text := p.Problem
			if text == "" {
				raise := Raise
				if p.Kind == ModuleRef {
					raise = RaiseRef
				}
				text, err = raise(p.Text, version(t, "9.8.7"))
				if err == nil {
					edits[p.Range.Filename] = append(edits[p.Range.Filename], Edit{p, text})
				} else {
					text = err.Error()
				}
			}
			log.WriteString(filepath.Base(p.Range.Filename) + " " + p.String() + ": " + p.Text + " => " + text + "\n")
		}
		for _, f := range files {
			if got := string(Apply(f.Source, edits[f.Name])); got != want[f.Name] {
				t.Errorf("%s: %s after the edit:\n%s", name, f.Name, got)
			}
		}
		if log.String() != want["log"] {
			t.Errorf("%s: got places\n%s", name, log.String())
		}
	}
}

func FuzzPlaces(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/places.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range archive.Files {
		f.Add(file.Data, strings.HasSuffix(file.Name, ".json"))
	}
	f.Fuzz(func(t *testing.T, source []byte, json bool) {
		name := "main.tf"
		if json {
			name = "main.tf.json"
		}
		places, _ := Places([]File{{name, source}})
		var edits []Edit
		for _, p := range places {
			if p.Problem == "" {
				edits = append(edits, Edit{p, p.Text})
			}
		}
		if got := Apply(source, edits); string(got) != string(source) {
			t.Errorf("undoing the edits changed the file:\n%s", got)
		}
	})
}
