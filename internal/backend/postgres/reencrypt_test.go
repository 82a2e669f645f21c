package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv/encryptiontest"
	"tofu/internal/tfdiags"
)

// encryptedWith returns a manager whose state is encrypted.
func encryptedWith(t *testing.T, c *postgres.Config, target string) *statemgr.Manager {
	t.Helper()
	return statemgr.Open(open(t, c), ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir(),
		Codec: encryptiontest.State(t, target)})
}

// stopping is a codec that fails after a number of documents, as if the process was killed.
type stopping struct {
	statemgr.Codec
	left atomic.Int32
}

var errStopped = errors.New("stopped")

func (s *stopping) Encrypt(plain []byte) ([]byte, error) {
	if s.left.Add(-1) < 0 {
		return nil, errStopped
	}
	return s.Codec.Encrypt(plain)
}

// withKeys returns, for each table, the number of rows that can be decrypted with target, and the
// number of those that can't.
func withKeys(t *testing.T, c *postgres.Config, target string) map[string][2]int {
	t.Helper()
	codec := encryptiontest.State(t, target)
	out := map[string][2]int{}
	for _, table := range []string{"object", "object_history", "output", "output_history", "check_result", "provider_config",
		"operation"} {
		documents, err := rows(t, c, "", "SELECT document FROM "+table)
		if err != nil {
			t.Fatal(err)
		}
		var n [2]int
		for line := range strings.Lines(documents) {
			if _, _, err := codec.Decrypt(t.Context(), []byte(line)); err == nil {
				n[0]++
			} else {
				n[1]++
			}
		}
		out[table] = n
	}
	return out
}

// TestReencrypt checks that a key can be replaced while a run changes objects, that an interrupted
// replacement can be continued, and that afterwards nothing needs the old key.
func TestReencrypt(t *testing.T) {
	c := config(t)
	const size = 1200 // more than two pages
	m := encryptedWith(t, c, keyA)
	read(t, m)
	st := states.New()
	for i := range size {
		st.SetCurrent(addr("a", i), object(fmt.Sprint(i)), provider)
	}
	st.SetOutput("o", &states.Output{Value: cty.StringVal("first")})
	st.SetProviderConfig(provider, configured("one"))
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	st = st.Clone()
	for i := range 30 { // create earlier versions
		st.SetCurrent(addr("a", i), object(fmt.Sprint("second ", i)), provider)
	}
	st.SetOutput("o", &states.Output{Value: cty.StringVal("second")})
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	// A run that is killed leaves a step that never ended.
	lost := open(t, c).NewRun(ws, encryptiontest.State(t, keyA), statemgr.NewLockInfo("apply"))
	snap := read(t, encryptedWith(t, c, keyA))
	if err := lost.Claim(t.Context(), footprintOf(snap, addr("b", 0))); err != nil {
		t.Fatal(err)
	}
	if err := lost.Start(t.Context(), func() []*statemgr.Operation {
		return []*statemgr.Operation{{Addr: addr("b", 0), Action: plans.Create, Provider: provider}}
	}); err != nil {
		t.Fatal(err)
	}

	// A run with the new key is in progress.
	current := encryptedWith(t, c, keyB+fallbackA)
	snap = read(t, current)
	if err := current.Begin(t.Context(), &statemgr.Run{State: snap.State,
		Footprint: footprintOf(snap, addr("a", 0), addr("a", size-1), addr("a", size))}); err != nil {
		t.Fatal(err)
	}
	change := func(i int) {
		current.Started(statemgr.Operation{Addr: addr("a", i), Action: plans.Update, Provider: provider})
		st.SetCurrent(addr("a", i), object("changed"), provider)
		current.Stored(addr("a", i), addrs.NotDeposed, object("changed"), provider)
	}
	st = st.Clone()
	change(0)

	codec := &stopping{Codec: encryptiontest.State(t, keyB+fallbackA)}
	codec.left.Store(700)
	written, err := open(t, c).Reencrypt(t.Context(), ws, codec)
	if !errors.Is(err, errStopped) || written != 499 { // the run has changed the first object, so its row isn't written
		t.Errorf("stopped: %d, %v", written, err)
	}
	if n := withKeys(t, c, keyB)["object"]; n != [2]int{500, size - 500} {
		t.Errorf("with the new and the old key are %v objects", n)
	}
	if got := read(t, encryptedWith(t, c, keyB+fallbackA)); !statefile.Equal(got.State, st) {
		t.Error("with both keys the state is different")
	}
	change(size - 1)
	change(size)

	again := &stopping{Codec: codec.Codec}
	again.left.Store(10 * size)
	if _, err := open(t, c).Reencrypt(t.Context(), ws, again); err != nil {
		t.Fatal(err)
	}
	for table, n := range withKeys(t, c, keyB) {
		if n[1] != 0 || n[0] == 0 && table != "check_result" {
			t.Errorf("table %s: %d rows with the new key, %d with the old one", table, n[0], n[1])
		}
	}
	if err := current.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	if err := current.Unlock(); err != nil {
		t.Fatal(err)
	}

	// All versions still exist, and the run that was killed is still known.
	revisions := query(t, c, "SELECT count(*) FROM revision")
	after := encryptedWith(t, c, keyB)
	if got := read(t, after); !statefile.Equal(got.State, st) {
		t.Error("with the new key the state is different")
	}
	for sql, want := range map[string]string{
		"SELECT count(*) FROM object":         fmt.Sprint(size + 1),
		"SELECT count(*) FROM object_history": "32",
		"SELECT count(*) FROM output_history": "1",
	} {
		if got := query(t, c, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if n, err := open(t, c).Reencrypt(t.Context(), ws, codec.Codec); n != 0 || err != nil {
		t.Errorf("once more: %d, %v", n, err)
	}
	if got := query(t, c, "SELECT count(*) FROM revision"); got != revisions {
		t.Errorf("there are %s revisions, and %s before", got, revisions)
	}
	_ = lost.Close(t.Context())
}

// TestDecrypt checks that values appear in queries again after encryption is removed.
func TestDecrypt(t *testing.T) {
	c := config(t)
	m := encryptedWith(t, c, keyA)
	read(t, m)
	st := states.New()
	st.SetCurrent(addr("a", 0), object("x"), provider)
	st.SetOutput("o", &states.Output{Value: cty.StringVal("open")})
	st.SetOutput("s", &states.Output{Value: cty.StringVal("hidden"), Sensitive: true})
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	plain := config(t)
	plainState := manager(t, open(t, plain))
	read(t, plainState)
	if err := plainState.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	codec := encryptiontest.State(t, "method = method.unencrypted.open"+fallbackA)
	if n, err := open(t, c).Reencrypt(t.Context(), ws, codec); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	for _, sql := range []string{"SELECT string_agg(attributes::text || document, ' ') FROM object",
		"SELECT string_agg(name || coalesce(value::text, '-') || document, ' ' ORDER BY name) FROM output",
		"SELECT bool_or(encrypted) FROM (SELECT encrypted FROM object UNION ALL SELECT encrypted FROM output) x"} {
		if got, want := query(t, c, sql), query(t, plain, sql); got != want {
			t.Errorf("%s: %s, want %s", sql, got, want)
		}
	}
	if got := read(t, manager(t, open(t, c))); !statefile.Equal(got.State, st) {
		t.Error("the state is different")
	}
}

// TestOutdatedWarning checks that a state that still needs a fallback is reported.
func TestOutdatedWarning(t *testing.T) {
	c := config(t)
	m := encryptedWith(t, c, keyA)
	read(t, m)
	st := states.New()
	st.SetCurrent(addr("a", 0), object("x"), provider)
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	warned := func() (found bool) {
		if _, err := encryptedWith(t, c, keyB+fallbackA).Read(t.Context(), func(all ...tfdiags.Diagnostic) {
			for _, d := range all {
				found = found || strings.Contains(d.Detail, "tofu state reencrypt")
			}
		}); err != nil {
			t.Error(err)
		}
		return found
	}
	if !warned() {
		t.Error("no warning")
	}
	if _, err := open(t, c).Reencrypt(context.Background(), ws, encryptiontest.State(t, keyB+fallbackA)); err != nil {
		t.Fatal(err)
	}
	if warned() {
		t.Error("a warning afterwards")
	}
}
