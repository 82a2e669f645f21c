package roots_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestUnreadableCallers checks that modules don't become root modules because their caller, the
// root module in live/a, or a part of it can't be read. b is a root module without a sign of it,
// and own one with a backend.
func TestUnreadableCallers(t *testing.T) {
	const call = "module \"m\" {\n  source = %s\n}\n"
	literal := fmt.Sprintf(call, `"../../modules/m"`)
	for name, c := range map[string]struct{ file, text, want, unsure string }{
		"readable":                  {"x.tf", "", "b live/a modules/n own", ""},
		"variables":                 {"x.auto.tfvars", "k = [", "b live/a modules/n own", ""},
		"JSON variables":            {"terraform.tfvars.json", "{\"k\": ", "b live/a modules/n own", ""},
		"a link to no variables":    {"x.auto.tfvars", "-> nowhere", "b live/a modules/n own", ""},
		"undeclared backend":        {"x.tf", "terraform {\n  backend \"none\" {}\n}", "b live/a modules/n own", ""},
		"syntax":                    {"x.tf", "oops {", "b live/a modules/n own", ""},
		"syntax in another form":    {"x.tofu", "resource \"a\" \"b\" {\n  c = = 1\n}", "b live/a modules/n own", ""},
		"syntax in JSON":            {"x.tf.json", "{\"locals\": ", "b live/a modules/n own", ""},
		"two calls of one name":     {"x.tf", fmt.Sprintf(call, `"../../modules/n"`), "b live/a own", "modules/n"},
		"a call before an error":    {"x.tf", "module \"n\" {\n  source = \"../../modules/n\"\n}\noops {", "b live/a own", ""},
		"a call after an error":     {"x.tf", "resource \"a\" {\n  x = {\n}\nmodule \"n\" {\n  source = \"../../modules/n\"\n}", "b live/a own", "modules/n"},
		"a call in broken JSON":     {"x.tf.json", "{\"module\": {\"n\": {\"source\": \"../../modules/n\"}}", "b live/a own", "modules/n"},
		"conflict markers":          {"x.tf", "module \"n\" {\n<<<<<<< a\n  source = \"../../modules/n\"\n=======\n  source = \"../n\"\n>>>>>>> b\n}", "b live/a own", "modules/n"},
		"no closing quote":          {"x.tf", "module \"n\" {\n  source = \"../../modules/n\n}", "b live/a own", ""},
		"no equals sign":            {"x.tofu.json", "{\"module\": {\"n\": {\"source\" \"../../modules/n\"}}}", "b live/a own", "modules/n"},
		"no source":                 {"x.tf", "module \"n\" {\n  sorce = \"../../modules/n\"\n}", "live/a own", "b modules/n"},
		"a source being written":    {"x.tf", "module \"n\" {\n  source =\n}", "live/a own", "b modules/n"},
		"other sources":             {"x.tf", "oops {\nresource \"o\" \"o\" {\n  source = \"${path.module}/o\"\n}\nterraform {\n  required_providers {\n    p = {\n      source = var.p\n    }\n  }\n}", "b live/a modules/n own", ""},
		"another encoding":          {"x.tf", "m\x00o\x00d\x00", "live/a own", "b modules/n"},
		"a link to no file":         {"x.tf", "-> nowhere", "live/a own", "b modules/n"},
		"a link to no JSON":         {"x.tofu.json", "-> nowhere", "live/a own", "b modules/n"},
		"a variable":                {"x.tf", "variable \"k\" {}\nmodule \"n\" {\n  source = \"../../modules/${var.k}\"\n}", "b live/a own", "modules/n"},
		"a directory in a variable": {"x.tf", "variable \"k\" {}\nmodule \"n\" {\n  source = var.k\n}", "live/a own", "b modules/n"},
		"a variable in JSON":        {"x.tf.json", "{\"variable\": {\"k\": {}}, \"module\": {\"n\": {\"source\": \"../../modules/${var.k}\"}}}", "b live/a own", "modules/n"},
		"a default":                 {"x.tf", "variable \"k\" {\n  default = \"n\"\n}\nmodule \"n\" {\n  source = \"../../modules/${var.k}\"\n}", "b live/a own", ""},
		"a default and an error":    {"x.tf", "variable \"k\" {\n  default = \"l\"\n}\nmodule \"n\" {\n  source = \"../../modules/${var.k}\"\n}\noops {}", "b live/a own", "modules/n"},
		"a local value, an error":   {"x.tf", "locals {\n  k = \"n\"\n}\nmodule \"n\" {\n  source = \"../../modules/${local.k}\"\n}\noops {}", "b live/a own", ""},
		"a resource":                {"x.tf", "module \"n\" {\n  source = \"../../modules/${terraform_data.x.id}/m\"\n}", "b live/a own", "modules/n"},
		"a remote module":           {"x.tf", "module \"n\" {\n  source = \"git::https://example.com/${var.n}\"\n}\noops {}", "b live/a modules/n own", ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"live/a/main.tf": literal, "modules/m/main.tf": fmt.Sprintf(call, `"./l"`) + output,
				"modules/m/l/main.tf": output, "modules/n/main.tf": output, "b/main.tf": output,
				"modules/m/.terraform.lock.hcl": "", "modules/n/.terraform.lock.hcl": "",
				"own/main.tf": "terraform {\n  backend \"local\" {}\n}\n"}
			target, isLink := strings.CutPrefix(c.text, "-> ")
			if !isLink {
				files["live/a/"+c.file] = c.text
			}
			e, err := load(t, archive(files))
			if isLink {
				if err := os.Symlink(target, "live/a/"+c.file); err != nil {
					t.Skip("links are not available:", err)
				}
				e, err = again(t)
			}
			if got := strings.Join(e.Names(), " "); got != c.want {
				t.Errorf("found %s, want %s: %v", got, c.want, err)
			}
			var warning string
			for _, d := range e.Unsure {
				warning += d.Detail
			}
			for _, dir := range []string{"b", "own", "modules/m", "modules/n", "modules/m/l", "live/a"} {
				want := strings.Contains(" "+c.unsure+" ", " "+dir+" ")
				if got := strings.Contains(warning, "- "+dir+", because of live/a"); got != want {
					t.Errorf("%s is in the warning: %v, want %v:\n%s", dir, got, want, warning)
				}
			}
		})
	}
}

// TestUnreadableModules checks that modules which an unreadable module calls don't become root
// modules, and what shows that a directory is a root module although others may call it.
func TestUnreadableModules(t *testing.T) {
	calls := func(dir string) string { return "module \"m\" {\n  source = \"" + dir + "\"\n}\n" }
	testOf := func(dir string) string { return "run \"r\" {\n  module {\n    source = \"" + dir + "\"\n  }\n}\n" }
	const anything = "module \"m\" {\n  source = var.m\n}\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a module of a broken module":     {map[string]string{"a/main.tf": calls("../m"), "m/main.tf": calls("../n") + "oops {", "n/main.tf": output}, "a"},
		"a module without a source":       {map[string]string{"a/main.tf": calls("../m"), "m/main.tf": anything, "b/main.tf": calls("../m") + "oops {", "c/main.tf": output}, "a b"},
		"two that may call each other":    {map[string]string{"a/main.tf": anything, "b/main.tf": anything, "c/main.tf": output}, ""},
		"two that can't be read":          {map[string]string{"a/main.tf": anything + "oops {", "b/main.tf": anything + "oops {", "c/main.tf": output}, "a b"},
		"declared":                        {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": output, "roots.tofu.hcl": "root \"c\" {}"}, "a c"},
		"excluded":                        {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": output, "roots.tofu.hcl": "exclude = [\"a\"]"}, "c"},
		"a declared one that is missing":  {map[string]string{"c/main.tf": output, "roots.tofu.hcl": "root \"gone\" {}"}, "c gone"},
		"a state":                         {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": output, "c/terraform.tfstate": ""}, "a c"},
		"states of workspaces":            {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": output, "c/terraform.tfstate.d/x/terraform.tfstate": ""}, "a c"},
		"a state elsewhere":               {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": output, "c/.terraform/terraform.tfstate": ""}, "a c"},
		"values of variables":             {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": output, "c/x.auto.tfvars": ""}, "a c"},
		"a cloud block":                   {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": "terraform {\n  cloud {}\n}"}, "a c"},
		"only a lock file":                {map[string]string{"a/main.tf": anything + "oops {", "c/main.tf": output, "c/.terraform.lock.hcl": ""}, "a"},
		"through a directory not visited": {map[string]string{"a/main.tf": calls("./.m"), "a/.m/main.tf": calls("../../n"), "n/main.tf": output}, "a"},
		"a module of a test":              {map[string]string{"m/main.tf": output, "m/tests/setup/main.tf": output, "m/tests/a.tftest.hcl": testOf("./tests/setup")}, "m"},
		"a module of a test beside it":    {map[string]string{"m/main.tf": output, "m/setup/main.tf": output, "m/a.tofutest.hcl": testOf("./setup")}, "m"},
		"a module of a test in JSON":      {map[string]string{"m/main.tf": output, "s/main.tf": output, "m/tests/a.tftest.json": "{\"run\": {\"r\": {\"module\": {\"source\": \"../s\"}}}}"}, "m"},
		"a module of a broken test":       {map[string]string{"m/main.tf": output + "oops {", "s/main.tf": output, "m/tests/a.tftest.hcl": testOf("../s") + "oops {"}, "m"},
		"a module that tests itself":      {map[string]string{"m/main.tf": output, "m/tests/a.tftest.hcl": testOf("./")}, "m"},
		"a root module in a test":         {map[string]string{"m/main.tf": output, "s/main.tf": output, "s/x.auto.tfvars": "", "m/tests/a.tftest.hcl": testOf("../s")}, "m s"},
		"callers of callers":              {map[string]string{"a/main.tf": calls("../m"), "m/main.tf": calls("../n"), "n/main.tf": anything}, "a"},
		"an editor's lock":                {map[string]string{"a/main.tf": output, "a/.#x.tf": "oops", "d/.x.tf": output}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := load(t, archive(c.files))
			if got := strings.Join(e.Names(), " "); got != c.want {
				t.Errorf("found %s, want %s: %v", got, c.want, err)
			}
		})
	}
}

// TestUnsure checks that a warning about many directories names the first ones.
func TestUnsure(t *testing.T) {
	files := map[string]string{"a/main.tf": "module \"m\" {\n  source = var.m\n}\n"}
	for i := range 50 {
		files[fmt.Sprintf("m/%02d/main.tf", i)] = output
	}
	e, err := load(t, archive(files))
	if err != nil || len(e.Roots) != 1 || len(e.Unsure) != 1 {
		t.Fatal(err, e.Names(), e.Unsure)
	}
	text := e.Unsure[0].Detail
	if !strings.Contains(text, "- m/09, because of a\n  - and 40 more\n") || strings.Contains(text, "m/10") {
		t.Error(text)
	}
}

// TestUnreadableDirectories checks that nothing which a module in an unreadable directory may call
// is a root module.
func TestUnreadableDirectories(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root can read all directories")
	}
	_, err := load(t, archive(map[string]string{"live/a/main.tf": output, "m/main.tf": output,
		"b/main.tf": "terraform {\n  backend \"local\" {}\n}\n"}))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("live", 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod("live", 0o755)
	e, err := again(t)
	if got := strings.Join(e.Names(), " "); got != "b" || err == nil {
		t.Errorf("found %s, want b: %v", got, err)
	}
	if err := os.WriteFile("roots.tofu.hcl", []byte("exclude = [\"live\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err = again(t)
	if got := strings.Join(e.Names(), " "); got != "b m" || err != nil {
		t.Errorf("found %s without live, want b m: %v", got, err)
	}
}
