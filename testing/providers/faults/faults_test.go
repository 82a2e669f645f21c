package faults

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func fromEnv(t *testing.T, vars map[string]string) *Plan {
	t.Helper()
	for k, v := range vars {
		t.Setenv("T_"+k, v)
	}
	p, err := FromEnv("T")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFail(t *testing.T) {
	tests := []struct {
		rule, op, name string
		fails, done    bool
	}{
		{"create:a.txt", "create", "a.txt", true, false},
		{"create:a.txt", "create", "b.txt", false, true},
		{"create:a.txt", "update", "a.txt", false, true},
		{"create-done:a.txt", "create", "a.txt", true, true},
		{"create-read:a.txt", "create", "a.txt", true, true},
		{"*:a.txt", "delete", "a.txt", true, false},
		{"create:*", "create", "a/b.txt", true, false},
		{"create:*.txt", "create", "a/b.txt", false, true},
		{"read:x, create:a/*", "create", "a/b.txt", true, false},
		{"", "create", "a.txt", false, true},
	}
	for _, test := range tests {
		p := fromEnv(t, map[string]string{"FAIL": test.rule})
		done := false
		err := p.Around(t.Context(), test.op, test.name, func() error { done = true; return nil })
		if errors.Is(err, ErrInjected) != test.fails || done != test.done {
			t.Errorf("%q, %s %s: error %v, done %v", test.rule, test.op, test.name, err, done)
		}
	}
}

func TestBadRules(t *testing.T) {
	for name, value := range map[string]string{
		"FAIL": "create", "CRASH": ":x", "HANG": "create:[", "DELAY_MS": "create:x=soon",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("T_"+name, value)
			if _, err := FromEnv("T"); err == nil || !strings.Contains(err.Error(), "T_"+name) {
				t.Errorf("T_%s=%s: got error %v", name, value, err)
			}
		})
	}
}

func TestDelay(t *testing.T) {
	p := fromEnv(t, map[string]string{"DELAY_MS": "30,read:slow=60"})
	for op, want := range map[string]time.Duration{"create": 30, "read": 60, "plan": 0} {
		start := time.Now()
		if err := p.Around(t.Context(), op, "slow", func() error { return nil }); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took < want*time.Millisecond {
			t.Errorf("%s took only %s", op, took)
		}
	}
}

func TestHangUntilStopped(t *testing.T) {
	p := fromEnv(t, map[string]string{"HANG": "create:*"})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := p.Around(ctx, "create", "x", func() error { t.Error("ran"); return nil })
	if !errors.Is(err, ErrStopped) {
		t.Errorf("got %v", err)
	}
}

func TestLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "calls")
	p := fromEnv(t, map[string]string{"LOG": file, "FAIL": "delete:*"})
	for _, op := range []string{"create", "delete"} {
		_ = p.Around(t.Context(), op, "x", func() error { return nil })
	}
	got, err := os.ReadFile(file)
	if want := "begin create x\nend create x\nbegin delete x\nfail delete x\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestCrash checks that a CRASH rule ends the process. It runs the test binary as a child process.
func TestCrash(t *testing.T) {
	if os.Getenv("T_CRASH") != "" {
		p, err := FromEnv("T")
		if err != nil {
			t.Fatal(err)
		}
		_ = p.Around(t.Context(), "create", "x", func() error { return nil })
		os.Exit(0)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrash$")
	cmd.Env = append(os.Environ(), "T_CRASH=create:x")
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != ExitStatus {
		t.Errorf("got %v, want exit status %d", err, ExitStatus)
	}
}

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	p := fromEnv(t, map[string]string{"RUN": "create-done:x", "COMMAND": "echo $ENGINE_PID > " + file})
	for _, name := range []string{"y", "x"} {
		if _, err := os.Stat(file); err == nil {
			t.Errorf("the command ran before %s", name)
		}
		if err := p.Around(t.Context(), "create", name, func() error { return nil }); err != nil {
			t.Error(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || strings.TrimSpace(string(got)) != strconv.Itoa(os.Getppid()) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestRefusals checks the rules with numbers.
func TestRefusals(t *testing.T) {
	p := fromEnv(t, map[string]string{"THROTTLE": "read:a*=3,data:*=0", "FLAKY": "read:b=2"})
	for _, c := range []struct {
		op, name string
		passes   string
	}{{"read", "a1", "yyyn"}, {"create", "a1", "yyyyy"}, {"data", "x", "n"}, {"read", "b", "nnyy"}, {"read", "c", "yyy"}} {
		for i, want := range c.passes {
			err := p.Around(t.Context(), c.op, c.name, func() error { return nil })
			if (err == nil) != (want == 'y') {
				t.Errorf("%s %s %d: %v", c.op, c.name, i, err)
			}
		}
	}
	for _, text := range []string{"read:*", "read=3", "read:*=x", "read:*=-1", "=3"} {
		t.Setenv("U_FLAKY", text)
		if _, err := FromEnv("U"); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
