package getmodules

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// TestMinimumAge checks modules with dates from the registry, from commits and from archives.
func TestMinimumAge(t *testing.T) {
	const day = 24 * time.Hour
	l := newLab(t)
	before := func(days int) time.Time { return time.Now().Add(-time.Duration(days) * day) }
	dates := map[string]time.Time{"1.0.0": before(30), "1.1.0": before(10), "1.2.0": before(2)}
	for _, v := range []string{"1.0.0", "1.1.0", "1.2.0"} {
		t.Setenv("GIT_COMMITTER_DATE", dates[v].Format(time.RFC3339))
		l.commit("repo", "v"+v, map[string]string{"main.tf": value(v)})
	}
	if err := os.Unsetenv("GIT_COMMITTER_DATE"); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"document", "git", "archive", "undated"} {
		module := "/v1/acme/" + kind + "/lab/"
		l.pages[module+"versions"] = bytesPage([]byte(
			`{"modules": [{"versions": [{"version": "1.0.0"}, {"version": "1.2.0"}, {"version": "1.1.0"}]}]}`))
		for v, at := range dates {
			place := fmt.Sprintf("/%s-%s.zip", kind, v)
			archive := zipOf(map[string]string{"main.tf": value(v)})
			l.pages[place] = func(w http.ResponseWriter, r *http.Request) {
				if kind == "archive" {
					w.Header().Set("Last-Modified", at.UTC().Format(http.TimeFormat))
				}
				w.Write(archive)
			}
			if kind == "git" {
				place = "git::file://" + l.top + "/repo?ref=v" + v
			}
			l.pages[module+v+"/download"] = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("X-Terraform-Get", place)
				w.WriteHeader(http.StatusNoContent)
			}
			if kind == "document" {
				l.pages[module+v] = func(w http.ResponseWriter, r *http.Request) {
					json.NewEncoder(w).Encode(map[string]any{"published_at": at})
				}
			}
		}
	}
	var young []string
	install := func(kind, more string) error {
		young = nil
		l.forget()
		l.write(map[string]string{"work/main.tf": call("m", "modules.example.com/acme/"+kind+"/lab", more)})
		in, err := NewInstaller(&Options{Warn: tfdiags.Drop, Dir: ".terraform/modules", Client: l.client,
			Observe: func(e Event) {
				if p, ok := e.(PassedOver); ok {
					young = append(young, p.Version.String())
				}
			}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = configs.LoadRoot(t.Context(), ".", &configs.LoadOptions{Resolve: in.Resolve}, tfdiags.Drop)
		return err
	}
	for _, kind := range []string{"document", "git", "archive"} {
		for _, c := range []struct {
			age           int
			version, want string
			passed        []string
		}{{1, "", "1.2.0", nil}, {7, "", "1.1.0", []string{"1.2.0"}}, {15, "", "1.0.0", []string{"1.2.0", "1.1.0"}},
			{7, `version = "1.0.0"`, "1.0.0", nil}} {
			l.client.Config().MinAge = time.Duration(c.age) * day
			if err := install(kind, c.version); err != nil {
				t.Errorf("%s, %+v: %v", kind, c, err)
				continue
			}
			l.has(".terraform/modules/m/main.tf", value(c.want))
			if !slices.Equal(young, c.passed) {
				t.Errorf("%s, %+v: passed over %q", kind, c, young)
			}
		}
		if err := install(kind, `version = "1.2.0"`); err == nil || !strings.Contains(err.Error(), "is old enough") {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if err := install("undated", ""); err == nil || !strings.Contains(err.Error(), "it is unknown when version 1.2.0") {
		t.Errorf("without a date: %v", err)
	}
	l.client.Config().HostAges = map[string]time.Duration{"modules.example.com": 0}
	if err := install("undated", ""); err != nil {
		t.Error(err)
	}
}
