package session

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/backend/all"
	"tofu/internal/builtin"
	"tofu/internal/configs/blocks"
	"tofu/internal/configs/configschema"
	"tofu/internal/lang/marks"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
)

// remoteState returns the reader of other configurations' states for terraform_remote_state.
func (s *Session) remoteState() builtin.RemoteState {
	return builtin.RemoteState{
		Schema: func(name string) (*configschema.Block, error) {
			driver, err := all.Driver(name)
			if err != nil {
				return nil, err
			}
			return blocks.Schema(driver.Config()), nil
		},
		Outputs: s.remoteOutputs,
	}
}

// RemoteState is the state of another configuration that a data source reads.
type RemoteState struct {
	Data      addrs.AbsInstance
	Settings  *BackendSettings
	Workspace string
}

// RemoteReader reads the outputs of a state. found is false if there is none.
type RemoteReader func() (outputs map[string]cty.Value, found bool, err error)

// remoteOutputs returns the outputs that a data source reads.
func (s *Session) remoteOutputs(
	ctx context.Context, addr addrs.AbsInstance, name, workspace string, config cty.Value,
) (map[string]cty.Value, bool, error) {
	driver, err := all.Driver(name)
	if err != nil {
		return nil, false, err
	}
	of := &RemoteState{addr, &BackendSettings{Driver: driver, Config: config}, workspace}
	if s.Remote == nil {
		return s.ReadRemote(ctx, of)
	}
	return s.Remote(ctx, of, func() (map[string]cty.Value, bool, error) { return s.ReadRemote(ctx, of) })
}

// ReadRemote reads the outputs in the latest snapshot of another configuration's state. It takes no
// lock, because a snapshot is always complete. The values of sensitive outputs are marked.
func (s *Session) ReadRemote(ctx context.Context, of *RemoteState) (map[string]cty.Value, bool, error) {
	workspace := of.Workspace
	lease := s.Clients.Lease()
	defer lease.Release()
	store, err := s.openStore(ctx, of.Settings, StatePaths{}, lease)
	if err != nil {
		return nil, false, err
	}
	// Close the store after the read: otherwise, many data sources could use up the connections of
	// a server.
	if c, ok := store.(io.Closer); ok {
		defer func() { _ = c.Close() }()
	}
	get := store.Get
	if outputs, ok := store.(backend.OutputStore); ok {
		get = outputs.GetOutputs
	}
	if only, ok := store.(backend.Undefaulted); ok && workspace == backend.DefaultWorkspace {
		workspace = only.Only()
	}
	if ledger, ok := store.(statemgr.Ledger); ok {
		return s.remoteRows(ctx, ledger, &remoteRead{of.Data, of.Settings, workspace, 0, nil})
	}
	data, err := get(ctx, workspace)
	if err != nil {
		return nil, false, err
	}
	if data == nil {
		return nil, false, nil
	}
	if s.Encryption.Evaluated != nil {
		if data, err = DecryptFile(ctx, s.Encryption.Evaluated.Remote(of.Data), data); err != nil {
			return nil, false, fmt.Errorf("decrypting the state: %w", err)
		}
	}
	file, err := statefile.Parse(data)
	if errors.Is(err, statefile.ErrEmpty) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return outputValues(file.State), true, nil
}

// remoteRows reads the outputs of a state in a ledger, and records the read for the plan.
func (s *Session) remoteRows(
	ctx context.Context, ledger statemgr.Ledger, read *remoteRead,
) (map[string]cty.Value, bool, error) {
	var codec statemgr.Codec
	if s.Encryption.Evaluated != nil {
		if target := s.Encryption.Evaluated.Remote(read.data); target != nil {
			codec = target
		}
	}
	in, err := ledger.LoadOutputs(ctx, read.workspace, codec)
	if err != nil || !in.Exists {
		return nil, false, err
	}
	read.revision, read.outputs = in.Revision, outputValues(in.State)
	s.remote.add(read)
	return read.outputs, true, nil
}

func outputValues(st *states.State) map[string]cty.Value {
	values := make(map[string]cty.Value)
	for _, n := range st.OutputNames() {
		o := st.Output(n)
		values[n] = o.Value
		if o.Sensitive {
			values[n] = o.Value.Mark(marks.Sensitive)
		}
	}
	return values
}
