//go:build unix

package plugin

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script writes a shell script and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// readPID reads the process ID that a script wrote into a file.
func readPID(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// gone waits for the end of a process that is not a child of this process. It reports whether the
// process has ended.
func gone(pid int) bool {
	for range 100 {
		// Without an init process, a process that has ended stays as a zombie.
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || err == nil && strings.Contains(string(stat), ") Z ") {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// TestChildKeepsOutput checks that the end of a plugin before the handshake is noticed even if a
// child of the plugin keeps its output open. The child must be killed too, unless it has left the
// process group.
func TestChildKeepsOutput(t *testing.T) {
	for name, leaves := range map[string]string{"in the group": "", "out of the group": "setsid "} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath("setsid"); leaves != "" && err != nil {
				t.Skip("there is no setsid")
			}
			pidFile := filepath.Join(t.TempDir(), "pid")
			path := script(t, leaves+"sh -c 'echo $$ >"+pidFile+"; exec sleep 100' &\nwhile [ ! -s "+pidFile+
				" ]; do sleep 0.05; done\nexit 1\n")
			sockets, err := os.MkdirTemp("", "s") // the path of a socket must be short
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(sockets)
			t.Setenv("TMPDIR", sockets)
			within(t, 20*time.Second, "a start without handshake", func() {
				_, err := Start(t.Context(), Launch{Provider: address("broken"), Exec: path})
				wantError(t, err, path)
			})
			pid := readPID(t, pidFile)
			if leaves == "" && !gone(pid) {
				t.Error("the child is still there")
			}
			_ = syscall.Kill(pid, syscall.SIGKILL)
			if left, err := os.ReadDir(sockets); err != nil || len(left) > 0 {
				t.Errorf("the socket directory of the plugin is left: %v, %v", left, err)
			}
		})
	}
}

// TestWrapper checks that closing a plugin that was started by a wrapper script also ends the
// script and its other processes.
func TestWrapper(t *testing.T) {
	pidFile := filepath.Join(t.TempDir(), "pid")
	l := launch(t, "files", "FILES_ROOT="+t.TempDir())
	l.Exec = script(t, "sleep 100 &\necho $! >"+pidFile+"\n"+l.Exec+" \"$@\"\n")
	p, err := Start(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	resourceType(t, p, "files_file")
	within(t, closeTimeout+killTimeout+5*time.Second, "closing a wrapper", func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if !gone(readPID(t, pidFile)) {
		t.Error("a child of the wrapper is still there")
	}
}

// TestKilledParent checks that a plugin ends if the program that started it is killed.
func TestKilledParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has the signal for it")
	}
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), holdPluginEnv+"="+executable(t, "files"), "FILES_ROOT="+t.TempDir(),
		"TMPDIR="+t.TempDir())
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err == nil {
		err = syscall.Kill(pid, 0)
	}
	if err != nil {
		_ = parent.Process.Kill()
		t.Fatalf("%q: %v", line, err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	if !gone(pid) {
		t.Error("the plugin is still there")
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}
