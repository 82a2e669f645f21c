package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// The test binary is the program: scripts that call tofu start it again under that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"tofu": func() { os.Exit(run()) },
	})
}

func TestScript(t *testing.T) {
	mirror, err := filepath.Abs("../../build/mirror")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", filepath.Join(env.WorkDir, ".home"))
			env.Setenv("NO_COLOR", "1")
			env.Setenv("MIRROR", mirror)
			env.Setenv("POSTGRES", os.Getenv("TEST_POSTGRES_URL"))
			env.Setenv("PLATFORM", runtime.GOOS+"_"+runtime.GOARCH)
			rc := filepath.Join(env.WorkDir, ".tofurc")
			env.Setenv("TF_CLI_CONFIG_FILE", rc)
			return os.WriteFile(rc, []byte("provider_installation {\n  filesystem_mirror {\n    path = "+strconv.Quote(mirror)+"\n  }\n}\n"), 0o600)
		},
		Condition: func(cond string) (bool, error) {
			if cond == "providers" {
				_, err := os.Stat(mirror)
				return err == nil, nil
			}
			if cond == "postgres" {
				return os.Getenv("TEST_POSTGRES_URL") != "", nil
			}
			return false, os.ErrInvalid
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":        cmdJSON,
			"replace":     cmdReplace,
			"stateserver": cmdStateServer,
			"wait4":       cmdWait,
		},
	})
}

// cmdJSON is `json FILE PATH [VALUE]`: what is at PATH in a JSON document equals VALUE, or with ! it doesn't, or isn't there.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: json FILE PATH [VALUE]")
	}
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &doc))
	for _, step := range strings.Split(strings.Trim(args[1], "/"), "/") {
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

// cmdWait is `wait4 FILE`: goes on when the file exists.
func cmdWait(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: wait4 FILE")
	}
	path := ts.MkAbs(args[0])
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}

// cmdReplace is `replace OLD NEW FILE…`: every OLD in the files becomes NEW. There must be one.
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
