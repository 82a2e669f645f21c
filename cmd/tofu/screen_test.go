package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// screenTimeout is the maximum time that `screen wait` waits.
const screenTimeout = 30 * time.Second

// cmdScreen implements commands for a terminal, which is a tmux window:
//
//	screen start COLUMNSxROWS COMMAND   starts a shell command in the window
//	screen wait REGEXP                  waits until the screen matches
//	screen keys KEY...                  types keys, such as C-c or Enter
//	screen resize COLUMNSxROWS
//	screen show FILE                    writes the screen to a file
func cmdScreen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: screen start|wait|keys|resize|show ...")
	}
	if args[0] == "start" { // a new tmux server, because one that is ending refuses new windows
		ts.Setenv("SCREEN", ts.MkAbs(fmt.Sprintf(".screen%d", time.Now().UnixNano())))
	}
	socket := ts.Getenv("SCREEN")
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null", "-u"}, args...)...)
		cmd.Dir = ts.MkAbs(".")
		for _, name := range []string{"PATH", "HOME", "TF_CLI_CONFIG_FILE", "NO_COLOR", "WORK"} {
			cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
		}
		cmd.Env = append(cmd.Env, "LC_ALL=C.UTF-8", "TERM=xterm")
		out, err := cmd.CombinedOutput()
		if err != nil {
			ts.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	size := func(text string) (columns, rows string) {
		columns, rows, ok := strings.Cut(text, "x")
		if !ok {
			ts.Fatalf("%q is not a size such as 80x24", text)
		}
		return columns, rows
	}
	screen := func() string { return strings.TrimRight(tmux("capture-pane", "-p"), "\n") + "\n" }
	switch rest := args[1:]; args[0] {
	case "start":
		columns, rows := size(rest[0])
		tmux("new-session", "-d", "-x", columns, "-y", rows, strings.Join(rest[1:], " ")+"; echo ENDED $?; sleep 600")
		tmux("set-option", "-g", "status", "off")
		ts.Defer(func() { _ = exec.Command("tmux", "-S", socket, "kill-server").Run() })
	case "wait":
		want, err := regexp.Compile("(?m)" + rest[0])
		ts.Check(err)
		last := ""
		for end := time.Now().Add(screenTimeout); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			last = screen()
			if want.MatchString(last) {
				return
			}
		}
		ts.Fatalf("the screen doesn't match %s:\n%s", rest[0], last)
	case "keys":
		tmux(append([]string{"send-keys"}, rest...)...)
	case "resize":
		columns, rows := size(rest[0])
		tmux("resize-window", "-x", columns, "-y", rows)
	case "show":
		ts.Check(os.WriteFile(filepath.Clean(ts.MkAbs(rest[0])), []byte(screen()), 0o600))
	default:
		ts.Fatalf("no such command: screen %s", args[0])
	}
}
