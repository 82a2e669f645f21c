package command

import (
	"slices"
	"strings"
	"testing"

	"tofu/internal/plans"
)

// checkError reports a test failure unless err contains want. If want is empty, err must be nil.
func checkError(t *testing.T, what string, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%s: got the error %v; want %q", what, err, want)
	}
}

// TestPlanOptions checks which options of plans can be used together, and what they mean.
func TestPlanOptions(t *testing.T) {
	for _, test := range []struct {
		args, want string // want is the mode, or a part of the error
	}{
		{"", "normal"}, {"-destroy", "destroy"}, {"-refresh-only", "refresh-only"},
		{"-destroy -refresh-only", "-destroy and -refresh-only can't be used together"},
		{"-refresh-only -refresh=false", "-refresh-only and -refresh=false"},
		{"-refresh-only -replace=a.b", "-refresh-only and -replace"},
		{"-destroy -replace=a.b", "-destroy and -replace"},
		{`-replace=a.b["x"] -replace=module.m[0].a.b`, "normal"},
		{"-replace=data.a.b", "Only managed resources can be replaced, and data.a.b is not one"},
		{"-replace=a", "a"},
		{"-target=a.b -target=module.m", "normal"},
		{"-target=a.b -exclude=a.c", "can't be used together with -exclude"},
		{"-target=a.b -exclude-file=/absent", "Can't read the file of addresses"},
		{"-target=a..b", "a..b"},
	} {
		f := &planFlags{}
		fs := newOptions("plan")
		f.add(fs)
		if err := fs.Parse(strings.Fields(test.args)); err != nil {
			t.Fatal(err)
		}
		opts, err := f.options()
		modes := map[string]plans.Mode{"normal": plans.Normal, "destroy": plans.Destroy, "refresh-only": plans.RefreshOnly}
		mode, valid := modes[test.want]
		if valid {
			checkError(t, test.args, err, "")
			if err == nil && (opts.Mode != mode || opts.SkipRefresh || !opts.Defer ||
				len(opts.ForceReplace) != strings.Count(test.args, "-replace") ||
				len(opts.Targets) != strings.Count(test.args, "-target")) {
				t.Errorf("%s: %+v", test.args, opts)
			}
			continue
		}
		checkError(t, test.args, err, test.want)
	}
}

func TestGlobalOptions(t *testing.T) {
	for _, test := range []struct {
		args       []string
		chdir, err string
		rest       []string
	}{
		{[]string{"plan", "-out=x"}, "", "", []string{"plan", "-out=x"}},
		{[]string{"-chdir=a", "plan", "-chdir=b"}, "a", "", []string{"plan", "-chdir=b"}},
		{[]string{"--chdir=a b", "-timings", "apply"}, "a b", "", []string{"apply"}},
		{[]string{"-chdir=a", "-chdir=b", "plan"}, "", "given twice", nil},
		{[]string{"-chdir=", "plan"}, "", "needs a directory", nil},
		{[]string{"-chdir", "a", "plan"}, "", "needs a directory", nil},
		{[]string{"-profile=", "plan"}, "", "needs a file", nil},
		{[]string{"-out=x", "plan"}, "", "-out", nil},
		{[]string{"--", "plan"}, "", "", nil},
		{nil, "", "", nil},
	} {
		what := strings.Join(test.args, " ")
		got, rest, err := parseGlobal(test.args)
		checkError(t, what, err, test.err)
		if err == nil && (got.chdir != test.chdir || !slices.Equal(rest, test.rest)) {
			t.Errorf("%s: directory %q, then %q", what, got.chdir, rest)
		}
	}
}

// TestArgsFromEnv checks in which order arguments of the environment and of the command line come.
// Of an option that is given twice, the last one counts.
func TestArgsFromEnv(t *testing.T) {
	env := map[string]string{"TF_CLI_ARGS": "-no-color", "TF_CLI_ARGS_plan": "-out='a b' -lock=false",
		"TF_CLI_ARGS_state_replace_provider": "-auto-approve", "TF_CLI_ARGS_apply": "'open"}
	for path, want := range map[string][]string{
		"plan":                   {"-out=a b", "-lock=false", "-no-color", "-x"},
		"state replace-provider": {"-auto-approve", "-no-color", "-x"},
		"state":                  {"-no-color", "-x"},
		"":                       {"-no-color", "-x"},
		"apply":                  nil,
	} {
		got, err := argsFromEnv(func(name string) string { return env[name] }, strings.Fields(path), []string{"-x"})
		problem := ""
		if want == nil {
			problem = "in the environment variable TF_CLI_ARGS_apply"
		}
		checkError(t, path, err, problem)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestUnknownCommands(t *testing.T) {
	table := commands()
	for word, want := range map[string]string{"aply": `Did you mean "apply"?`, "pln": `Did you mean "plan"?`,
		"frobnicate": "To list the commands, run: tofu -help"} {
		if got := unknownCommand(table, nil, word); !strings.Contains(got, want) ||
			!strings.HasPrefix(got, `There is no command "`+word+`".`) {
			t.Errorf("%s: %s", word, got)
		}
	}
	state, _, _ := find(table, []string{"state"})
	if got := unknownCommand(state.Sub, []string{"state"}, "lst"); !strings.Contains(got, `Did you mean "state list"?`) ||
		!strings.HasSuffix(got, "tofu state -help") {
		t.Error(got)
	}
}

func TestSelectableWorkspaces(t *testing.T) {
	env := ""
	getenv := func(string) string { return env }
	checkError(t, "no variable", canSelect(getenv), "")
	env = "blue"
	checkError(t, "a variable", canSelect(getenv), "TF_WORKSPACE selects the workspace")
	_, err := workspaceArgument(nil)
	checkError(t, "no argument", err, "Expected a single argument")
	_, err = workspaceArgument([]string{"a", "b"})
	checkError(t, "two arguments", err, "Expected a single argument")
	name, err := workspaceArgument([]string{"a"})
	checkError(t, name, err, "")
}
