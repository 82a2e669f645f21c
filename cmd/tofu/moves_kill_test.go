package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestKilledMoves kills moves of objects between two root modules at random times. After each kill, every
// object is in exactly one state, or both states record it as moving. After the next command in either root
// module, every object is in exactly one state, and the move can be repeated.
//
// MOVE_KILLS=N sets the number of moves.
func TestKilledMoves(t *testing.T) {
	t.Run("local", func(t *testing.T) { testKilledMoves(t) })
	t.Run("mixed", func(t *testing.T) { testKilledMoves(t, "left") })
	t.Run("postgres", func(t *testing.T) { testKilledMoves(t, "left", "right") })
}

// testKilledMoves kills moves between two root modules. The states of those in databases are in PostgreSQL, and
// encrypted.
func testKilledMoves(t *testing.T, databases ...string) {
	url := os.Getenv("TEST_POSTGRES_URL")
	if url == "" && len(databases) > 0 {
		if os.Getenv("REQUIRE_SERVICES") != "" {
			t.Fatal("TEST_POSTGRES_URL is not set")
		}
		t.Skip("TEST_POSTGRES_URL is not set")
	}
	kills := 4
	if text := os.Getenv("MOVE_KILLS"); text != "" {
		var err error
		if kills, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(48, 0))
	e := &testEstate{T: t}
	m := &killedMoves{testEstate: e, dir: t.TempDir(), databases: databases}
	for _, name := range databases {
		m.inPostgres(url, name)
	}
	m.write("left", "right")
	all := m.states()["left"].objects
	if len(all) != movedObjects {
		t.Fatalf("%d objects at first, want %d", len(all), movedObjects)
	}
	m.write("right", "left") // the configuration of after the move
	e.tofu(m.dir, 0, "roots", "init")
	start := time.Now()
	e.tofu(m.dir, 0, "roots", "move")
	whole := time.Since(start)
	from, to := "right", "left"
	killed, moving := 0, 0
	for n := range kills {
		m.write(to, from)
		watch, longest := "", whole
		if n%4 != 0 && !slices.Contains(databases, "right") { // most kills are between the first write of a local state and the last one
			watch, longest = filepath.Join(m.dir, "right", "terraform.tfstate"), whole/3
		}
		if m.kill(watch, time.Duration(random.Int64N(int64(longest)))) {
			killed++
		}
		moving += m.check(all, true)
		// Any command that locks one of the states finishes the move, or undoes it.
		side := []string{from, to}[random.IntN(2)]
		e.tofu(filepath.Join(m.dir, side), 0, "state", "mv", "-dry-run", `terraform_data.own`, `terraform_data.other`)
		m.check(all, false)
		e.tofu(m.dir, 0, "roots", "move")
		if got := m.states()[to].objects; !slices.Equal(got, all) {
			t.Fatalf("after the move, %s has %d objects, want all %d", to, len(got), len(all))
		}
		e.tofu(m.dir, 0, "roots", "plan", "-detailed-exitcode")
		from, to = to, from
	}
	t.Logf("%d moves were killed; after %d of them, both states recorded the objects as moving", killed, moving)
}

// The objects that move: instances of a resource, each by an element of for_each, and those in the instance of a
// module whose key differs between the root modules.
const (
	movedAlone   = 100
	movedInside  = 50
	movedObjects = movedAlone + movedInside
)

type killedMoves struct {
	*testEstate
	dir       string
	databases []string // the root modules whose states are in PostgreSQL
	began     bool     // the objects are created
}

// write writes the configurations of two root modules. The first one has the moving objects.
func (m *killedMoves) write(with, without string) {
	own := "resource \"terraform_data\" \"own\" {}\n"
	all := "resource \"terraform_data\" \"all\" {\n  count = %d\n}\n"
	block := fmt.Sprintf(own+all+"module \"m\" {\n  source   = \"../mod\"\n  for_each = toset([%q])\n}\n", movedAlone, with)
	move := fmt.Sprintf("moved {\n  for_each = range(%d)\n  from     = root[%q].terraform_data.all[each.value]\n"+
		"  to       = terraform_data.all[each.value]\n}\nmoved {\n  from = root[%q].module.m[%[2]q]\n  to   = module.m[%[4]q]\n}\n",
		movedAlone, without, without, with)
	for name, text := range map[string]string{with: block + move, without: own, "mod": fmt.Sprintf(all, movedInside)} {
		dir := filepath.Join(m.dir, name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			m.Fatal(err)
		}
		if !m.began {
			text = strings.TrimSuffix(text, move) // the first time, there is nothing to move
		}
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o644); err != nil {
			m.Fatal(err)
		}
	}
	if !m.began {
		m.began = true
		m.tofu(m.dir, 0, "roots", "init")
		m.tofu(m.dir, 0, "roots", "apply", "-auto-approve")
	}
}

// inPostgres writes the backend, with a schema of its own, and the encryption of a root module.
func (m *killedMoves) inPostgres(url, name string) {
	schema := fmt.Sprintf("killed_moves_%d_%s", os.Getpid(), name)
	m.Cleanup(func() {
		if err := dropSchema(context.Background(), url, schema); err != nil {
			m.Error(err)
		}
	})
	text := fmt.Sprintf(`terraform {
  backend "postgres" {
    schema_name = %q
  }
  encryption {
    key_provider "pbkdf2" "k" {
      passphrase = "correct horse battery"
      iterations = 200000
    }
    method "aes_gcm" "m" { keys = key_provider.pbkdf2.k }
    state { method = method.aes_gcm.m }
  }
}
`, schema)
	m.Setenv("PG_CONN_STR", url)
	if err := os.MkdirAll(filepath.Join(m.dir, name), 0o755); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.dir, name, "backend.tf"), []byte(text), 0o644); err != nil {
		m.Fatal(err)
	}
}

// kill runs a move and kills it some time after it has begun to write a file, or after its start if the
// path is "". It returns false if the move ended before.
func (m *killedMoves) kill(path string, after time.Duration) bool {
	before, _ := os.Stat(path)
	cmd := exec.Command("tofu", "roots", "move")
	cmd.Dir = m.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TF_") }),
		"TF_CLI_CONFIG_FILE="+os.DevNull, "TF_IN_AUTOMATION=1")
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	for start := time.Now(); path != "" && time.Since(start) < 10*time.Second; {
		if now, err := os.Stat(path); err == nil && !os.SameFile(before, now) {
			break
		}
	}
	time.Sleep(after)
	if err := cmd.Process.Kill(); err != nil {
		return false
	}
	return cmd.Wait() != nil
}

// movingState lists the moving objects that a state has.
type movingState struct {
	objects  []string // their IDs, sorted
	recorded []string // the IDs in records of objects that leave or arrive, sorted
}

// state returns the state file of a root module.
func (m *killedMoves) state(name string) []byte {
	if slices.Contains(m.databases, name) {
		cmd := exec.Command("tofu", "state", "pull")
		cmd.Dir = filepath.Join(m.dir, name)
		data, err := cmd.Output()
		if err != nil {
			m.Fatal(err)
		}
		return data
	}
	data, err := os.ReadFile(filepath.Join(m.dir, name, "terraform.tfstate"))
	if err != nil {
		m.Fatal(err)
	}
	return data
}

func (m *killedMoves) states() map[string]movingState {
	out := make(map[string]movingState)
	for _, name := range []string{"left", "right"} {
		data := m.state(name)
		type object struct{ Attributes struct{ ID string } }
		var file struct {
			Resources []struct {
				Name      string
				Instances []object
			}
			InDoubt []struct{ Moving struct{ Object object } } `json:"in_doubt"`
		}
		if err := json.Unmarshal(data, &file); err != nil {
			m.Fatal(err)
		}
		var st movingState
		for _, r := range file.Resources {
			for _, o := range r.Instances {
				if r.Name == "all" {
					st.objects = append(st.objects, o.Attributes.ID)
				}
			}
		}
		for _, step := range file.InDoubt {
			if id := step.Moving.Object.Attributes.ID; id != "" {
				st.recorded = append(st.recorded, id)
			}
		}
		slices.Sort(st.objects)
		slices.Sort(st.recorded)
		out[name] = st
	}
	return out
}

// check fails the test unless each object is in exactly one state or, if that is allowed, in records of both. It
// returns 1 if they are in records.
func (m *killedMoves) check(all []string, moving bool) int {
	m.Helper()
	states := m.states()
	left, right := states["left"], states["right"]
	held := slices.Concat(left.objects, right.objects)
	slices.Sort(held)
	switch {
	case slices.Equal(held, all):
		return 0
	case len(held) == 0 && moving && slices.Equal(left.recorded, all) && slices.Equal(right.recorded, all):
		return 1
	}
	m.Fatalf("objects are lost or doubled: left has %d and records %d, right has %d and records %d, of %d",
		len(left.objects), len(left.recorded), len(right.objects), len(right.recorded), len(all))
	return 0
}
