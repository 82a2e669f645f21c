package migrate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/depsfile"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// words are patterns in the files of CI systems and build tools. Each is reported at its first line in
// a file.
var words = []struct {
	pattern         *regexp.Regexp
	kind            Kind
	summary, detail string
	only            string // the name of the files in which the pattern means this; "" for all
}{
	{regexp.MustCompile(`hashicorp/setup-terraform`), Change, "The CI job installs Terraform",
		"Install this program instead, for example with opentofu/setup-opentofu and your own mirror of releases.", ""},
	{regexp.MustCompile(`\bhashicorp/terraform(:|@|\b)`), Change, "The CI job uses an image of Terraform",
		"Use an image with this program; release/Containerfile builds one.", ""},
	{regexp.MustCompile(`\bterraform\s+(stacks|rpcapi)\b|-cloud-run\b|-allow-deferral\b|-policies=`), Change,
		"A command or an option that doesn't exist here",
		"Stacks run only in HCP Terraform: \"tofu roots\" plans and applies many root modules. Deferral needs no option. " +
			"Policies are checked with other programs.", ""},
	{regexp.MustCompile(`(?m)(^|[\s;&|"'` + "`" + `/])terraform\s+(-chdir=\S+\s+)?(init|plan|apply|destroy|validate|fmt|` +
		`output|show|state|import|workspace|test|get|refresh|taint|query)\b`), Change, "Commands call terraform",
		"Call tofu, or install the program under the name terraform: the commands and options are the same.", ""},
	{regexp.MustCompile(`(?i)terraform_distribution\s*:\s*terraform|\bterraform_version\s*:`), Change,
		"Atlantis uses Terraform", "Set terraform_distribution: opentofu and install the program under the name tofu.",
		"atlantis.yaml"},
	{regexp.MustCompile(`\bterraform_binary\s*=\s*"?terraform`), Change, "Terragrunt uses Terraform",
		"Set terraform_binary = \"tofu\", or use \"tofu roots import-terragrunt\".", ""},
}

// ciFiles are patterns for files that call the program, relative to the top of the repository.
var ciFiles = []string{".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", ".circleci/config.yml",
	"azure-pipelines*.yml", "bitbucket-pipelines.yml", "Jenkinsfile", ".travis.yml", ".drone.yml", "atlantis.yaml",
	"Makefile", "GNUmakefile", "Taskfile.yml", "Dockerfile", ".pre-commit-config.yaml", "terragrunt.hcl", "root.hcl"}

// foreignFiles are patterns for configuration files that this program doesn't read.
var foreignFiles = []struct{ pattern, summary, detail string }{
	{"*.tfcomponent.hcl", "Stacks are not read", "Describe the root modules in roots.tofu.hcl; see docs/ROOTS.md."},
	{"*.tfstack.hcl", "Stacks are not read", "Describe the root modules in roots.tofu.hcl; see docs/ROOTS.md."},
	{"*.tfdeploy.hcl", "Stacks are not read", "Describe the root modules in roots.tofu.hcl; see docs/ROOTS.md."},
	{"*.policy.hcl", "Policies are not evaluated here", "Check the output of \"tofu show -json PLAN\" with a policy program."},
}

// states checks the states in files.
func (c *checker) states() error {
	names := []string{filepath.Join(c.Dir, "terraform.tfstate")}
	others, err := filepath.Glob(filepath.Join(c.Dir, "terraform.tfstate.d", "*", "terraform.tfstate"))
	if err != nil {
		return fmt.Errorf("looking for states: %w", err)
	}
	for _, name := range append(names, others...) {
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading a state: %w", err)
		}
		file, err := statefile.Parse(data)
		if err != nil {
			c.add(Change, hcl.Range{Filename: name}, "The state can't be read", "%s", tfdiags.Sentence(err))
			continue
		}
		objects := 0
		for r := range file.State.Resources() {
			objects += len(r.Instances)
		}
		writer := ""
		if file.TerraformVersion != "" {
			writer = ", written by version " + file.TerraformVersion
		}
		c.add(Works, hcl.Range{Filename: name}, "The state can be read", "It has %s%s.", count(objects, "instance"), writer)
	}
	return nil
}

// lockFile checks the lock file.
func (c *checker) lockFile() {
	name := filepath.Join(c.Dir, depsfile.FileName)
	if _, err := os.Stat(name); err != nil {
		return
	}
	locks, err := depsfile.Load(name, tfdiags.Drop)
	if err != nil {
		c.add(Change, hcl.Range{Filename: name}, "The lock file can't be read", "%s", tfdiags.FormatError(err))
		return
	}
	c.add(Works, hcl.Range{Filename: name}, "The lock file can be read", "It has %s. \"tofu init\" keeps the versions where "+
		"it can.", count(len(locks.Providers()), "provider"))
}

// otherFiles checks files of CI systems and files that aren't read. CI files may be anywhere up to the
// top of the repository.
func (c *checker) otherFiles() {
	for _, f := range foreignFiles {
		found, _ := filepath.Glob(filepath.Join(c.Dir, f.pattern)) // the patterns are valid
		for _, name := range found {
			c.add(Change, hcl.Range{Filename: name}, f.summary, "%s", f.detail)
		}
	}
	for _, dir := range upToRepository(c.Dir) {
		for _, pattern := range ciFiles {
			found, _ := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
			for _, name := range found {
				c.words(name)
			}
		}
	}
}

// upToRepository returns dir and the directories above it up to the one with .git. Without a repository
// it returns only dir.
func upToRepository(dir string) []string {
	var out []string
	for at := dir; ; {
		out = append(out, at)
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return out
		}
		above, err := filepath.Abs(filepath.Join(at, ".."))
		if err != nil || slices.Contains(out, above) || len(out) > 32 {
			return out[:1]
		}
		if rel, err := filepath.Abs(at); err == nil && rel == above {
			return out[:1]
		}
		at = filepath.Join(at, "..")
	}
}

func (c *checker) words(name string) {
	data, err := os.ReadFile(name)
	if err != nil {
		return // a directory, or a file of others
	}
	for _, w := range words {
		if w.only != "" && w.only != filepath.Base(name) {
			continue
		}
		count, first := 0, 0
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 1<<20)
		for n := 1; lines.Scan(); n++ {
			if text := lines.Text(); !strings.HasPrefix(strings.TrimSpace(text), "#") && w.pattern.MatchString(text) {
				if count++; first == 0 {
					first = n
				}
			}
		}
		if count == 0 {
			continue
		}
		summary := w.summary
		if count > 1 {
			summary += fmt.Sprintf(" (in %d lines)", count)
		}
		c.add(w.kind, hcl.Range{Filename: name, Start: hcl.Pos{Line: first}}, summary, "%s", w.detail)
	}
}
