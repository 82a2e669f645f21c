package getmodules

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tofu/internal/testenv"
)

func TestGit(t *testing.T) {
	l := newLab(t)
	first := l.commit("repo", "v1", map[string]string{"main.tf": value("1"), "sub/one/main.tf": call("c", "../common"),
		"sub/common/main.tf": value("c")})
	l.commit("repo", "v2", map[string]string{"main.tf": value("2")})
	l.git("repo", "branch", "next")
	repo := "git::file://" + l.top + "/repo"
	l.good(call("a", repo))
	l.has(".terraform/modules/a/main.tf", value("2"))
	for query, want := range map[string]string{"?ref=v1": "1", "?ref=next": "2", "?ref=" + first: "1",
		"?ref=" + first[:8]: "1", "?ref=&depth=3": "2", "?ref=origin/next": "2", "?depth=all": "2"} {
		l.good(call("a", repo+query))
		l.has(".terraform/modules/a/main.tf", value(want))
	}
	l.good(call("a", repo+"//sub/one"))
	l.has(".terraform/modules/a/sub/common/main.tf", value("c"))
	l.badSource(call("a", repo+"//none"), "there is no directory \"none\"")
	l.bad(call("a", repo+"?ref=v9"), "v9")
	l.bad(call("a", repo+"?ref=--upload-pack=touch%20"+l.top+"/evil"), "is not a valid ref")
	l.bad(call("a", "git::ext::sh -c true"), "can't have the scheme")
	l.bad(call("a", "git::file://"+l.top+"/nothing"), "nothing")
	l.bad(call("a", "git::ssh://git@127.0.0.1:1/some/repo.git?ref=v1"), "ssh://git@127.0.0.1:1/some/repo.git")
	if tags, err := Tags(t.Context(), repo+"?ref=v1"); err != nil || !slices.Equal(tags, []string{"v1", "v2"}) {
		t.Errorf("%q %v", tags, err)
	}
	// When the branch moves, the installed commit is kept until an upgrade.
	l.good(call("a", repo))
	l.commit("repo", "", map[string]string{"main.tf": value("3")})
	l.good(call("a", repo))
	l.has(".terraform/modules/a/main.tf", value("2"))
	if err := l.install(call("a", repo), true); err != nil {
		t.Fatal(err)
	}
	l.has(".terraform/modules/a/main.tf", value("3"))
}

// TestOneClone checks that a branch is fetched once per run, regardless of the number of calls. All
// calls then get the same commit, even if the branch moves during the run.
func TestOneClone(t *testing.T) {
	l := newLab(t)
	l.commit("repo", "", map[string]string{"main.tf": value("1"), "sub/main.tf": value("sub")})
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("no git on this machine")
	}
	// The script runs git, logs each fetch and then moves the branch.
	l.write(map[string]string{"bin/git": "#!/bin/sh\n" + git + " \"$@\" || exit\ncase \"$*\" in *' fetch '*) echo >> " +
		l.top + "/fetches; cd " + l.top +
		"/repo && echo '# more' >> main.tf && " + git + " commit -q -a -m more;; esac\n"})
	if err := os.Chmod(filepath.Join(l.top, "bin/git"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Join(l.top, "bin")+":"+os.Getenv("PATH"))
	repo := "git::file://" + l.top + "/repo"
	var main strings.Builder
	for i := range 30 {
		main.WriteString(call(fmt.Sprintf("a%d", i), repo) + call(fmt.Sprintf("b%d", i), repo+"//sub"))
	}
	l.good(main.String())
	fetches, err := os.ReadFile(filepath.Join(l.top, "fetches"))
	if err != nil || len(fetches) != 1 {
		t.Errorf("%d fetches, %v", len(fetches), err)
	}
	for i := range 30 {
		l.has(fmt.Sprintf(".terraform/modules/a%d/main.tf", i), value("1"))
	}
}

func TestMercurial(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	if _, err := exec.LookPath("hg"); err != nil {
		testenv.Missing(t, "there is no hg", "install Mercurial")
	}
	l := newLab(t)
	t.Setenv("HGRCPATH", os.DevNull)
	hg := func(args ...string) {
		t.Helper()
		cmd := exec.Command("hg", args...)
		cmd.Dir = filepath.Join(l.top, "repo")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("hg %v: %v\n%s", args, err, out)
		}
	}
	l.write(map[string]string{"repo/main.tf": value("1"), "repo/sub/main.tf": value("sub")})
	hg("init")
	hg("commit", "-q", "-A", "-u", "t", "-m", "1")
	hg("tag", "-u", "t", "v1")
	l.write(map[string]string{"repo/main.tf": value("2")})
	hg("commit", "-q", "-u", "t", "-m", "2")
	repo := "hg::file://" + l.top + "/repo"
	for source, want := range map[string]string{repo: "2", repo + "?rev=v1": "1", repo + "?rev=default": "2"} {
		l.good(call("a", source))
		l.has(".terraform/modules/a/main.tf", value(want))
		if _, err := os.Stat(".terraform/modules/a/.hg"); err == nil {
			t.Errorf("%s: the repository's own data are left", source)
		}
	}
	l.good(call("a", repo+"//sub?rev=v1"))
	l.has(".terraform/modules/a/sub/main.tf", value("sub"))
	l.bad(call("a", repo+"?rev=v9"), "v9")
	l.bad(call("a", repo+"?rev=--config=hooks.update=touch%20"+l.top+"/evil"), "is not a valid revision")
	l.bad(call("a", "hg::ssh://-oProxyCommand=x/evil"), "is not a valid address")
	if _, err := os.Stat(filepath.Join(l.top, "evil")); err == nil {
		t.Error("a source ran a program")
	}
}

// TestInterruptedProgram checks that run returns after an interrupt even if the interrupted program
// has left a process running.
func TestInterruptedProgram(t *testing.T) {
	l := newLab(t)
	l.write(map[string]string{"bin/fetcher": "#!/bin/sh\nsleep 600 &\necho $! >" + l.top + "/pid.new\nmv " + l.top +
		"/pid.new " + l.top + "/pid\nwait\n"})
	if err := os.Chmod(l.top+"/bin/fetcher", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", l.top+"/bin:"+os.Getenv("PATH"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() { done <- run(ctx, os.Environ(), "fetcher") }()
	var pid int
	for pid == 0 {
		time.Sleep(10 * time.Millisecond)
		text, _ := os.ReadFile(l.top + "/pid")
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	child, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("there is no error")
	}
	if err := child.Kill(); err != nil {
		t.Errorf("the child was waited for: %v", err)
	}
}
