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

// remoteOutputs reads the outputs in the latest snapshot of a workspace's state. It takes no
// lock, because a snapshot is always complete.
func (s *Session) remoteOutputs(
	ctx context.Context, addr addrs.AbsInstance, name, workspace string, config cty.Value,
) (map[string]cty.Value, bool, error) {
	driver, err := all.Driver(name)
	if err != nil {
		return nil, false, err
	}
	settings := &BackendSettings{Driver: driver, Config: config}
	if s.Planned != nil {
		outputs, ok, err := s.Planned(ctx, addr, settings, workspace)
		if ok || err != nil {
			return outputs, ok, err
		}
	}
	lease := s.Clients.Lease()
	defer lease.Release()
	store, err := s.openStore(ctx, settings, StatePaths{}, lease)
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
		return s.remoteRows(ctx, ledger, &remoteRead{addr, settings, workspace, 0, nil})
	}
	data, err := get(ctx, workspace)
	if err != nil {
		return nil, false, err
	}
	if data == nil {
		return nil, false, nil
	}
	if s.Encrypted != nil {
		if data, err = DecryptFile(ctx, s.Encrypted.Remote(addr), data); err != nil {
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
	if s.Encrypted != nil {
		if target := s.Encrypted.Remote(read.data); target != nil {
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
		values[n] = st.Output(n).Value
	}
	return values
}
