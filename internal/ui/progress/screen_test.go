package progress_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/term"
	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/testenv"
	"tofu/internal/ui/progress"
	"tofu/internal/ui/termtext"
)

// demoEnv makes the test binary a program that shows progress on the terminal and has its own
// clock. The variable names a directory for synchronization: after the first scene, the program
// writes the file done0, and waits for the file next0 before it continues.
const demoEnv = "PROGRESS_DEMO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(demoEnv); dir != "" {
		demo(dir)
		return
	}
	os.Exit(m.Run())
}

// demo runs the scenes. dir is the value of demoEnv.
func demo(dir string) {
	clock := &stoppedClock{}
	live := progress.New(termtext.Style{On: os.Getenv("NO_COLOR") == ""}, clock.now)
	size := func() (columns, rows int) {
		if os.Getenv("LYING") != "" {
			return 0, 0
		}
		columns, rows, _ = term.GetSize(int(os.Stdout.Fd()))
		return columns, rows
	}
	region := progress.NewRegion(os.Stdout, size, live.Lines)
	live.Attach(region)
	out := region.Writer(os.Stdout)
	for i, scene := range scenes {
		scene(live, out, clock)
		time.Sleep(300 * time.Millisecond) // a few ticks
		// The function showScenes waits for this file.
		_ = os.WriteFile(filepath.Join(dir, fmt.Sprint("done", i)), nil, 0o600)
		for {
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprint("next", i))); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	live.Close()
}

// stoppedClock is a clock that moves only when advance is called. It is safe for concurrent use,
// because the drawing goroutine reads it at the same time.
type stoppedClock struct{ passed atomic.Int64 }

func (c *stoppedClock) now() time.Time {
	return time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(c.passed.Load()))
}

func (c *stoppedClock) advance(d time.Duration) { c.passed.Add(int64(d)) }

func object(text string) engine.Object {
	addr, err := addrs.ParseInstanceText(text)
	if err != nil {
		panic(err)
	}
	return engine.Object{Addr: addr}
}

// scenes are the parts of a run. The test compares the screen after each of them.
var scenes = []func(*progress.Live, io.Writer, *stoppedClock){
	func(l *progress.Live, out io.Writer, c *stoppedClock) {
		fmt.Fprintln(out, "$ tofu apply")
		l.Phase(progress.Planning, 40)
		for i := range 12 {
			l.Event(engine.RefreshStart{Object: object(fmt.Sprintf("cloud_server.web[%d]", i))})
		}
		for i := range 9 {
			l.Event(engine.RefreshDone{Object: object(fmt.Sprintf("cloud_server.web[%d]", i))})
			l.Event(engine.Planned{})
		}
	},
	func(l *progress.Live, out io.Writer, c *stoppedClock) {
		l.Phase("", 0)
		fmt.Fprint(out, "Do you want to perform these actions?\n\n  Enter a value: ")
	},
	func(l *progress.Live, out io.Writer, c *stoppedClock) {
		fmt.Fprintln(out)
		l.Phase(progress.Applying, 30)
		l.Parallel(10)
		l.Event(engine.Ordered{Waiters: func(o engine.Object, action plans.Action) []addrs.AbsInstance {
			if action == plans.Create && o.Addr.Resource.Type == "cloud_database" {
				return []addrs.AbsInstance{object("cloud_record.main").Addr, object("cloud_record.spare").Addr}
			}
			return nil
		}})
		l.Event(engine.ApplyStart{Object: object("cloud_database.main"), Action: plans.Create})
		c.advance(65 * time.Second)
		for i := range 12 {
			o := object(fmt.Sprintf("cloud_server.web[%d]", i))
			l.Event(engine.ApplyStart{Object: o, Action: plans.Update})
			if i < 10 {
				l.Event(engine.ApplyDone{Object: o, Action: plans.Update})
				fmt.Fprintf(out, "%s: Modifications complete after 0s\n", o.Addr)
			}
		}
	},
	func(l *progress.Live, out io.Writer, c *stoppedClock) {
		c.advance(90 * time.Second)
		fmt.Fprintln(out, "cloud_server.web[10]: Modifications errored after 1m30s")
		l.Event(engine.ApplyDone{Object: object("cloud_server.web[10]"), Action: plans.Update, Failed: true})
		l.Event(engine.ProvisionStart{Object: object("cloud_server.web[11]"), Type: "local-exec"})
		l.Event(engine.ApplyDone{Object: object("cloud_database.main"), Action: plans.Create})
		for i := range 9 {
			l.Event(engine.ApplyStart{Object: object(fmt.Sprintf(`module.a["東京"].cloud_disk.data[%d]`, i)), Action: plans.Delete})
		}
	},
	func(l *progress.Live, out io.Writer, c *stoppedClock) {
		l.Close()
		fmt.Fprintln(out, "Apply failed.")
		fmt.Fprint(out, l.Slowest())
	},
}

// TestScreens shows the scenes in tmux, on terminals of several sizes, and compares the
// screens. The terminal of "narrowed" becomes narrower and then wider during the run. The
// terminal of "lying" reports no size.
func TestScreens(t *testing.T) {
	if _, err := exec.LookPath("tmux"); err != nil {
		testenv.Missing(t, "there is no tmux", "install it, for example with testing/setup.sh")
	}
	testenv.Golden(t, testenv.Glob(t, "testdata/screens/*.txtar"), func(t *testing.T, archive *txtar.Archive) *txtar.Archive {
		var sizes [][2]int
		var env []string
		typed := ""
		scan := bufio.NewScanner(strings.NewReader(string(archive.Comment)))
		for scan.Scan() {
			words := strings.Fields(scan.Text())
			switch {
			case len(words) > 1 && words[0] == "size":
				for _, size := range words[1:] {
					columns, rows, _ := strings.Cut(size, "x")
					c, err := strconv.Atoi(columns)
					r, err2 := strconv.Atoi(rows)
					if err != nil || err2 != nil {
						t.Fatalf("bad size %s", size)
					}
					sizes = append(sizes, [2]int{c, r})
				}
			case len(words) > 1 && words[0] == "env":
				env = append(env, words[1:]...)
			case len(words) > 1 && words[0] == "type":
				typed = words[1]
			}
		}
		out := &txtar.Archive{Comment: archive.Comment}
		for i, screen := range showScenes(t, sizes, env, typed) {
			out.Files = append(out.Files, txtar.File{Name: fmt.Sprintf("scene %d", i+1), Data: []byte(screen)})
		}
		return out
	})
}

// showScenes returns the screen after each scene. Scene i is shown in size i, or in the last
// size if there are fewer sizes. After each scene, the text typed is entered, and the terminal
// echoes it.
func showScenes(t *testing.T, sizes [][2]int, env []string, typed string) []string {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "tmux")
	tmux := func(args ...string) string {
		cmd := exec.Command("tmux", append([]string{"-S", socket, "-f", "/dev/null"}, args...)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TMUX=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	args := []string{"-u", "new-session", "-d", "-x", strconv.Itoa(sizes[0][0]), "-y", strconv.Itoa(sizes[0][1])}
	for _, e := range append([]string{demoEnv + "=" + dir}, env...) {
		args = append(args, "-e", e)
	}
	tmux(append(args, self+"; sleep 600")...)
	defer tmux("kill-server")
	tmux("set-option", "-g", "status", "off")
	wait := func(name string) {
		for range 1000 {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Fatalf("no %s after 20 seconds:\n%s", name, tmux("capture-pane", "-p"))
	}
	var screens []string
	for i := range scenes {
		wait(fmt.Sprint("done", i))
		if size := sizes[min(i, len(sizes)-1)]; i > 0 && i < len(sizes) {
			tmux("resize-window", "-x", strconv.Itoa(size[0]), "-y", strconv.Itoa(size[1]))
			time.Sleep(time.Second)
		}
		screens = append(screens, strings.TrimRight(tmux("capture-pane", "-p"), "\n")+"\n")
		if typed != "" && i < len(scenes)-1 {
			tmux("send-keys", "-l", typed)
			time.Sleep(time.Second)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("next", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return screens
}
