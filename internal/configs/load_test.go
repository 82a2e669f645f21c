package configs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"tofu/internal/tfdiags"
)

// load loads an archive that must be free of errors.
func load(t testing.TB, text string, opts *LoadOptions) *Config {
	t.Helper()
	cfg, diags := loadArchive(txtar.Parse([]byte(text)), opts)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	return cfg
}

// The same file must not be decoded again for each call, and modules that call themselves must come to an end.
func TestSharing(t *testing.T) {
	root := load(t, "-- main.tf --\nmodule \"a\" {\n  source = \"./m\"\n}\nmodule \"b\" {\n  source = \"./m/../m\"\n}\n-- m/main.tf --\n", nil)
	if root.Children["a"].Module != root.Children["b"].Module {
		t.Error("two calls, two modules")
	}
	_, diags := loadArchive(txtar.Parse([]byte("-- main.tf --\nmodule \"a\" {\n  source = \"./\"\n}\n")), nil)
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "calls itself") {
		t.Errorf("got %v", err)
	}
}

// FuzzLoad makes sure that no source crashes the loader and that every error has a severity and a summary. The four texts are a native
// file, an override file, a JSON file and the file of a called module.
func FuzzLoad(f *testing.F) {
	names := []string{"main.tf", "override.tf", "more.tf.json", "m/main.tf"}
	for _, text := range []string{providersText, overrideText, staticText} {
		var seed [4]string
		for _, file := range txtar.Parse([]byte(text)).Files {
			i := max(slices.Index(names, file.Name), 0)
			seed[i] += string(file.Data)
		}
		f.Add(seed[0], seed[1], seed[2], seed[3])
	}
	f.Add("import {\n  to = a.b[each.key]\n  id = \"\"\n}\nmoved {\n  from = a.b\n  to = module.x\n}\n", "",
		`{"resource": {"a": {"b": {"count": "${x}", "provider": "a.b[each.key]"}}}}`, "variable \"x\" {\n  const = true\n}\n")
	f.Fuzz(func(t *testing.T, native, override, json, module string) {
		archive := &txtar.Archive{}
		for i, text := range []string{native, override, json, module} {
			if len(text) > 1<<14 {
				return
			}
			archive.Files = append(archive.Files, txtar.File{Name: names[i], Data: []byte(text)})
		}
		_, diags := loadArchive(archive, nil)
		for _, d := range diags {
			if d.Summary == "" || d.Severity != tfdiags.Error && d.Severity != tfdiags.Warning {
				t.Errorf("empty diagnostic: %+v", d)
			}
		}
	})
}

// BenchmarkLoad loads n resources in one file, and n/20 calls of one module with 20 resources each.
func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("wide/%d", n), func(b *testing.B) { benchmarkLoad(b, wideText(n)) })
		b.Run(fmt.Sprintf("modules/%d", n), func(b *testing.B) { benchmarkLoad(b, modulesText(n)) })
	}
}

func benchmarkLoad(b *testing.B, text string) {
	archive := txtar.Parse([]byte(text))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, diags := loadArchive(archive, nil); diags.HasErrors() {
			b.Fatal(diags.Err())
		}
	}
}

func wideText(n int) string {
	var b strings.Builder
	b.WriteString("-- main.tf --\n")
	for i := range n {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  input = \"value-%d\"\n}\n", i, i)
	}
	return b.String()
}

func modulesText(n int) string {
	var b strings.Builder
	b.WriteString("-- main.tf --\n")
	for i := range n / 20 {
		fmt.Fprintf(&b, "module \"m%d\" {\n  source = \"./mod\"\n  name   = \"m%d\"\n}\n", i, i)
	}
	b.WriteString("-- mod/main.tf --\nvariable \"name\" {\n  type = string\n}\n")
	for i := range 20 {
		fmt.Fprintf(&b, "resource \"terraform_data\" \"r%d\" {\n  input = var.name\n}\n", i)
	}
	return b.String()
}

// BenchmarkDecode turns the blocks of a file that is parsed already into declarations.
func BenchmarkDecode(b *testing.B) {
	text := strings.TrimPrefix(wideText(1000), "-- main.tf --\n")
	source, diags := NewParser(nil).ParseSource("main.tf", []byte(text))
	if diags.HasErrors() {
		b.Fatal(diags.Err())
	}
	b.ReportAllocs()
	for b.Loop() {
		d := &decoder{file: &file{name: "main.tf"}}
		for _, block := range d.content(source.Body, fileSchema).Blocks {
			blockDecoders[block.Type](d, block)
		}
		if len(d.file.resources) != 1000 {
			b.Fatal(d.diags)
		}
	}
}
