package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/install"
	"tofu/internal/getmodules"
	"tofu/internal/timings"
)

// screen returns the lines that a terminal shows in the end.
func screen(output string) string {
	var lines []string
	for _, line := range strings.Split(output, "\n") {
		if i := strings.LastIndex(line, "\r\x1b[K"); i >= 0 {
			line = line[i+len("\r\x1b[K"):]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "|")
}

func TestDownloads(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(1000, 0)
	d := &downloads{out: &out, width: 72, now: func() time.Time { return now },
		spans: &packageSpans{open: map[string]*timings.Open{}}, running: make(map[string]download)}
	observe := d.providers(func(e install.Event) { fmt.Fprintf(&out, "%T\n", e) })
	modules := d.modules(func(e getmodules.Event) { fmt.Fprintf(&out, "%T\n", e) })
	p := func(name string, done, total int64) install.Progress {
		return install.Progress{Provider: addrs.Provider{Host: addrs.DefaultHost, Namespace: "acme",
			Type: name}, Version: depsfile.Version{Major: 1},
			Platform: depsfile.Platform{OS: "linux", Arch: "arm"}, Done: done, Total: total}
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { observe(p("tool", 1_200_000, 80_000_000)) },
			"  acme/tool 1.0.0 for linux_arm: 1.2 MB of 80.0 MB (1 %)"},
		{func() { now = now.Add(time.Millisecond); observe(p("tool", 2_000_000, 80_000_000)) },
			"  acme/tool 1.0.0 for linux_arm: 1.2 MB of 80.0 MB (1 %)"},
		{func() { now = now.Add(time.Second); observe(p("part", 40_000_000, 80_000_000)) },
			"  2 downloads: 42.0 MB of 160.0 MB (26 %)"},
		{func() { observe(install.Fetched{}) }, "install.Fetched|"},
		{func() {
			d.remark("3 of 9 root modules")
			now = now.Add(time.Second)
			observe(p("part", 80_000_000, 80_000_000))
		},
			"install.Fetched|  3 of 9 root modules; acme/tool 1.0.0 for linux_arm: 2.0 MB of 80.0 MB"},
		{func() { now = now.Add(time.Second); observe(p("odd", 5_000_000, 0)) },
			"install.Fetched|  3 of 9 root modules; 2 downloads: 7.0 MB"},
		{func() {
			observe(install.Installed{Provider: p("odd", 0, 0).Provider, Version: p("odd", 0, 0).Version})
		},
			"install.Fetched|install.Installed|"},
		{func() {
			now = now.Add(time.Second)
			modules(getmodules.Progress{Source: "git::x", Step: "Receiving objects 45%"})
		},
			"install.Fetched|install.Installed|  3 of 9 root modules; 3 downloads: 7.0 MB"},
		{func() {
			d.forget(packageName(p("tool", 0, 0).Provider, depsfile.Version{Major: 1},
				depsfile.Platform{OS: "linux", Arch: "arm"}))
			d.forget(packageName(p("odd", 0, 0).Provider, depsfile.Version{Major: 1},
				depsfile.Platform{OS: "linux", Arch: "arm"}))
			d.remark("")
			now = now.Add(time.Second)
			modules(getmodules.Progress{Source: "git::x", Step: "Receiving objects 46%"})
		}, "install.Fetched|install.Installed|  git::x: Receiving objects 46%"},
		{func() {
			modules(getmodules.Progress{Source: "git::x", Over: true})
			modules(getmodules.InPlace{Key: "a"})
		}, "install.Fetched|install.Installed|getmodules.InPlace|"},
		{func() {
			now = now.Add(time.Second)
			modules(getmodules.Progress{Source: "https://x/a.zip", Done: 500_000})
		},
			"install.Fetched|install.Installed|getmodules.InPlace|  https://x/a.zip: 0.5 MB"},
		{d.end, "install.Fetched|install.Installed|getmodules.InPlace|"},
		{func() { now = now.Add(time.Second); observe(p("tool", 3_000_000, 80_000_000)) },
			"install.Fetched|install.Installed|getmodules.InPlace|"},
	} {
		step.do()
		if got := screen(out.String()); got != step.want {
			t.Errorf("the terminal shows %q, not %q", got, step.want)
		}
	}
}
