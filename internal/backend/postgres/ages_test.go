package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tofu/internal/backend/postgres"
)

// TestAges checks that no update of the ages is lost, and that they live as long as their state.
func TestAges(t *testing.T) {
	c := config(t)
	s := open(t, c)
	add := func(s *postgres.Store, workspace, text string) error {
		return s.UpdateAges(t.Context(), workspace, func(previous []byte) ([]byte, error) {
			return append(previous, text...), nil
		})
	}
	ages := func(workspace string) string {
		t.Helper()
		text, err := s.Ages(t.Context(), workspace)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if err := add(s, "a", "x"); err != nil || ages("a") != "" {
		t.Errorf("without a workspace: %q, %v", ages("a"), err)
	}
	put(t, s, "a", 1, []string{"o=a"}, nil)
	put(t, s, "b", 1, []string{"o=b"}, nil)
	before := query(t, c, "SELECT revision FROM workspace WHERE name = 'a'")
	var wg sync.WaitGroup
	stores := []*postgres.Store{s, open(t, c)}
	for i := range 40 {
		wg.Go(func() {
			if err := add(stores[i%2], "a", fmt.Sprintf("<%d>", i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range 40 {
		if !strings.Contains(ages("a"), fmt.Sprintf("<%d>", i)) {
			t.Errorf("update %d is lost", i)
		}
	}
	if after := query(t, c, "SELECT revision FROM workspace WHERE name = 'a'"); after != before || ages("b") != "" {
		t.Errorf("revision %s, then %s; another workspace: %q", before, after, ages("b"))
	}
	failed := errors.New("no")
	err := s.UpdateAges(t.Context(), "a", func([]byte) ([]byte, error) { return nil, failed })
	if !errors.Is(err, failed) || !strings.Contains(ages("a"), "<7>") {
		t.Errorf("after an update that failed: %v, %q", err, ages("a"))
	}
	put(t, s, "a", 2, []string{"o=pushed"}, nil)
	if ages("a") != "" {
		t.Errorf("after the state was replaced: %q", ages("a"))
	}
	if err := add(s, "b", "x"); err != nil || ages("b") != "x" {
		t.Errorf("%q, %v", ages("b"), err)
	}
	if err := s.Delete(t.Context(), "b"); err != nil || ages("b") != "" {
		t.Errorf("after the workspace was deleted: %q, %v", ages("b"), err)
	}
}

// TestAgesOfRoles checks who may read and write ages, and that a user who may only read need not wait.
func TestAgesOfRoles(t *testing.T) {
	c := config(t)
	oldSchema(t, c) // so that the upgrade has roles to care for
	schema := pgx.Identifier{c.Schema}.Sanitize()
	for _, v := range []int{2, 3, 4} {
		text, err := os.ReadFile(fmt.Sprintf("schema/%04d.sql", v))
		if err != nil {
			t.Fatal(err)
		}
		execute(t, fmt.Sprintf("SET search_path TO %s; INSERT INTO schema_version VALUES (%d, '1.0.0'); %s", schema, v, text))
	}
	roles := map[string]*postgres.Config{}
	for _, level := range []string{"write", "state", "outputs"} {
		roles[level] = role(t, c, "r_"+level)
		execute(t, fmt.Sprintf("SET search_path TO %s; SELECT grant_access('r_%s', NULL, '%[2]s')", schema, level))
	}
	s := open(t, c)
	roles["later"] = role(t, c, "r_later")
	execute(t, fmt.Sprintf("SET search_path TO %s; SELECT grant_access('r_later', '%s', 'write')", schema, ws))
	put(t, s, "other", 1, nil, nil)
	for name, want := range map[string][2]bool{"write": {true, true}, "later": {true, true}, "state": {true, false},
		"outputs": {false, false}} {
		as, start := open(t, roles[name]), time.Now()
		text := func([]byte) ([]byte, error) { return []byte("ages"), nil }
		if err := as.UpdateAges(t.Context(), ws, text); (err == nil) != want[1] {
			t.Errorf("%s writes: %v", name, err)
		}
		if got, err := as.Ages(t.Context(), ws); (err == nil) != want[0] || want[1] && string(got) != "ages" {
			t.Errorf("%s reads: %q, %v", name, got, err)
		}
		if name == "later" {
			if err := as.UpdateAges(t.Context(), "other", text); err != nil {
				t.Errorf("a workspace that the user can't see: %v", err)
			}
			if got, err := s.Ages(t.Context(), "other"); err != nil || got != nil {
				t.Errorf("a workspace without rights has got %q, %v", got, err)
			}
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
	execute(t, "ALTER ROLE r_write SET default_transaction_read_only = on")
	start := time.Now()
	err := open(t, roles["write"]).UpdateAges(t.Context(), ws, func([]byte) ([]byte, error) { return []byte("x"), nil })
	if err == nil || time.Since(start) > 5*time.Second {
		t.Errorf("only reads: %v after %s", err, time.Since(start))
	}
}
