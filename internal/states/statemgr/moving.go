package statemgr

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// Moving says where an object moves that is on its way from one state to another. Both states record it,
// so that the next run on either side can finish the move:
//
//  1. The target records the object as arriving. Only the source has it.
//  2. The source no longer has the object and records it as leaving. This one write decides the move.
//  3. The target has the object, and records that it has arrived.
//  4. The source, then the target, remove their records.
//
// A target whose source records nothing has nothing to wait for: the move was not decided, or it is done.
type Moving struct {
	ID    string      `json:"id"` // of the move; equal in both states
	Phase MovingPhase `json:"phase"`
	Peer  Peer        `json:"peer"`
	// Object is the encoded object. An object that has arrived is in the state instead.
	Object json.RawMessage `json:"object,omitempty"`
}

// MovingPhase says how far a move is, as the state with the record knows.
type MovingPhase string

const (
	Arriving MovingPhase = "arriving"
	Leaving  MovingPhase = "leaving"
	Arrived  MovingPhase = "arrived"
)

// Peer identifies the root module on the other side of a move.
//
// Directories are relative to that of the root module with the record.
type Peer struct {
	Root    string   `json:"root"`    // its name in the estate
	Dir     string   `json:"dir"`     // its directory
	Estate  []string `json:"estate"`  // the directories below which the estate was found
	Lineage string   `json:"lineage"` // of its state
}

// ObjectOnTheWay is an object that leaves a state or arrives in it.
type ObjectOnTheWay struct {
	ObjectID
	Object   *states.Object
	Provider addrs.ProviderInstance
}

// Between returns the objects that one state has and another lacks, sorted. The two are the states of a
// workspace before and after objects leave, or after and before they arrive.
func Between(with, without *states.State) []ObjectOnTheWay {
	var out []ObjectOnTheWay
	for id, place := range allObjects(with) {
		if find(without, id) == nil {
			out = append(out, ObjectOnTheWay{id, place.obj, place.provider})
		}
	}
	slices.SortFunc(out, func(a, b ObjectOnTheWay) int { return a.Addr.Compare(b.Addr) })
	return out
}

// Record returns the record of an object in some phase.
func (o *ObjectOnTheWay) Record(id string, phase MovingPhase, peer Peer) (Operation, error) {
	m := &Moving{ID: id, Phase: phase, Peer: peer}
	var err error
	if phase != Arrived {
		m.Object, err = statefile.EncodeObject(o.Object)
	}
	return Operation{Addr: o.Addr, Deposed: o.Deposed, Provider: o.Provider, Moving: m}, err
}

// Arrive adds the objects of arriving records to a state. It returns an error, and changes nothing, if
// the state has other objects at their addresses.
func Arrive(st *states.State, records []Operation) error {
	objects := make([]*states.Object, len(records))
	for i, op := range records {
		var err error
		if objects[i], err = statefile.ParseObject(op.Moving.Object); err != nil {
			return fmt.Errorf("%s, which is moving: %w", op.Addr, err)
		}
		if there := find(st, op.id()); there != nil && !statefile.SameObject(there, objects[i]) {
			return tfdiags.Errorf("A moving object can't arrive", "%s is moving here from the root module %s, but the "+
				"state has another object at this address by now. Move that one away with \"tofu state mv\", and run the "+
				"command again.", op.Addr, op.Moving.Peer.Root)
		}
	}
	for i, op := range records {
		set(st, op.id(), objects[i], op.Provider)
	}
	return nil
}

// HasAny reports whether a state has, at any address, an object with the identity of one in the records.
func HasAny(st *states.State, records []Operation) bool {
	present := make(map[states.ObjectIdentity]bool)
	for id, place := range allObjects(st) {
		if identity, ok := place.obj.Identify(place.provider.Config.Provider, id.Addr.Resource.Type); ok {
			present[identity] = true
		}
	}
	return slices.ContainsFunc(records, func(op Operation) bool {
		obj, err := statefile.ParseObject(op.Moving.Object)
		if err != nil {
			return false
		}
		identity, ok := obj.Identify(op.Provider.Config.Provider, op.Addr.Resource.Type)
		return ok && present[identity]
	})
}

// SaveMoving writes the state, as Save does, and replaces the records of moves, by the ID of the move. The
// records and the objects change in one write.
func (m *Manager) SaveMoving(ctx context.Context, final *states.State, moves map[string][]Operation) error {
	m.doubts.replaceMoving(moves)
	return m.Save(ctx, final)
}

// Moving returns the records of moves, those of one move after the other.
func (m *Manager) Moving() []Operation {
	return slices.DeleteFunc(m.doubts.list(), func(op Operation) bool { return op.Moving == nil })
}

// replaceMoving replaces the records of moves.
func (d *doubts) replaceMoving(moves map[string][]Operation) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known, d.settled, d.was = cloned(d.known), cloned(d.settled), cloned(d.was)
	for at, op := range d.known {
		if op.Moving != nil {
			if _, replaced := moves[op.Moving.ID]; replaced {
				d.settled[at] = true
			}
		}
	}
	now := time.Now().UTC()
	for _, records := range moves {
		for _, op := range records {
			op.Started = now
			delete(d.settled, op.id())
			d.known[op.id()], d.was[op.id()] = op, op.id() // recorded again; see moved
		}
	}
}

// cloned returns a copy of a map that may be nil.
func cloned[V any](m map[ObjectID]V) map[ObjectID]V {
	out := make(map[ObjectID]V, len(m))
	maps.Copy(out, m)
	return out
}

// withoutMoves returns the steps without the records of moves, which are not steps.
func withoutMoves(ops []Operation) []Operation {
	return slices.DeleteFunc(slices.Clone(ops), func(op Operation) bool { return op.Moving != nil })
}
