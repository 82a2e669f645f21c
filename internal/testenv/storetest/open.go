package storetest

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

// Args are the arguments of a backend block.
type Args = map[string]cty.Value

// With returns a copy of args in which the arguments in more are added or replaced.
func With(args Args, more ...Args) Args {
	out := Args{}
	for _, part := range append([]Args{args}, more...) {
		maps.Copy(out, part)
	}
	return out
}

// Open opens the store of a backend with these arguments and an empty environment. The change
// functions may change the decoded configuration first.
func Open(t *testing.T, d *backend.Driver, args Args, change ...func(config any)) (backend.Store, error) {
	t.Helper()
	config := d.Config()
	noEnv := func(string) string { return "" }
	if err := blocks.Decode(cty.ObjectVal(args), config, noEnv, tfdiags.Drop); err != nil {
		return nil, err
	}
	for _, f := range change {
		f(config)
	}
	return d.Open(t.Context(), config)
}

// MustOpen is like Open, but fails the test if the arguments are invalid.
func MustOpen(t *testing.T, d *backend.Driver, args Args, change ...func(config any)) backend.Store {
	t.Helper()
	store, err := Open(t, d, args, change...)
	Check(t, err)
	return store
}

// Check fails the test at once if err isn't nil.
func Check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantHolder fails the test unless err is a *backend.LockedError that names the given holder of the
// lock.
func WantHolder(t *testing.T, err error, who string) {
	t.Helper()
	if locked, ok := errors.AsType[*backend.LockedError](err); !ok || locked.Info == nil || locked.Info.Who != who {
		t.Errorf("error %v, want a lock of %q", err, who)
	}
}

// WantError fails the test unless err contains the text.
func WantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %s", err, text)
	}
}
