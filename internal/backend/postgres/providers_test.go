package postgres_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// by returns an instance of a provider with an alias.
func by(key string) addrs.ProviderInstance {
	return addrs.ProviderInstance{Config: addrs.AbsProviderConfig{Provider: addrs.DefaultProvider("lab"), Alias: "by"},
		Key: addrs.StringKey(key)}
}

func configured(text string) *states.ProviderConfig {
	return &states.ProviderConfig{Values: json.RawMessage(fmt.Sprintf(`{"region":%q}`, text)),
		Secrets: map[string]string{"/token": "lab_token"}}
}

// regions returns the stored configurations, by the keys of their provider instances.
func regions(t *testing.T, m *statemgr.Manager) string {
	t.Helper()
	var out []string
	for p, c := range read(t, m).State.KnownProviderConfigs() {
		if c.Secrets["/token"] != "lab_token" {
			t.Errorf("%s has the secrets %v", p, c.Secrets)
		}
		out = append(out, strings.Trim(p.Key.String(), `[]"`)+string(c.Values))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestProviders checks that the configurations of providers are stored as long as they manage objects.
func TestProviders(t *testing.T) {
	for name, target := range map[string]string{"plain": "", "encrypted": keyA} {
		t.Run(name, func(t *testing.T) {
			c := config(t)
			t.Chdir(t.TempDir()) // the damaged part is written to the working directory
			open := func() *statemgr.Manager {
				return statemgr.Open(open(t, c), ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir(),
					Codec: codecOf(t, target)})
			}
			m := open()
			save := func(want string, change func(*states.State)) {
				t.Helper()
				read(t, m)
				st := m.Current().Clone()
				change(st)
				if err := m.Save(t.Context(), st); err != nil {
					t.Fatal(err)
				}
				if got := regions(t, open()); got != want {
					t.Errorf("stored are %s, want %s", got, want)
				}
			}
			data := addr("d", 0)
			data.Resource.Mode = addrs.Data
			save(`a{"region":"one"} b{"region":"two"}`, func(st *states.State) {
				st.SetCurrent(addr("a", 0), object("x"), by("a"))
				st.SetCurrent(addr("b", 0), object("x"), by("b"))
				st.SetCurrent(data, object("x"), by("d"))
				for p, text := range map[string]string{"a": "one", "b": "two", "d": "data", "unused": "none"} {
					st.SetProviderConfig(by(p), configured(text))
				}
			})
			revision := query(t, c, "SELECT revision FROM workspace")
			save(`a{"region":"one"} b{"region":"two"}`, func(st *states.State) {
				st.SetProviderConfig(by("unused"), configured("none"))
				st.SetProviderConfig(by("a"), configured("one"))
			})
			if after := query(t, c, "SELECT revision FROM workspace"); after != revision {
				t.Errorf("equal configurations are a change: revision %s, then %s", revision, after)
			}
			save(`a{"region":"three"} b{"region":"two"}`, func(st *states.State) {
				st.SetProviderConfig(by("a"), configured("three"))
			})
			if got := query(t, c, "SELECT since FROM provider_config WHERE document LIKE '%two%' OR since = 1"); got != "1" {
				t.Errorf("a configuration that is the same was written in revision %s", got)
			}
			clear := query(t, c, "SELECT bool_or(document LIKE '%region%') FROM provider_config")
			if clear != fmt.Sprint(target == "") {
				t.Errorf("in clear: %s", clear)
			}
			save(`a{"region":"three"}`, func(st *states.State) {
				st.SetCurrent(addr("b", 0), nil, addrs.ProviderInstance{})
			})

			execute(t, "UPDATE "+table(c, "provider_config")+" SET document = left(document, length(document) - 3)")
			m = open()
			r, err := m.Examine(t.Context())
			if err != nil || r == nil || len(r.Findings) == 0 ||
				!strings.Contains(r.Findings[0], `configuration of provider["registry.opentofu.org/hashicorp/lab"].by["a"]: `) {
				t.Fatalf("a damaged configuration: %v, %v", r, err)
			}
			if _, err := m.WriteRepair(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			m = open()
			if got := regions(t, m); got != "" || read(t, m).State.Instance(addr("a", 0)) == nil {
				t.Errorf("after the repair, stored are %s", got)
			}
		})
	}
}

// TestProvidersOfRuns checks that each step of a run is stored with the configuration of its provider, and
// that runs at the same time keep what the others need.
func TestProvidersOfRuns(t *testing.T) {
	c := config(t)
	first := manager(t, open(t, c))
	read(t, first)
	st := states.New()
	st.SetCurrent(addr("a", 0), object("x"), by("a"))
	st.SetProviderConfig(by("a"), configured("one"))
	if err := first.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	type run struct {
		*statemgr.Manager
		state *states.State
	}
	begin := func(configs map[string]string, writes addrs.AbsInstance) *run {
		t.Helper()
		m := manager(t, open(t, c))
		snap := read(t, m)
		r := &run{m, snap.State.Clone()}
		for p, text := range configs {
			r.state.SetProviderConfig(by(p), configured(text))
		}
		if err := m.Begin(t.Context(), &statemgr.Run{State: r.state, Footprint: footprintOf(snap, writes)}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	step := func(r *run, at addrs.AbsInstance, obj *states.Object, p string) {
		op := statemgr.Operation{Addr: at, Action: plans.Create, Provider: by(p)}
		if obj == nil {
			op.Action = plans.Delete
		}
		r.Started(op)
		r.Stored(at, addrs.NotDeposed, obj, by(p))
		r.state = r.state.Clone()
		r.state.SetCurrent(at, obj, by(p))
	}
	save := func(r *run) {
		t.Helper()
		if err := r.Save(t.Context(), r.state); err != nil {
			t.Fatal(err)
		}
		if err := r.Unlock(); err != nil {
			t.Fatal(err)
		}
	}
	stored := func(want string) {
		t.Helper()
		if got := regions(t, manager(t, open(t, c))); got != want {
			t.Errorf("stored are %s, want %s", got, want)
		}
	}

	// A run removes the last object that it knows of a provider, while another one creates two more, and a
	// third one changes the state without any of these.
	removing := begin(nil, addr("a", 0))
	creating := begin(map[string]string{"a": "one", "new": "two"}, addr("b", 0))
	other := begin(map[string]string{"other": "three"}, addr("c", 0))
	step(creating, addr("b", 0), object("x"), "new")
	stored(`a{"region":"one"} new{"region":"two"}`)
	step(removing, addr("a", 0), nil, "a")
	save(removing)
	stored(`new{"region":"two"}`)
	step(other, addr("c", 0), object("x"), "other")
	save(other)
	stored(`new{"region":"two"} other{"region":"three"}`)
	save(creating)
	stored(`new{"region":"two"} other{"region":"three"}`)

	// A provider whose last object is removed after another run has read its configuration.
	removing = begin(nil, addr("c", 0))
	creating = begin(nil, addr("d", 0))
	step(removing, addr("c", 0), nil, "other")
	save(removing)
	stored(`new{"region":"two"}`)
	step(creating, addr("d", 0), object("x"), "other")
	stored(`new{"region":"two"} other{"region":"three"}`)
	save(creating)

	// A run adds an object to a provider while another one removes the last object that it knows.
	removing = begin(nil, addr("d", 0))
	creating = begin(map[string]string{"other": "four"}, addr("e", 0))
	step(creating, addr("e", 0), object("x"), "other")
	step(removing, addr("d", 0), nil, "other")
	save(removing)
	stored(`new{"region":"two"} other{"region":"four"}`)
	save(creating)
	stored(`new{"region":"two"} other{"region":"four"}`)

	// Whole states.
	s := open(t, c)
	data, err := s.Get(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "copy", data); err != nil {
		t.Fatal(err)
	}
	copied, err := s.Get(t.Context(), "copy")
	if err != nil {
		t.Fatal(err)
	}
	a, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := statefile.Parse(copied)
	if err != nil || !statefile.SameProviders(a.State, b.State) || len(b.State.ProviderConfigs()) != 2 {
		t.Errorf("copied are %v, %v", slices.Collect(maps.Keys(b.State.ProviderConfigs())), err)
	}
	if err := s.Put(t.Context(), "copy", []byte(`{"version":4,"serial":99,"lineage":"other"}`)); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), ws); err != nil {
		t.Fatal(err)
	}
	if n := query(t, c, "SELECT count(*) FROM provider_config"); n != "0" {
		t.Errorf("%s configurations are left", n)
	}
}

// TestProvidersOfRoles checks that roles have the same access as before after the upgrade.
func TestProvidersOfRoles(t *testing.T) {
	c := config(t)
	oldSchema(t, c)
	schema := pgx.Identifier{c.Schema}.Sanitize()
	for v := 2; v <= 5; v++ {
		text, err := os.ReadFile(fmt.Sprintf("schema/%04d.sql", v))
		if err != nil {
			t.Fatal(err)
		}
		execute(t, fmt.Sprintf("SET search_path TO %s; INSERT INTO schema_version VALUES (%d, '1.0.0'); %s", schema, v, text))
	}
	grant := func(name, level string) *postgres.Config {
		as := role(t, c, name)
		execute(t, fmt.Sprintf("SET search_path TO %s; SELECT grant_access('%s', NULL, '%s')", schema, name, level))
		return as
	}
	levels := []string{"write", "state", "views", "outputs"}
	roles := map[string]*postgres.Config{}
	for _, level := range levels {
		roles["early_"+level] = grant("early_"+level, level)
	}
	m := manager(t, open(t, c)) // upgrades the schema
	read(t, m)
	st := m.Current().Clone()
	st.SetCurrent(addr("b", 0), object("x"), by("b"))
	st.SetProviderConfig(by("b"), configured("one"))
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	for _, level := range levels {
		roles["late_"+level] = grant("late_"+level, level)
	}
	for name, as := range roles {
		_, level, _ := strings.Cut(name, "_")
		out, err := rows(t, c, name, "SELECT provider FROM provider_config")
		if may := level == "write" || level == "state"; may != (err == nil) || may != strings.Contains(out, `["b"]`) {
			t.Errorf("%s reads %q, %v", name, out, err)
		}
		m := manager(t, open(t, as))
		snap, err := m.Read(t.Context(), tfdiags.Drop)
		if err != nil {
			continue
		}
		st := snap.State.Clone()
		st.SetProviderConfig(by("b"), configured(name))
		if err := m.Save(t.Context(), st); (err == nil) != (level == "write") {
			t.Errorf("%s writes: %v", name, err)
		}
	}
	if got := regions(t, manager(t, open(t, c))); !strings.Contains(got, "_write") {
		t.Errorf("stored are %s", got)
	}
}
