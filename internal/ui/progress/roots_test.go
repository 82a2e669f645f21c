package progress_test

import (
	"strings"
	"testing"
	"time"

	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/ui/progress"
	"tofu/internal/ui/termtext"
)

// TestRoots checks that what runs in a root module is below its line, that objects of several root modules
// may have one address, and that only root modules are steps.
func TestRoots(t *testing.T) {
	clock := &stoppedClock{}
	live := progress.New(termtext.Style{}, clock.now)
	live.Phase("Planning root modules", 4)
	live.Order(func(name string) []string {
		if name == "net" {
			return []string{"app"}
		}
		return nil
	})
	live.Begin("net", "Planning")
	clock.advance(2 * time.Second)
	live.Begin("dns", "Planning")
	vpc := object(`module.a["x"].cloud_network.main`)
	for _, root := range []string{"net", "dns"} {
		live.RootEvent(root, engine.RefreshStart{Object: vpc})
		live.RootEvent(root, engine.ApplyStart{Object: object("data.cloud_zone.all"), Action: plans.Read})
		live.RootEvent(root, engine.ApplyDone{Object: object("data.cloud_zone.all"), Action: plans.Read})
		live.RootEvent(root, engine.Planned{})
	}
	clock.advance(time.Second)
	live.RootEvent("dns", engine.RefreshDone{Object: vpc})
	live.RootEvent("dns", engine.ImportStart{Object: object("cloud_record.www")})
	const want = "Planning root modules 0/4 [..............................] 0% 3s\n" +
		"     3s  net: Planning\n" +
		"         1s  module.a[\"x\"].cloud_network.main: refreshing\n" +
		"     1s  dns: Planning\n" +
		"         0s  cloud_record.www: importing\n" +
		"  app waits for net; 1 more waits"
	if got := strings.Join(live.Lines(80, 24), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// With less room, each root module has one line.
	live.RootEvent("net", engine.RefreshStart{Object: object("cloud_disk.a")})
	const few = "\n     3s  net: refreshing module.a[\"x\"].cloud_network.main and 1 more\n" +
		"     1s  dns: importing cloud_record.www\n"
	if got := strings.Join(live.Lines(80, 4), "\n"); !strings.Contains(got, few) {
		t.Errorf("got\n%s", got)
	}
}
