package statemgr

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/ages"
)

// A Historian is a ledger that keeps earlier versions of what it stores.
type Historian interface {
	// Moment finds a moment of a workspace: the end of the run whose ID begins with the text, or
	// the latest revision at a time.
	Moment(ctx context.Context, workspace, text string) (*Moment, error)
	// LoadStateAt returns the state as of a moment, without results of checks, which have no
	// history. codec may be nil.
	LoadStateAt(ctx context.Context, workspace string, at *Moment, codec Codec) (*Loaded, error)
	// Turnover returns which objects runs have created and destroyed since a moment.
	Turnover(ctx context.Context, workspace string, since *Moment) (*Turnover, error)
	// RunChanges returns the latest runs that changed the workspace, newest first: at most limit of
	// them, or all if limit is 0.
	RunChanges(ctx context.Context, workspace string, limit int) ([]RunChange, error)
	// PartChanges returns the latest changes of an output, or of the instances at or below an
	// address, newest first: at most limit of them, or all if limit is 0.
	PartChanges(ctx context.Context, workspace string, part Part, limit int) ([]PartChange, error)
	// Vacuum removes the earlier versions that were replaced longer ago than the duration keep.
	Vacuum(ctx context.Context, workspace string, keep time.Duration) (*Vacuumed, error)
	// Keep returns how long the settings of the store keep earlier versions, or 0 if they don't set
	// a limit.
	Keep() time.Duration
}

// Moment identifies an earlier state of a workspace.
type Moment struct {
	Revision uint64
	Serial   uint64
	At       time.Time // time of the revision
	Run      string    // the ID of the run, if the moment is the end of one
}

// Turnover lists the objects that runs have created and destroyed since a moment. Any other object
// that appeared or disappeared was imported, moved, removed only from the state, or deleted outside
// of this program.
type Turnover struct {
	// Created has the instances whose present objects runs have created, by their present
	// addresses.
	Created map[addrs.AbsInstance]bool
	// Destroyed has the instances whose objects runs have destroyed, there or where the objects had
	// moved to. Of several objects of an instance, only the first one that left it counts.
	Destroyed map[addrs.AbsInstance]bool
}

// ByRun says which run changed something, and when.
type ByRun struct {
	At        time.Time `json:"at"` // when the change was made; in a RunChange, when the run started
	Run       string    `json:"run"`
	Operation string    `json:"operation"`
	Who       string    `json:"who"`
}

// RunChange is a run with the numbers of its changes of objects and outputs.
type RunChange struct {
	ByRun
	Outcome string `json:"outcome"` // "" while it is running
	Created int    `json:"created"`
	Updated int    `json:"updated"`
	Deleted int    `json:"deleted"`
}

// A RunHistorian knows which objects single runs have changed.
type RunHistorian interface {
	// RunParts returns the objects that a run changed, and how they were before it. run is the beginning
	// of its ID.
	RunParts(ctx context.Context, workspace, run string) (*RunParts, error)
}

// RunParts says which objects a run changed.
type RunParts struct {
	Run    string  // its ID
	Before *Moment // the last revision before the run; nil if the state was empty
	// Changed has the instances whose current objects the run changed.
	Changed []addrs.AbsInstance
	// Later has changes of these instances by other runs since then, the first ones first.
	Later []PartChange
}

// Part names an output, or objects by the address of a module, a resource or an instance.
type Part struct {
	Output  string // "" for objects
	Address string
}

// PartChange is a change of an object or output. Before and After are the old and the new value as
// JSON, without sensitive values. Each is nil if there is no such value or it can't be shown.
type PartChange struct {
	ByRun
	Address string          `json:"address"`
	Deposed string          `json:"deposed,omitempty"`
	Action  string          `json:"action"` // create, update or delete
	Before  json.RawMessage `json:"before"`
	After   json.RawMessage `json:"after"`
}

// Attributes returns the sorted names of the attributes that an update changed. It leaves out
// attributes that can't be shown.
func (c *PartChange) Attributes() []string {
	var before, after map[string]json.RawMessage
	if json.Unmarshal(c.Before, &before) != nil || json.Unmarshal(c.After, &after) != nil {
		return nil
	}
	changed := map[string]bool{}
	for _, attributes := range []map[string]json.RawMessage{before, after} {
		for name := range attributes {
			changed[name] = !bytes.Equal(before[name], after[name])
		}
	}
	maps.DeleteFunc(changed, func(_ string, differs bool) bool { return !differs })
	return slices.Sorted(maps.Keys(changed))
}

// Vacuumed says what Vacuum has removed.
type Vacuumed struct {
	Versions int       // number of removed versions of objects and outputs
	Since    time.Time // start of the remaining history; zero if the history is complete
}

// ParseKeep parses how long earlier versions are kept, such as "90d". An empty string means 0.
func ParseKeep(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return ages.Parse(text)
}
