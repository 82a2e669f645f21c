package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/outputuse"
	"tofu/internal/plans"
	"tofu/internal/states/statemgr"
)

// remoteRead describes the outputs that a data source has read from another state in a
// statemgr.Ledger.
type remoteRead struct {
	data      addrs.AbsInstance
	settings  *BackendSettings
	workspace string
	revision  uint64
	outputs   map[string]cty.Value
}

// remoteReads collects the reads of one plan. Its methods are safe for concurrent use.
type remoteReads struct {
	mu   sync.Mutex
	list []*remoteRead
}

func (r *remoteReads) add(read *remoteRead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, read)
}

// take returns the reads, sorted by data source, and empties the list.
func (r *remoteReads) take() []*remoteRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	slices.SortStableFunc(list, func(x, y *remoteRead) int { return x.data.Compare(y.data) })
	return list
}

// remoteUse returns the remote outputs on which a plan depends: those that its data sources have
// read and that the configuration uses. It ignores data sources on which no change in the plan
// depends.
func (op *Operation) remoteUse(reads []*remoteRead, f *plans.Footprint) ([]plans.RemoteRead, error) {
	matter := map[addrs.ConfigResource]bool{}
	for _, addr := range f.Wholes {
		matter[addr] = true
	}
	for _, addr := range f.Reads {
		matter[addr.Config()] = true
	}
	used := map[addrs.Module]map[string]outputuse.Set{}
	var out []plans.RemoteRead
	for _, read := range reads {
		if !matter[read.data.Config()] {
			continue
		}
		path := read.data.Module.Module()
		if used[path] == nil {
			used[path] = outputuse.Find(op.Session.Parser, op.Config.Config.Descendant(path).Module)
		}
		config, err := ctyjson.Marshal(read.settings.Config, read.settings.Config.Type())
		if err != nil {
			return nil, fmt.Errorf("encoding the backend settings of %s: %w", read.data, err)
		}
		set := used[path][read.data.Resource.Name]
		names := set.Names
		if set.All {
			names = slices.Sorted(maps.Keys(read.outputs))
		}
		missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, there := read.outputs[name]
			return there
		})
		out = append(out, plans.RemoteRead{Data: read.data, Backend: read.settings.Driver.Name, Config: config,
			OutputsRead: plans.OutputsRead{Workspace: read.workspace, Revision: read.revision, Names: names,
				All: set.All, Missing: missing}})
	}
	return out, nil
}

// claimed returns the footprint of a plan, including the outputs that the plan has read from other
// workspaces in the same store. If the plan has no footprint, the result is nil. If the plan has
// read an output from another store that is a ledger, and the output has changed since, claimed
// returns an error.
func (op *Operation) claimed(ctx context.Context, plan *plans.Plan) (*plans.Footprint, error) {
	if len(plan.Remote) == 0 {
		return plan.Footprint, nil
	}
	own, shared := op.Location.Store.(statemgr.Ledger)
	out := &plans.Footprint{}
	if plan.Footprint != nil {
		*out = *plan.Footprint
	}
	for i := range plan.Remote {
		claim := func(store backend.Store) bool {
			same := shared && own.Holds(store)
			if same {
				out.Foreign = append(out.Foreign, plan.Remote[i].OutputsRead)
			}
			return same
		}
		if err := op.checkRemote(ctx, &plan.Remote[i], claim); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(out.Foreign, func(x, y plans.OutputsRead) int {
		return cmp.Or(strings.Compare(x.Workspace, y.Workspace), cmp.Compare(x.Revision, y.Revision))
	})
	if plan.Footprint == nil {
		return nil, nil
	}
	return out, nil
}

// checkRemote opens the store of a read. If the store is a ledger, it passes the store to the
// function claim. If claim returns false, checkRemote returns an error if the outputs have changed.
// If claim returns true, the outputs are checked later.
func (op *Operation) checkRemote(ctx context.Context, read *plans.RemoteRead, claim func(backend.Store) bool) error {
	s := op.Session
	driver, err := all.Driver(read.Backend)
	if err != nil {
		return err
	}
	config, err := (&BackendRecord{Type: read.Backend, Config: read.Config}).Value(blocks.Schema(driver.Config()))
	if err != nil {
		return err
	}
	lease := s.Clients.Lease()
	defer lease.Release()
	store, err := newStores(s).open(ctx, &BackendSettings{Driver: driver, Config: config}, StatePaths{}, lease)
	if err != nil {
		return err
	}
	if c, ok := store.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	ledger, ok := store.(statemgr.Ledger)
	if !ok || claim(store) {
		return nil
	}
	if err := ledger.CheckOutputs(ctx, &read.OutputsRead); err != nil {
		return statemgr.ExplainConflict(fmt.Errorf("checking the outputs that %s has read: %w", read.Data, err))
	}
	return nil
}
