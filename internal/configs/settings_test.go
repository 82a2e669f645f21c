package configs

import (
	"strings"
	"testing"
	"testing/fstest"

	"tofu/internal/tfdiags"
)

// TestSettings checks which errors and blocks are found if only the settings of a module are read.
func TestSettings(t *testing.T) {
	broken := "resource \"a\" \"b\" {\n  x = \n}\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string // part of the error; "" for none
	}{
		{"error in a resource", map[string]string{"main.tf": broken}, ""},
		{"braces in a resource", map[string]string{
			"main.tf": "resource \"a\" \"b\" {\n  x = \"}\\\"{${{ y = \"{%\" }}\" # don't {\n  z = [1, { a = 2 / 1 }] // }\n}\n"}, ""},
		{"error after a resource", map[string]string{"main.tf": broken + "variable \"x\" {\n  type = \n}\n"}, "main.tf"},
		{"resource twice", map[string]string{"main.tf": "resource \"a\" \"b\" {\n}\n", "b.tf": "resource \"a\" \"b\" {}\n"}, ""},
		{"override", map[string]string{"main.tf": "resource \"a\" \"b\" {\n}\n", "b_override.tf": "resource \"a\" \"b\" {}\n",
			"c_override.tf.json": `{"resource": {"a": {"b": {}}}}`}, ""},
		{"variable twice", map[string]string{"main.tf": "variable \"x\" {\n}\n", "b.tf": "variable \"x\" {}\n"}, "Duplicate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["settings.tf"] = "terraform {\n  backend \"local\" {\n    path = \"x\"\n  }\n}\n"
			files := fstest.MapFS{}
			for name, text := range c.files {
				files["dir/"+name] = &fstest.MapFile{Data: []byte(text)}
			}
			parser := NewParser(files)
			cfg, err := LoadRootModule("dir", &LoadOptions{Parser: parser, Part: Settings}, tfdiags.Drop)
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error()+tfdiags.FormatError(err), c.want)):
				t.Fatalf("got %v, want %q", err, c.want)
			case c.want == "" && (cfg.Module.Backend == nil || len(cfg.Module.Resources) > 0):
				t.Errorf("got %v and the resources %v", cfg.Module.Backend, cfg.Module.Resources)
			}
			whole, err := LoadRootModule("dir", &LoadOptions{Parser: parser}, tfdiags.Drop)
			if c.name == "error in a resource" && err == nil {
				t.Error("reading the whole module reports no error")
			}
			if c.name == "override" && len(whole.Module.Resources) != 1 {
				t.Errorf("the whole module has the resources %v", whole.Module.Resources)
			}
		})
	}
}
