package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tofu/internal/command"
	"tofu/internal/terminal"
	"tofu/internal/testenv"
	"tofu/internal/testenv/otlptest"
)

// TestMain makes the test binary also act as the program: scripts run it under the name tofu.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tofu":     func() { os.Exit(run(checking)) },
		"crashing": crashing,
		"nolocks":  nolocks,
	})
}

// checking returns an App whose runs check that no instance is read before it is ready.
func checking(streams *terminal.Streams, environ []string) *command.App {
	a := command.NewApp(streams, environ)
	a.CheckReads = true
	return a
}

func TestScript(t *testing.T) {
	mirror, err := filepath.Abs("../../build/mirror")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, scriptParams(mirror, "testdata/script"))
}

// scriptParams returns the parameters for running the scripts in a directory.
func scriptParams(mirror, dir string) testscript.Params {
	return testscript.Params{
		Dir:           dir,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("MIRROR", mirror)
			env.Setenv("POSTGRES", os.Getenv("TEST_POSTGRES_URL"))
			env.Setenv("REFERENCE", os.Getenv("TEST_REFERENCE_TOFU"))
			env.Setenv("PLATFORM", runtime.GOOS+"_"+runtime.GOARCH)
			rc := filepath.Join(env.WorkDir, ".tofurc")
			env.Setenv("TF_CLI_CONFIG_FILE", rc)
			return os.WriteFile(rc, []byte("provider_installation {\n  filesystem_mirror {\n    path = "+
				strconv.Quote(mirror)+"\n  }\n}\n"), 0o600)
		},
		Condition: func(cond string) (bool, error) {
			var problem string
			there := false
			switch cond {
			case "providers":
				_, err := os.Stat(mirror)
				there, problem = err == nil, testenv.Problem("there are no provider plugins", "run make providers")
			case "tmux":
				_, err := exec.LookPath("tmux")
				there, problem = err == nil,
					testenv.Problem("there is no tmux", "install it, for example with testing/setup.sh")
			case "postgres":
				there, problem = os.Getenv("TEST_POSTGRES_URL") != "",
					testenv.Problem("TEST_POSTGRES_URL isn't set", "start PostgreSQL")
			case "reference":
				there = os.Getenv("TEST_REFERENCE_TOFU") != ""
			default:
				kind, ok := storeKinds[cond]
				if !ok {
					return false, os.ErrInvalid
				}
				missing := kind.missing()
				there, problem = missing == "", testenv.Problem(missing+" isn't set", "use testing/services/run.sh")
			}
			if !there && problem != "" {
				return false, errors.New(problem)
			}
			return there, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"collector":   cmdCollector,
			"dump":        cmdDump,
			"dumpqueue":   cmdDumpQueue,
			"json":        cmdJSON,
			"nowhere":     cmdNowhere,
			"overlap":     cmdOverlap,
			"ociregistry": cmdOCIRegistry,
			"phrases":     cmdPhrases,
			"queue":       cmdQueue,
			"replace":     cmdReplace,
			"schema":      cmdSchema,
			"screen":      cmdScreen,
			"stateserver": cmdStateServer,
			"store":       cmdStore,
			"wait4":       cmdWait,
			"wait4run":    cmdWaitRun,
			"wait4tries":  cmdWaitTries,
		},
	}
}

// cmdCollector implements `collector FILE`. It starts a trace collector and sets COLLECTOR to its
// URL. For each span of the last trace, the collector writes a line to FILE: the names of the span's
// ancestors and of the span itself, the values of its attributes in the order of their names, and
// whether the span failed.
func cmdCollector(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: collector FILE")
	}
	c, end, err := otlptest.Start()
	ts.Check(err)
	ts.Defer(end)
	ts.Setenv("COLLECTOR", c.URL)
	path := ts.MkAbs(args[0])
	traces := make(map[string][]otlptest.Span)
	c.Got = func(spans []otlptest.Span) error {
		for _, s := range spans {
			traces[s.Trace] = append(traces[s.Trace], s)
		}
		spans = traces[spans[0].Trace]
		byID := make(map[string]otlptest.Span)
		for _, s := range spans {
			byID[s.ID] = s
		}
		var text strings.Builder
		for _, s := range spans {
			line := s.Name
			for at := s; at.Parent != ""; at = byID[at.Parent] {
				line = byID[at.Parent].Name + " > " + line
			}
			for _, name := range slices.Sorted(maps.Keys(s.Attributes)) {
				line += " " + s.Attributes[name]
			}
			if s.Status != 0 {
				line += " FAILED"
				if len(s.Exceptions) == 1 && s.Exceptions[0] == s.Message {
					line += ": " + s.Message
				}
			}
			text.WriteString(line + "\n")
		}
		return os.WriteFile(path, []byte(text.String()), 0o600)
	}
}

// cmdJSON implements `json FILE PATH [VALUE]`. It checks that the JSON document has a value at PATH
// and that this value is VALUE, if VALUE is given. `! json` checks the opposite.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	for step := range strings.SplitSeq(strings.Trim(args[1], "/"), "/") {
		switch at := doc.(type) {
		case map[string]any:
			doc = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				doc = nil
				break
			}
			doc = at[i]
		default:
			doc = nil
		}
	}
	equal := doc != nil
	if len(args) == 3 {
		var want any
		ts.Check(json.Unmarshal([]byte(args[2]), &want))
		equal = reflect.DeepEqual(doc, want)
	}
	if equal == neg {
		text, _ := json.Marshal(doc)
		ts.Fatalf("%s has %s at %s", args[0], text, args[1])
	}
}

// cmdWait implements `wait4 FILE [TEXT]`. It waits until the file exists and contains the text.
func cmdWait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 2 {
		ts.Fatalf("usage: wait4 FILE [TEXT]")
	}
	path := ts.MkAbs(args[0])
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err == nil && (len(args) == 1 || strings.Contains(string(text), args[1])) {
			return
		}
	}
	ts.Fatalf("%s did not appear", strings.Join(args, " with "))
}

// cmdNowhere implements `nowhere TEXT FOLDER`. It checks that no file below FOLDER contains the
// text, including the files in archives.
func cmdNowhere(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 || neg {
		ts.Fatalf("usage: nowhere TEXT FOLDER")
	}
	looked := 0
	look := func(name string, text []byte) {
		looked++
		if i := bytes.Index(text, []byte(args[0])); i >= 0 {
			ts.Fatalf("%s has %q", name, text[max(0, i-100):min(len(text), i+100)])
		}
	}
	ts.Check(filepath.WalkDir(ts.MkAbs(args[1]), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		look(path, text)
		archive, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			return nil // the file is not an archive
		}
		for _, f := range archive.File {
			in, err := f.Open()
			if err != nil {
				return err
			}
			text, err := io.ReadAll(in)
			if err != nil {
				return err
			}
			look(path+" "+f.Name, text)
		}
		return nil
	}))
	if looked == 0 {
		ts.Fatalf("there are no files in %s", args[1])
	}
}

// cmdOverlap implements `overlap LOG OPERATION N`. It checks that the maximum number of these
// operations that ran at the same time is N, according to the log of the test providers.
func cmdOverlap(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 || neg {
		ts.Fatalf("usage: overlap LOG OPERATION N")
	}
	running, most := 0, 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		event, rest, _ := strings.Cut(line, " ")
		if operation, _, _ := strings.Cut(rest, " "); operation != args[1] {
			continue
		}
		if event == "begin" {
			running++
		} else {
			running--
		}
		most = max(most, running)
	}
	if strconv.Itoa(most) != args[2] {
		ts.Fatalf("%d operations %s ran at once", most, args[1])
	}
}

// cmdReplace implements `replace OLD NEW FILE…`. It replaces every OLD in the files with NEW. Each
// file must contain OLD at least once.
func cmdReplace(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 3 || neg {
		ts.Fatalf("usage: replace OLD NEW FILE...")
	}
	for _, file := range args[2:] {
		text := ts.ReadFile(file)
		if !strings.Contains(text, args[0]) {
			ts.Fatalf("%s does not contain %q", file, args[0])
		}
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(strings.ReplaceAll(text, args[0], args[1])), 0o600))
	}
}
