package postgres_test

import (
	"testing"

	"tofu/internal/states/statemgr"
)

// TestUnused checks that Unused reports a run in progress, and a run that has ended since the state
// was read.
func TestUnused(t *testing.T) {
	c := config(t)
	s := open(t, c)
	fill(t, manager(t, s), 2)
	reader, writer := manager(t, s), manager(t, s)
	read(t, reader)
	if err := reader.Unused(t.Context()); err != nil {
		t.Errorf("without other runs: %v", err)
	}
	if err := writer.Lock(t.Context(), "OperationTypeApply", 0, nil); err != nil {
		t.Fatal(err)
	}
	snap, at := read(t, writer), addr("a", 0)
	if err := writer.Begin(t.Context(), &statemgr.Run{State: snap.State, Footprint: footprintOf(snap, at)}); err != nil {
		t.Fatal(err)
	}
	if held := lockedBy(reader.Unused(t.Context())); held == nil || held.Operation != "OperationTypeApply" {
		t.Errorf("during a run: %v", held)
	}
	final := snap.State.Clone()
	final.SetCurrent(at, object("changed"), provider)
	if err := writer.Save(t.Context(), final); err != nil {
		t.Fatal(err)
	}
	if err := writer.Unlock(); err != nil {
		t.Fatal(err)
	}
	if changed := changedBy(reader.Unused(t.Context())); changed == nil || changed.Operation != "OperationTypeApply" {
		t.Errorf("after a run: %v", changed)
	}
	read(t, reader)
	if err := reader.Unused(t.Context()); err != nil {
		t.Errorf("after reading again: %v", err)
	}
}
