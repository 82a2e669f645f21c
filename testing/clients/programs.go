package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// mirror is where "make providers" puts the project's test plugins.
const mirror = "../../build/mirror/example.com/tofu/files/1.1.0"

// files is a configuration with the test plugin files, under an address that clients know.
const files = `
terraform {
  required_providers {
    files = {
      source  = "registry.terraform.io/hashicorp/files"
      version = "1.1.0"
    }
  }
}
`

// useMirror makes the plugin of that configuration available to the session.
func (s *session) useMirror() error {
	plugin, err := filepath.Abs(mirror)
	if err != nil {
		return err
	}
	platform := runtime.GOOS + "_" + runtime.GOARCH
	if _, err := os.Stat(filepath.Join(plugin, platform)); err != nil {
		return fmt.Errorf("%w; run \"make providers\"", err)
	}
	link := filepath.Join(s.dir, ".mirror/registry.terraform.io/hashicorp/files/1.1.0", platform)
	s.env = append(s.env, "TF_CLI_CONFIG_FILE="+filepath.Join(s.dir, ".tofurc"))
	return errors.Join(os.MkdirAll(filepath.Dir(link), 0o777), os.Symlink(filepath.Join(plugin, platform), link), s.write(".tofurc",
		fmt.Sprintf("provider_installation {\n  filesystem_mirror {\n    path = %q\n  }\n}\n",
			filepath.Join(s.dir, ".mirror"))))
}

// tfplugindocs generates the documentation of a provider from its schema. Each page is a result.
func tfplugindocs(t *target, s *session, record recorder) error {
	if err := errors.Join(s.useMirror(), s.write("main.tf", files)); err != nil {
		return err
	}
	if _, err := s.run(s.bin, "init", "-input=false"); err != nil {
		return err
	}
	schema, err := s.run(s.bin, "providers", "schema", "-json")
	if err := errors.Join(err, s.write("provider/schema.json", string(schema))); err != nil {
		return err
	}
	provider := filepath.Join(s.dir, "provider")
	if _, err := s.run(t.program, "generate", "-provider-dir="+provider, "-provider-name=terraform-provider-files",
		"-providers-schema="+filepath.Join(provider, "schema.json")); err != nil {
		return err
	}
	docs := os.DirFS(filepath.Join(provider, "docs"))
	return fs.WalkDir(docs, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(docs, path)
		record(path, text, err)
		return nil
	})
}

// setupWrapper lets the wrapper of setup-opentofu run plans, and reads what it hands to later steps
// of a workflow.
func setupWrapper(program string, s *session, st step) ([]byte, error) {
	s.env = []string{"TOFU_CLI_PATH=" + s.dir, "GITHUB_OUTPUT=" + filepath.Join(s.dir, "handed")}
	var all []byte
	for _, args := range [][]string{st.planArgs("-detailed-exitcode"), {"show", "-json", "plan"},
		{"output", "-json"}, {"validate", "-json"}} {
		if st.fails && args[0] == "show" {
			continue
		}
		if err := s.write("handed", ""); err != nil {
			return nil, err
		}
		printed, err := s.run("node", append([]string{program}, args...)...)
		if err != nil && !st.fails {
			return all, err
		}
		handed, err := s.handed()
		if err != nil {
			return all, err
		}
		if !bytes.Contains(printed, []byte(handed["stdout"])) {
			return all, fmt.Errorf("%s: the step printed %q and handed on %q", args[0], printed, handed["stdout"])
		}
		all = fmt.Appendf(all, "%s: exit status %s\n", args[0], handed["exitcode"])
		switch args[0] {
		case "output":
			all = append(all, handed["stdout"]...)
		case "show":
			var plan struct {
				Changes json.RawMessage `json:"resource_changes"`
			}
			err = json.Unmarshal([]byte(handed["stdout"]), &plan)
			all = append(append(all, plan.Changes...), '\n')
		case "validate":
			var result struct{ Valid bool }
			err = json.Unmarshal([]byte(handed["stdout"]), &result)
			all = fmt.Appendln(all, result.Valid)
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// handed reads the file in which a step of a workflow leaves values for later steps.
func (s *session) handed() (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(s.dir, "handed"))
	values := map[string]string{}
	for rest := string(text); rest != ""; {
		var name, mark, value string
		name, rest, _ = strings.Cut(rest, "<<")
		mark, rest, _ = strings.Cut(rest, "\n")
		value, rest, _ = strings.Cut(rest, mark+"\n")
		values[name] = strings.TrimSuffix(value, "\n")
	}
	return values, err
}

// stacks is an application with two stacks, of which the second uses a value of the first.
const stacks = `
const { App, TerraformStack, TerraformOutput, DataResource } = require("cdktn");
const app = new App();
const network = new TerraformStack(app, "network");
const net = new DataResource(network, "net", { input: { name: "n", zones: ["a", "b"] } });
new TerraformOutput(network, "zones", { value: net.output });
const service = new TerraformStack(app, "service");
const users = new DataResource(service, "users", { input: { of: net.id } });
new TerraformOutput(service, "network", { value: users.output });
app.synth();
`

// cdktn deploys and destroys the stacks. FOLDER has the packages cdktn and constructs.
func cdktn(t *target, s *session, record recorder) error {
	s.env = []string{"CI=1", "NODE_PATH=" + filepath.Join(t.folder, "node_modules"), "TERRAFORM_BINARY_NAME=" + s.bin}
	project := `{"language": "typescript", "app": "node stacks.js", "projectId": "p", "sendCrashReports": "false"}`
	if err := errors.Join(s.write("cdktf.json", project), s.write("stacks.js", stacks)); err != nil {
		return err
	}
	for _, args := range [][]string{{"synth"}, {"diff", "network"}, {"deploy", "network", "service", "--auto-approve"},
		{"diff", "service"}, {"output", "network", "service"}, {"destroy", "network", "service", "--auto-approve"}} {
		var text []byte
		var err error
		if args[0] == "deploy" || args[0] == "output" {
			args = append(args, "--outputs-file=outputs.json")
		}
		if out, failed := s.run("node", append([]string{t.program}, args...)...); failed != nil {
			err = fmt.Errorf("%w\n%s", failed, out)
		} else if args[0] == "deploy" || args[0] == "output" {
			text, err = os.ReadFile(filepath.Join(s.dir, "outputs.json"))
		}
		record(strings.Join(args, " "), text, err)
	}
	return nil
}
