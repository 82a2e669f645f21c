package provisioner

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

func needShell(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a POSIX shell")
	}
}

func TestLocalExec(t *testing.T) {
	needShell(t)
	t.Setenv("OUTER", "outer")
	dir := t.TempDir()
	for _, tc := range []struct {
		name   string
		config values
		out    []string // lines of output after the first line, which shows the command
		err    string
	}{
		{"lines", values{"command": str(`printf 'one\n\n two \r\nlast'; echo err >&2`)}, []string{"one", "",
			" two ", "lasterr"}, ""},
		{"progress", values{"command": str(`printf '1%%\r2%%\r\n'`)}, []string{"1%", "2%"}, ""},
		{"environment", values{"command": str(`echo $A-$B-$OUTER`),
			"environment": cty.MapVal(map[string]cty.Value{"A": str("a b"), "B": cty.NullVal(cty.String)})},
			[]string{"a b--outer"}, ""},
		{"directory", values{"command": str("pwd"), "working_dir": str(dir)}, []string{dir}, ""},
		{"interpreter", values{"command": str("cmd"), "interpreter": list("/bin/sh", "-c", "echo $0")},
			[]string{"cmd"}, ""},
		{"no interpreter", values{"command": str("echo x"), "interpreter": cty.ListValEmpty(cty.String)},
			[]string{"x"}, ""},
		{"failure", values{"command": str("echo why; exit 3")}, []string{"why"}, "exit status 3. Output: why"},
		{"signal", values{"command": str("kill -9 $$")}, nil, "signal: killed"},
		{"no directory", values{"command": str("true"), "working_dir": str(dir + "/none")}, nil,
			"no such file or directory"},
		{"no shell", values{"command": str("true"), "interpreter": list("/no/shell")}, nil, "/no/shell"},
		{"null", values{}, nil, "is empty"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p printed
			diags := Builtin("local-exec").Run(t.Context(), tc.config.object(t, "local-exec"),
				cty.NullVal(cty.EmptyObject), p.add)
			out := p.all()
			if len(out) > 0 && strings.HasPrefix(out[0], "Executing: [") {
				out = out[1:]
			}
			if !slices.Equal(out, tc.out) {
				t.Errorf("printed %q, want %q", out, tc.out)
			}
			if tc.err != "" {
				wantError(t, diags, tc.err)
			} else if len(diags) > 0 {
				t.Error(diags)
			}
		})
	}
}

func TestLocalExecSaysNothing(t *testing.T) {
	needShell(t)
	var p printed
	config := values{"command": str("echo secret"), "quiet": cty.True}
	Builtin("local-exec").Run(t.Context(), config.object(t, "local-exec"), cty.NullVal(cty.EmptyObject), p.add)
	if want := []string{"local-exec: Executing: Suppressed by quiet=true", "secret"}; !slices.Equal(p.all(), want) {
		t.Errorf("printed %q, want %q", p.all(), want)
	}
	config = values{"command": str("echo secret; exit 7")}
	diags := Builtin("local-exec").Run(t.Context(), config.object(t, "local-exec"), cty.NullVal(cty.EmptyObject), nil)
	wantError(t, diags, "exit status 7")
	if text := diags.Err().Error(); strings.Contains(text, "secret") {
		t.Errorf("the error gives the command away: %s", text)
	}
}

// TestLocalExecInterrupted checks that an interrupted command and its child processes end, and that
// they have time to clean up first.
func TestLocalExecInterrupted(t *testing.T) {
	needShell(t)
	if !ownGroup() {
		t.Skip("with a terminal, commands stay in the terminal's own group")
	}
	for _, tc := range []struct {
		name, command string
		killed        bool // whether the command outlives the grace period and is killed
	}{
		{"polite", `trap 'echo over; exit 1' INT; echo ready; while :; do sleep 0.1; done`, false},
		{"grandchild", `(trap 'echo over; exit 1' INT; echo ready; while :; do sleep 0.1; done); exit 1`, false},
		{"deaf", `trap '' INT; echo ready; echo over; while :; do sleep 0.1; done`, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var p printed
			var start time.Time
			config := values{"command": str(tc.command)}
			diags := Builtin("local-exec").Run(ctx, config.object(t, "local-exec"),
				cty.NullVal(cty.EmptyObject), func(line string) {
					p.add(line)
					if line == "ready" {
						start = time.Now()
						cancel()
					}
				})
			took := time.Since(start)
			wantError(t, diags, "interrupted")
			if killed := strings.Contains(diags.Err().Error(), "signal: killed"); killed != tc.killed {
				t.Errorf("killed: %t; %v", killed, diags.Err())
			}
			if !slices.Contains(p.all(), "over") {
				t.Errorf("the command had no time to clean up: %q", p.all())
			}
			if tc.killed && took < grace {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestLocalExecBackground checks that the output of background processes that end soon is shown
// completely, and that an interrupt ends them.
func TestLocalExecBackground(t *testing.T) {
	t.Parallel()
	needShell(t)
	var p printed
	config := values{"command": str("(sleep 0.3; echo later) & echo first")}
	diags := Builtin("local-exec").Run(t.Context(), config.object(t, "local-exec"), cty.NullVal(cty.EmptyObject), p.add)
	if want := []string{"first", "later"}; len(diags) > 0 || !slices.Equal(p.after(p.all()[0]), want) {
		t.Errorf("printed %q, %v; want %q", p.all(), diags, want)
	}
	if !ownGroup() {
		return // background processes would stay in this program's group
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	// The background process keeps the pipe open until it ends. It prints a line after the command
	// has ended.
	pipe := filepath.Join(t.TempDir(), "pipe")
	check(t, exec.Command("mkfifo", pipe).Run())
	ended := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(pipe)
		ended <- err
	}()
	config = values{"command": str("{ exec 3>" + pipe + "; while kill -0 $$ 2>&3; do sleep 0.1; done; echo " +
		"left; exec sleep 600; } &")}
	Builtin("local-exec").Run(ctx, config.object(t, "local-exec"), cty.NullVal(cty.EmptyObject), func(line string) {
		if line == "left" {
			cancel()
		}
	})
	select {
	case err := <-ended:
		check(t, err)
	case <-time.After(time.Minute):
		t.Fatal("what the command left behind goes on")
	}
}

// TestLocalExecLeftBehind checks that background processes that go on are not waited for, neither by
// a command that succeeds nor by one that fails, and that they can go on writing.
func TestLocalExecLeftBehind(t *testing.T) {
	t.Parallel()
	needShell(t)
	for name, tc := range map[string]struct {
		after string // the end of the command
		err   string
	}{
		"success": {after: "echo done"},
		"failure": {after: "echo done; exit 3", err: "exit status 3. Output: done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			// Two processes; the first one writes more than fits into a pipe when it is told to.
			command := "cd " + dir + "; (until [ -e go ]; do sleep 0.1; done; head -c 1000000 /dev/zero && touch written) & " +
				"(until [ -e written ]; do sleep 0.1; done) & " + tc.after
			var p printed
			config := values{"command": str(command)}
			diags := Builtin("local-exec").Run(t.Context(), config.object(t, "local-exec"),
				cty.NullVal(cty.EmptyObject), p.add)
			if len(diags) == 0 || diags[0].Severity != tfdiags.Warning ||
				!strings.Contains(diags[0].Detail, "processes in the background") {
				t.Errorf("no warning about what the command left behind: %v", diags)
			}
			if tc.err != "" {
				wantError(t, diags, tc.err)
			} else if diags.HasErrors() {
				t.Error(diags)
			}
			shown := p.all()
			check(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o666))
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
				if _, err := os.Stat(filepath.Join(dir, "written")); err == nil {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the background process can't write")
				}
			}
			if after := p.all(); len(after) != len(shown) {
				t.Errorf("output was shown after the provisioner ended: %d lines, then %d", len(shown), len(after))
			}
		})
	}
}

// ownGroup reports whether commands run in their own process group.
func ownGroup() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		tty.Close()
	}
	return err != nil
}

func TestValidate(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	for _, tc := range []struct {
		typ    string
		config values
		err    string
	}{
		{"local-exec", values{"command": str("x")}, ""},
		{"local-exec", values{"command": unknown}, ""},
		{"local-exec", values{"command": str("")}, "is empty"},
		{"remote-exec", values{}, "none of them is"},
		{"remote-exec", values{"inline": list("a"), "script": str("b")}, "Exactly one"},
		{"remote-exec", values{"scripts": cty.UnknownVal(cty.List(cty.String))}, ""},
		{"remote-exec", values{"inline": cty.ListValEmpty(cty.String)}, ""},
		{"file", values{"destination": str("x")}, "must be set"},
		{"file", values{"destination": str("x"), "source": unknown, "content": str("c")}, "Cannot set both"},
		{"file", values{"destination": unknown, "content": unknown}, ""},
		{"file", values{"destination": str(""), "content": unknown}, "non-empty"},
		{"file", values{"source": str("x")}, "non-empty"},
	} {
		diags := Builtin(tc.typ).Validate(tc.config.object(t, tc.typ))
		if tc.err == "" && len(diags) > 0 {
			t.Errorf("%s %v: %v", tc.typ, tc.config, diags)
		}
		if tc.err != "" {
			wantError(t, diags, tc.err)
		}
	}
	for _, typ := range []string{"chef", "habitat", "puppet", "salt-masterless", ""} {
		if Builtin(typ) != nil {
			t.Errorf("there is a %q provisioner", typ)
		}
	}
}

func TestLongLines(t *testing.T) {
	var got []int
	l := &lines{out: func(line string) { got = append(got, len(line)) }}
	l.Write([]byte(strings.Repeat("x", 3*maxLine-1)))
	l.Write([]byte("yz\n"))
	l.end()
	if want := []int{maxLine, maxLine, maxLine, 1}; !slices.Equal(got, want) {
		t.Errorf("lines are %v long, want %v", got, want)
	}
}

func TestQuote(t *testing.T) {
	for path, want := range map[string]string{
		"/a b":    "'/a b'",
		"it's":    `'it'\''s'`,
		"~/x y":   "~/'x y'",
		"~":       "~",
		"~me/$x":  "~me/'$x'",
		"~a b/c":  "'~a b/c'",
		"-rf":     "'./-rf'",
		"/a/~/-b": "'/a/~/-b'",
	} {
		if got := quote(path, false); got != want {
			t.Errorf("quote(%q) = %s, want %s", path, got, want)
		}
	}
	if got, want := quote("C:/a b", true), `"C:/a b"`; got != want {
		t.Errorf("quote for Windows = %s, want %s", got, want)
	}
}
