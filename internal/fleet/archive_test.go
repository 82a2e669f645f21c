package fleet

import (
	"archive/zip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/encryption"
	"tofu/internal/lang/marks"
	"tofu/internal/outputuse"
	"tofu/internal/plans"
	"tofu/internal/roots"
	"tofu/internal/session"
)

// archive writes an archive with a plan for each root module of an estate. The root modules in
// failed have errors instead.
func archive(t *testing.T, e *roots.Estate, failed ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.plan")
	a, err := Create(path, plans.Normal)
	if err != nil {
		t.Fatal(err)
	}
	run := &Run{Estate: e, Selected: e.Roots, Directories: []string{"."}}
	var results []*Result
	for _, r := range e.Roots {
		result := &Result{Root: r}
		results = append(results, result)
		if strings.Contains(strings.Join(failed, " "), r.Name) {
			result.Err = errors.New("broken")
			at := &session.Session{Encryption: session.Encryption{Evaluated: &encryption.Config{}}}
			if err := a.fail(t.Context(), at, r, session.Variables{}, result.Err); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := a.add(r, []byte("plan of "+r.Name), &PlanSummary{Changes: true, Serial: 7}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Close(run, results); err != nil {
		t.Fatal(err)
	}
	return path
}

func open(t *testing.T, path string) *Saved {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func TestArchive(t *testing.T) {
	e := load(t, "network", "cluster:network", "app:cluster network")
	path := archive(t, e, "network")
	if !IsFile(path) {
		t.Error("the archive isn't recognized")
	}
	s := open(t, path)
	if !s.Errored || len(s.Roots) != 2 || strings.Join(s.Names(), " ") != "app cluster" {
		t.Errorf("%+v", s.Manifest)
	}
	for _, p := range s.Roots {
		text, err := s.read(p.Plan)
		if err != nil || string(text) != "plan of "+p.Name || p.Serial != 7 || p.State != e.ByName(p.Name).State {
			t.Errorf("%+v: %s, %v", p, text, err)
		}
		if want := map[string]string{"app": "cluster", "cluster": ""}[p.Name]; strings.Join(p.Needs, " ") != want {
			t.Errorf("%s needs %v", p.Name, p.Needs)
		}
	}
	if len(s.Failed) != 1 || s.Failed[0].Name != "network" || s.Failed[0].Status != "failed" || s.Failed[0].Skipped() {
		t.Errorf("not planned: %+v", s.Failed)
	}
	found, err := s.Errors(t.Context(), &session.Session{}, s.Failed[0])
	if err != nil || len(found) != 1 || !strings.Contains(found[0].Summary, "Broken") {
		t.Errorf("the errors are %+v, %v", found, err)
	}
	if sums := s.Summary(); sums.Roots != 3 || sums.Failed != 1 || sums.Changed != 2 {
		t.Errorf("the summary is %+v", sums)
	}
	reads := s.Roots[0].Reads
	if len(reads) != 2 || reads[0].Root != "cluster" || reads[1].Root != "network" || reads[0].Kind != roots.After ||
		reads[0].File != "roots.tofu.hcl" || reads[0].Line != 8 {
		t.Errorf("%s reads %+v", s.Roots[0].Name, reads)
	}
	selected, err := s.Select(e)
	if err != nil || namesOf(selected) != "app cluster" {
		t.Errorf("selected %s, %v", namesOf(selected), err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the plans: %v %v", info.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestOtherEstate checks the errors about an archive that was created from another estate.
func TestOtherEstate(t *testing.T) {
	s := open(t, archive(t, load(t, "a", "b", "c")))
	other := load(t, "a", "c") // the directory differs, so the states do too
	_, err := s.Select(other)
	if err == nil {
		t.Fatal("the plans were accepted")
	}
	for _, want := range []string{"a: its state is a/terraform.tfstate, but the plan was made for the state ",
		"b: there is no such root module",
		"c: its state is", "Nothing was changed"} {
		if !strings.Contains(filepath.ToSlash(err.Error()), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
	var names []string
	for i := range 15 {
		names = append(names, "r"+string(rune('a'+i)))
	}
	_, err = open(t, archive(t, load(t, names...))).Select(other)
	if err == nil || !strings.Contains(err.Error(), "and 5 more") || strings.Contains(err.Error(), "rk:") {
		t.Error(err)
	}
}

// TestDamagedArchive checks that opening files that aren't archives returns errors.
func TestDamagedArchive(t *testing.T) {
	good := archive(t, load(t, "a"))
	whole, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.plan")
	f, err := os.Create(other)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	if _, err := z.CreateHeader(&zip.FileHeader{Name: signature, Method: zip.Store}); err != nil {
		t.Fatal(err)
	}
	w, err := z.Create(manifestName)
	if err == nil {
		_, err = w.Write([]byte(`{"format": 99}`))
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	later, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"text":         {"hello", "is not a plan that was saved"},
		"empty":        {"", "is not a plan that was saved"},
		"cut off":      {string(whole[:len(whole)-30]), "can't be used"},
		"only a start": {string(whole[:64]), "can't be used"},
		"later format": {string(later), "it has format 99, which this version of the program doesn't know"},
	} {
		path := filepath.Join(t.TempDir(), "x.plan")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	if _, err := Open("nowhere.plan"); err == nil || !strings.Contains(err.Error(), "There is no file nowhere.plan") {
		t.Error(err)
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "x.plan"), plans.Normal); err == nil {
		t.Error("an archive was created in a directory that doesn't exist")
	}
}

// TestImpossibleManifest checks that only a manifest that a run could have written is accepted.
func TestImpossibleManifest(t *testing.T) {
	one := `{"name": "a"}, {"name": "b", "needs": ["a"]}`
	for manifest, want := range map[string]string{
		`{"format": 2, "mode": 1, "roots": [` + one + `]}`:                                                                      "",
		`{"format": 2, "roots": [], "failed": [` + one + `]}`:                                                                   "",
		`{"format": 2, "mode": 3, "roots": [` + one + `]}`:                                                                      "the unknown mode 3",
		`{"format": 2, "roots": []}`:                                                                                            "no root modules",
		`{"format": 2, "roots": null, "failed": []}`:                                                                            "no root modules",
		`{"format": 2, "roots": [null]}`:                                                                                        "without a name",
		`{"format": 2, "roots": [` + one + `], "failed": [null]}`:                                                               "without a name",
		`{"format": 2, "roots": [` + one + `, {"name": "a"}]}`:                                                                  `two root modules named "a"`,
		`{"format": 2, "roots": [` + one + `], "failed": [{"name": "b"}]}`:                                                      `two root modules named "b"`,
		`{"format": 2, "roots": [{"name": "a", "needs": ["z"]}]}`:                                                               `"a" needs "z", which it doesn't have`,
		`{"format": 2, "roots": [{"name": "a", "needs": ["a"]}]}`:                                                               "needs itself",
		`{"format": 2, "roots": [{"name": "a", "needs": ["b"]}, {"name": "b", "needs": ["c"]}, {"name": "c", "needs": ["a"]}]}`: "need each other",
		`{"format": 2, "x": "` + strings.Repeat("x", maxText) + `"}`:                                                            "manifest.json is larger than 64 MiB",
	} {
		s, err := Open(zipOf(t, signature, "", manifestName, manifest))
		if err == nil {
			s.Close()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.200s: got %v, want %s", manifest, err, want)
		}
	}
	const good = `{"format": 2, "roots": [{"name": "a", "inputs": "inputs/0"}]}`
	_, err := Open(zipOf(t, signature, "", manifestName, good, manifestName, good))
	if err == nil || !strings.Contains(err.Error(), `two files named "manifest.json"`) {
		t.Errorf("two manifests: %v", err)
	}
	at := &session.Session{Encryption: session.Encryption{Evaluated: &encryption.Config{}}}
	for text, want := range map[string]string{"{}": "missing", "null": "missing", strings.Repeat(" ", maxText+1): "larger than 64 MiB"} {
		s := open(t, zipOf(t, signature, "", manifestName, good, "inputs/0", text))
		if _, _, err := s.inputs(t.Context(), at, s.Roots[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("inputs %.10q: %v", text, err)
		}
	}
}

// zipOf returns the path of a zip archive with the given names and contents of files.
func zipOf(t *testing.T, files ...string) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.plan"))
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for i := 0; i < len(files) && err == nil; i += 2 {
		method := zip.Deflate
		if i == 0 {
			method = zip.Store
		}
		var w io.Writer
		if w, err = z.CreateHeader(&zip.FileHeader{Name: files[i], Method: method}); err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// TestInputs checks that reading planned outputs restores what was written, including sensitivity
// and what is known about unknown values.
func TestInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	values := map[string]cty.Value{
		"known":   cty.StringVal("x"),
		"unknown": cty.UnknownVal(cty.String),
		"refined": cty.UnknownVal(cty.String).Refine().NotNull().StringPrefixFull("vpc-").NewValue(),
		"secret":  cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("hush")}).Mark(marks.Sensitive),
		"inside":  cty.ObjectVal(map[string]cty.Value{"a": cty.UnknownVal(cty.Number)}),
	}
	in := &inputs{}
	in.add("network", roots.Outputs{Names: []string{"known", "unknown", "refined", "secret", "inside"}},
		&outputs{values: values, undecided: []string{"unknown"}})
	in.add("dns", roots.Outputs{Names: []string{"zone"}}, &outputs{values: map[string]cty.Value{"zone": cty.True, "other": cty.False},
		undecided: []string{"other"}})
	by := &session.RemoteState{Data: addrs.AbsInstance{Resource: outputuse.DataSource("hub")},
		Settings: session.LocalSettings(), Workspace: "prod"}
	in.addRead("hub", roots.Outputs{Names: []string{"id"}}, map[string]cty.Value{"id": cty.True}, by)
	if got := in.waitsFor(); len(got) != 1 || got[0] != "network" {
		t.Errorf("it waits for %v", got)
	}
	at := &session.Session{}
	data, err := in.encode(at)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "other") {
		t.Error("unused outputs are stored")
	}
	e := load(t, "a")
	a, err := Create("x.plan", plans.Normal)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.add(e.Roots[0], nil, &PlanSummary{Unknown: []string{"size"}}, data); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(&Run{Estate: e}, []*Result{{Root: e.Roots[0]}}); err != nil {
		t.Fatal(err)
	}
	s := open(t, "x.plan")
	got, _, err := s.inputs(t.Context(), at, s.Roots[0])
	if err != nil || len(got) != 3 || len(got["network"].values) != len(values) || !got["dns"].values["zone"].RawEquals(cty.True) {
		t.Fatal(got, err)
	}
	for name, v := range values {
		if !got["network"].values[name].RawEquals(v) {
			t.Errorf("%s is %#v, was %#v", name, got["network"].values[name], v)
		}
	}
	if read := got["hub"].read; got["dns"].read != nil || read.Data != by.Data || read.Workspace != "prod" ||
		read.Settings.Driver != by.Settings.Driver || !read.Settings.Config.RawEquals(by.Settings.Config) {
		t.Errorf("it was read by %+v, and is read by %+v", by, read)
	}
	unknown, err := s.Unknown(t.Context(), at, s.Roots[0])
	want := []string{"output.inside of network", "output.refined of network", "output.unknown of network", "var.size"}
	if err != nil || !slices.Equal(unknown, want) {
		t.Errorf("unknown are %q, want %q (%v)", unknown, want, err)
	}
	if data, err := (&inputs{}).encode(at); data != nil || err != nil {
		t.Errorf("no inputs are stored as %s, %v", data, err)
	}
}
