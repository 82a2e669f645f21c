package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// suite is one row of the table of suites.
type suite struct {
	name  string
	needs string // what PROGRAM and FOLDER are
	run   func(t *target, bin string) (outcomes, error)
}

// target is a suite together with the arguments of the command.
type target struct {
	suite           *suite
	program, folder string
	match, logs     string
	name            string // name of the program that is being checked
}

var suites = []suite{
	{"opentofu", "tests of internal/command/e2etest, compiled with tofuBin = tofu-under-test, and their folder",
		goTests(beside("tofu-under-test"))},
	{"terraform-exec", "tests of tfexec/internal/e2etest and their folder",
		goTests(variable("TFEXEC_E2ETEST_TERRAFORM_PATH"))},
	{"acceptance", "acceptance tests of a provider or of terraform-plugin-testing (TF_ACC) and their folder",
		goTests(acceptance)},
	{"provider-opentofu", "tests of internal/opentofu (tag invoke_tofu) and their folder; random 3.7.2 and null " +
		"3.2.4 in ~/.terraform.d/plugins", goTests(variable("TOFU_BINARY"))},
	{"atlantis", "tests of server/controllers/events and their folder", goTests(onPath)},
	{"terragrunt", "tests with the tag tf and their folder", goTests(onPath)},
	{"terramate", "tests of e2etests/cloud and their folder; they build Terramate and need terragrunt", goTests(onPath)},
	{"tfcmt", "the program tfcmt", readPlans(tfcmt)},
	{"tf-summarize", "the program tf-summarize", readPlans(tfSummarize)},
	{"tfplugindocs", "the program tfplugindocs; reads the schema of a test plugin (make providers)",
		sameResults(tfplugindocs)},
	{"terraform-ls", "the program terraform-ls; an editor's session with a test plugin (make providers)",
		sameResults(languageServer)},
	{"setup-opentofu", "dist/index1.js of setup-opentofu, which runs with node", readPlans(setupWrapper)},
	{"cdktn-cli", "bundle/bin/cdktn of cdktn-cli, and a folder with cdktn in node_modules", sameResults(cdktn)},
	{"terraform-json", "nothing: reads every JSON output with the Go library", readJSON},
}

// A way in which tests find the program that they test: it returns variables for their environment.
type way func(bin, temp, folder string) ([]string, error)

func variable(name string) way {
	return func(bin, _, _ string) ([]string, error) { return []string{name + "=" + bin}, nil }
}

func acceptance(bin, _, _ string) ([]string, error) {
	return []string{"TF_ACC=1", "TF_ACC_TERRAFORM_PATH=" + bin, "TF_ACC_PROVIDER_NAMESPACE=hashicorp",
		"TF_ACC_PROVIDER_HOST=registry.opentofu.org"}, nil
}

// onPath puts the program in front of PATH, with the names of both programs.
func onPath(bin, temp, _ string) ([]string, error) {
	for _, name := range []string{"tofu", "terraform"} {
		if err := os.Symlink(bin, filepath.Join(temp, name)); err != nil {
			return nil, err
		}
	}
	return []string{"PATH=" + temp + string(filepath.ListSeparator) + os.Getenv("PATH")}, nil
}

// beside links the program into the folder of the tests.
func beside(name string) way {
	return func(bin, _, folder string) ([]string, error) {
		link := filepath.Join(folder, name)
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		return nil, os.Symlink(bin, link)
	}
}

var (
	resultLine = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+)`)
	// Names of tests may have the version of the program, a process number or a time.
	varying = regexp.MustCompile(`\d+\.\d+\.\d+[^/]*|\d{6,}`)
)

// goTests runs a compiled Go test program.
func goTests(find way) func(*target, string) (outcomes, error) {
	return func(t *target, bin string) (outcomes, error) {
		if t.program == "" {
			return nil, fmt.Errorf("give the path of a test program: %s", t.suite.needs)
		}
		temp, err := os.MkdirTemp("", "clients")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(temp)
		found, err := find(bin, temp, t.folder)
		if err != nil {
			return nil, err
		}
		var config []string
		if _, err := os.Stat(os.Getenv("TF_CLI_CONFIG_FILE")); err != nil {
			config = []string{"TF_CLI_CONFIG_FILE=" + os.DevNull}
		}
		results, log, finished := outcomes{}, []byte(nil), []string{}
		for {
			tests := exec.Command(t.program, "-test.v", "-test.parallel=4", "-test.timeout=60m", "-test.run="+t.match,
				"-test.skip=^("+strings.Join(finished, "|")+")$")
			tests.Dir = t.folder
			tests.Env = slices.Concat(os.Environ(), []string{"CHECKPOINT_DISABLE=1"}, config, found)
			out, err := tests.CombinedOutput()
			var failed *exec.ExitError
			if err != nil && !errors.As(err, &failed) { // a failed test is an outcome
				return nil, err
			}
			log = append(log, out...)
			before := len(finished)
			for _, m := range resultLine.FindAllSubmatch(out, -1) {
				results[varying.ReplaceAllString(string(m[2]), "N")] = string(m[1])
				if !bytes.Contains(m[2], []byte("/")) {
					finished = append(finished, string(m[2]))
				}
			}
			// A panic ends the whole program, so the other tests are run once more.
			if !bytes.Contains(out, []byte("\npanic: ")) || len(finished) == before {
				break
			}
		}
		if len(results) == 0 {
			return nil, fmt.Errorf("no test ran: %s", log)
		}
		return results, t.keep("log", log)
	}
}

// keep writes text into the directory for logs, if there is one.
func (t *target) keep(kind string, text []byte) error {
	if t.logs == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(t.logs, t.suite.name+"-"+t.name+"."+kind), text, 0o666)
}
