package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/encryption"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv/encryptiontest"
	"tofu/internal/tfdiags"
)

const (
	keyA      = "method = method.aes_gcm.a"
	keyB      = "method = method.aes_gcm.b"
	fallbackA = "\nfallback {\nmethod = method.aes_gcm.a\n}"
)

// TestEncryption checks that values are encrypted and addresses are not, that a new key takes
// effect, and that ciphertexts can't be moved to other rows.
func TestEncryption(t *testing.T) {
	c := config(t)
	encrypted := func(methods string) *statemgr.Manager {
		return statemgr.Open(open(t, c), ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir(),
			Codec: encryptiontest.State(t, methods)})
	}
	plain := fill(t, manager(t, open(t, c)), 1) // not encrypted at first
	m := encrypted("method = method.aes_gcm.a\nfallback {\nmethod = method.unencrypted.open\n}")
	snap := read(t, m)
	at := addr("b", 0)
	if err := m.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, at)}); err != nil {
		t.Fatal(err)
	}
	m.Started(statemgr.Operation{Addr: at, Action: plans.Create, Provider: provider,
		Planned: cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("clear-text")})})
	if got := query(t, c, "SELECT count(*) FROM operation WHERE document NOT LIKE '%encrypted_data%'"); got != "0" {
		t.Errorf("%s steps are not encrypted", got)
	}
	m.Stored(at, addrs.NotDeposed, object("clear-text", "a"), provider)
	m.Ended(at, addrs.NotDeposed)
	final := plain.Clone()
	final.SetCurrent(at, object("clear-text", "a"), provider)
	final.SetOutput("o", &states.Output{Value: cty.StringVal("clear-text")})
	if err := m.Save(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	if err := m.Unlock(); err != nil {
		t.Fatal(err)
	}
	if got := query(t, c, "SELECT string_agg(address, ' ') FROM object WHERE NOT encrypted"); got != "lab_object.a[0]" {
		t.Errorf("not encrypted are: %s", got) // the run didn't change this object
	}
	if n, err := open(t, c).Reencrypt(t.Context(), ws, encryptiontest.State(t,
		"method = method.aes_gcm.a\nfallback {\nmethod = method.unencrypted.open\n}")); err != nil || n == 0 {
		t.Errorf("encrypted again: %d, %v", n, err)
	}
	check := func() {
		t.Helper()
		for sql, want := range map[string]string{
			"SELECT count(*) FROM object WHERE encrypted AND attributes IS NULL AND document LIKE '%encrypted_data%'":              "2",
			"SELECT count(*) FROM output WHERE encrypted AND value IS NULL AND document LIKE '%encrypted_data%'":                   "1",
			"SELECT count(*) FROM object WHERE address = 'lab_object.b[0]' AND dependencies = ARRAY['lab_object.a'] COLLATE \"C\"": "1",
		} {
			if got := query(t, c, sql); got != want {
				t.Errorf("%s: %s, want %s", sql, got, want)
			}
		}
	}
	check()
	if _, err := manager(t, open(t, c)).Read(t.Context(), tfdiags.Drop); err == nil ||
		!strings.Contains(err.Error(), "state is encrypted") {
		t.Errorf("reading without a key: %v", err)
	}
	if data, err := open(t, c).Get(t.Context(), ws); err != nil || !encryption.IsEncrypted(data) {
		t.Errorf("the snapshot is %s, %v", data, err)
	}

	// A run with a new key encrypts only what it changes. Other parts keep their old encryption.
	m = encrypted(keyB + fallbackA)
	snap = read(t, m)
	if !statefile.Equal(snap.State, final) {
		t.Error("with the old key as the fallback the state was read differently")
	}
	final = final.Clone()
	final.SetCurrent(at, object("clear-text again", "a"), provider)
	if err := m.Save(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	check()
	if _, err := encrypted(keyB).Read(t.Context(), tfdiags.Drop); err == nil || !strings.Contains(err.Error(), "Output o: ") {
		t.Errorf("reading without the old key: %v", err)
	}
	if _, err := open(t, c).Reencrypt(t.Context(), ws, encryptiontest.State(t, keyB+fallbackA)); err != nil {
		t.Fatal(err)
	}
	check()
	if snap := read(t, encrypted(keyB)); !statefile.Equal(snap.State, final) {
		t.Error("without the old key the state was read differently")
	}

	execute(t, fmt.Sprintf("UPDATE %[1]s SET document = (SELECT document FROM %[1]s WHERE address = 'lab_object.a[0]') "+
		"WHERE address = 'lab_object.b[0]'", table(c, "object")))
	if _, err := encrypted(keyB).Read(t.Context(), tfdiags.Drop); err == nil ||
		!strings.Contains(err.Error(), "tampered") {
		t.Errorf("exchanged rows: %v", err)
	}
}

// TestOneSalt checks that all runs with the same passphrase use the same salt, and so the same key.
// Reading then derives only one key. Rows with several salts can still be read.
func TestOneSalt(t *testing.T) {
	const passphrase = "method = method.aes_gcm.p"
	c := config(t)
	salts := func() string {
		return query(t, c, `SELECT count(DISTINCT document::json ->> 'meta') FROM (SELECT document FROM object
			UNION ALL SELECT document FROM object_history UNION ALL SELECT document FROM output) x`)
	}
	st := states.New()
	for i := range 3 {
		m := encryptedWith(t, c, passphrase)
		if snap := read(t, m); !statefile.Equal(snap.State, st) {
			t.Errorf("before the run %d the state is different", i)
		}
		st = st.Clone()
		st.SetCurrent(addr("a", 0), object(fmt.Sprint("changed by ", i)), provider)
		st.SetCurrent(addr("b", i), object("new"), provider)
		st.SetOutput("o", &states.Output{Value: cty.NumberIntVal(int64(i))})
		if err := m.Save(t.Context(), st); err != nil {
			t.Fatal(err)
		}
		if got := salts(); got != "1" {
			t.Errorf("after the run %d there are %s salts", i, got)
		}
	}

	// A codec that has read nothing generates a new salt.
	text := query(t, c, "SELECT document FROM object WHERE address = 'lab_object.b[1]'")
	plain, _, err := encryptiontest.State(t, passphrase).Decrypt(t.Context(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := encryptiontest.State(t, passphrase).Encrypt(plain)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, fmt.Sprintf("UPDATE %s SET document = '%s' WHERE address = 'lab_object.b[1]'", table(c, "object"), again))
	if got := salts(); got != "2" {
		t.Errorf("after a new salt there are %s", got)
	}
	m := encryptedWith(t, c, passphrase)
	if snap := read(t, m); !statefile.Equal(snap.State, st) {
		t.Error("with two salts the state is different")
	}
	st = st.Clone()
	st.SetCurrent(addr("b", 1), object("changed"), provider)
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	if got := query(t, c, "SELECT count(DISTINCT document::json ->> 'meta') FROM object"); got != "1" {
		t.Errorf("there are %s salts, although most rows have one", got)
	}
	if snap := read(t, encryptedWith(t, c, passphrase)); !statefile.Equal(snap.State, st) {
		t.Error("the state is different")
	}
}

// TestEncryptedOutputs checks that outputs can be read without the objects, by a user who may read
// only outputs.
func TestEncryptedOutputs(t *testing.T) {
	c := config(t)
	codec := encryptiontest.State(t, keyA)
	at := func(c *postgres.Config) *statemgr.Manager {
		return statemgr.Open(open(t, c), ws, &statemgr.Options{DataDir: t.TempDir(), WorkDir: t.TempDir(), Codec: codec})
	}
	m := at(c)
	if snap, err := m.ReadOutputs(t.Context(), tfdiags.Drop); err != nil || snap.Exists {
		t.Errorf("a new workspace: %v, %v", snap, err)
	}
	read(t, m)
	st := states.New()
	st.SetCurrent(addr("a", 0), object("x"), provider)
	st.SetOutput("o", &states.Output{Value: cty.StringVal("secret"), Sensitive: true})
	if err := m.Save(t.Context(), st); err != nil {
		t.Fatal(err)
	}
	reader := role(t, c, "r_reader")
	if _, err := rows(t, c, "", "SELECT grant_access('r_reader', 'default', 'outputs')"); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*postgres.Config{"owner": c, "reader of outputs": reader} {
		snap, err := at(c).ReadOutputs(t.Context(), tfdiags.Drop)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out := snap.State.Output("o"); !snap.Exists || out == nil || out.Value.AsString() != "secret" || !out.Sensitive ||
			snap.State.Instance(addr("a", 0)) != nil {
			t.Errorf("%s: the state has the output %v", name, out)
		}
	}
	if _, err := at(reader).Read(t.Context(), tfdiags.Drop); err == nil {
		t.Error("a reader of outputs can read the state")
	}
}
