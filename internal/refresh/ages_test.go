package refresh_test

import (
	"testing"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/refresh"
	"tofu/internal/states"
)

// TestAgesOfTwoRuns checks that a run writes only what it has read itself, so that runs of a workspace
// at the same time lose nothing, and that runs forget what they know to be gone, and nothing else.
func TestAgesOfTwoRuns(t *testing.T) {
	addr := func(name string) addrs.AbsInstance {
		return addrs.AbsInstance{Resource: addrs.Resource{Mode: addrs.Managed, Type: "fake_thing", Name: name}}
	}
	state := func(names ...string) *states.State {
		st := states.New()
		for _, name := range names {
			st.SetCurrent(addr(name), &states.Object{Attrs: []byte("{}"), Status: states.Ready}, addrs.ProviderInstance{})
		}
		return st
	}
	start := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	load := func(document []byte) *refresh.Ages {
		t.Helper()
		ages := &refresh.Ages{}
		if document != nil {
			if err := ages.Load(document, "w", "line", start.Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		return ages
	}
	read := func(ages *refresh.Ages, name string, after time.Duration) {
		ages.Observe(engine.RefreshDone{Object: engine.Object{Addr: addr(name)}}, start.Add(after))
	}
	save := func(ages *refresh.Ages, previous []byte, st *states.State) []byte {
		t.Helper()
		text, err := ages.Encode(previous, "w", "line", st, start.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	first := load(nil)
	for _, name := range []string{"both", "one", "two", "drifted", "gone"} {
		read(first, name, 0)
	}
	document := save(first, nil, state("both", "one", "two", "drifted", "gone"))

	one, two := load(document), load(document)
	read(one, "both", 2*time.Minute)
	read(one, "one", 2*time.Minute)
	one.Forget([]string{"fake_thing.drifted"})
	read(two, "both", time.Minute)
	read(two, "two", time.Minute)
	read(two, "new", time.Minute) // the other run does not know it
	document = save(two, document, state("both", "one", "two", "drifted", "gone", "new"))
	document = save(one, document, state("both", "one", "two", "drifted")) // this one has destroyed it
	end := load(document)
	for name, want := range map[string]time.Duration{"both": 2 * time.Minute, "one": 2 * time.Minute, "two": time.Minute,
		"new": time.Minute, "drifted": -1, "gone": -1} {
		at, known := end.At("fake_thing." + name)
		if known != (want >= 0) || known && !at.Equal(start.Add(want)) {
			t.Errorf("%s: %s, %t, want %s", name, at, known, want)
		}
	}
	if unread := load(document); unread.Changed() {
		t.Error("ages that were only loaded count as changed")
	}

	// A wrong clock does not keep later times out.
	ahead := load(nil)
	read(ahead, "one", 24*time.Hour)
	document, _ = ahead.Encode(nil, "w", "line", state("one"), start.Add(24*time.Hour))
	again := load(document)
	read(again, "one", time.Minute)
	if at, known := load(save(again, document, state("one"))).At("fake_thing.one"); !known || !at.Equal(start.Add(time.Minute)) {
		t.Errorf("after a time from the future: %s, %t", at, known)
	}
}
