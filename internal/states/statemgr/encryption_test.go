package statemgr_test

import (
	"os"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/backend/local"
	"tofu/internal/encryption"
	"tofu/internal/states/statemgr"
	"tofu/internal/testenv/encryptiontest"
	"tofu/internal/tfdiags"
)

func TestEncryption(t *testing.T) {
	setup(t, state("clear-text"))
	opts := &statemgr.Options{Codec: encryptiontest.State(t,
		"method = method.aes_gcm.a\nfallback {\nmethod = method.unencrypted.open\n}")}
	encrypted := func(c *encryption.Target) *statemgr.Manager {
		return statemgr.Open(local.New(nil, nil), ws, &statemgr.Options{Codec: c})
	}
	m := encrypted(opts.Codec.(*encryption.Target))
	begin(t, m, nil)
	m.Started(creating(1))
	m.Stored(addr(1), addrs.NotDeposed, object("journal-text"), provider)
	crash(t)
	check(t, m.Unlock())
	if data, _ := os.ReadFile("terraform.tfstate.journal"); strings.Contains(string(data), "journal-text") ||
		strings.Contains(string(data), "hunter2") {
		t.Errorf("the journal isn't encrypted: %s", data)
	}
	if _, err := open(t).Read(t.Context(), tfdiags.Drop); err == nil ||
		!strings.Contains(err.Error(), "it may be encrypted") {
		t.Errorf("an encrypted journal without a key: %v", err)
	}
	m = encrypted(opts.Codec.(*encryption.Target))
	begin(t, m, nil)
	check(t, m.Save(t.Context(), state("clear-text", "journal-text")))
	check(t, m.Unlock())
	data, err := os.ReadFile("terraform.tfstate")
	if err != nil || strings.Contains(string(data), "-text") ||
		!strings.HasPrefix(string(data), "{\n  \"serial\": 6,\n  \"lineage\": \"l\",\n  \"meta\": {},\n") ||
		!strings.HasSuffix(string(data), "\"v0\"\n}\n") {
		t.Errorf("%v\n%s", err, data)
	}
	if _, err := open(t).Read(t.Context(), tfdiags.Drop); err == nil ||
		!strings.Contains(err.Error(), "the state is encrypted") {
		t.Errorf("an encrypted state without a key: %v", err)
	}

	// A run without changes rewrites the state if its key is outdated, but only then.
	for _, methods := range []string{"method = method.aes_gcm.b\nfallback {\nmethod = method.aes_gcm.a\n}",
		"method = method.aes_gcm.b"} {
		before, _ := os.ReadFile("terraform.tfstate")
		m = encrypted(encryptiontest.State(t, methods))
		begin(t, m, nil)
		check(t, m.Save(t.Context(), state("clear-text", "journal-text")))
		check(t, m.Unlock())
		after, _ := os.ReadFile("terraform.tfstate")
		if rewritten := string(before) != string(after); rewritten != strings.Contains(methods, "fallback") {
			t.Errorf("%s: rewritten: %v", methods, rewritten)
		}
	}
}
