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
	"tofu/internal/configschema"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
)

// remoteReader reads the states of other configurations for terraform_remote_state.
type remoteReader struct {
	stores     *stores
	clients    *backend.Clients
	encryption *Encryption
	remote     remoteOutputs // nil unless the run plans several root modules
	reads      *remoteReads  // receives the reads from stores that are a statemgr.Ledger
	answers    *planReads    // receives the results; may be nil
}

// builtin returns the functions that the built-in provider needs to read states.
func (r *remoteReader) builtin() builtin.RemoteState {
	return builtin.RemoteState{
		Schema: func(name string) (*configschema.Block, error) {
			driver, err := all.Driver(name)
			if err != nil {
				return nil, err
			}
			return blocks.Schema(driver.Config()), nil
		},
		Outputs: r.outputs,
	}
}

// RemoteState identifies the state of another configuration that a data source reads.
type RemoteState struct {
	Data      addrs.AbsInstance
	Settings  *BackendSettings
	Workspace string
}

// ReadRemote reads the outputs in the latest snapshot of another configuration's state. The second
// result is false if there is no state.
func (s *Session) ReadRemote(ctx context.Context, of *RemoteState) (map[string]cty.Value, bool, error) {
	return newRemoteReader(s).read(ctx, of)
}

func newRemoteReader(s *Session) *remoteReader {
	return &remoteReader{stores: newStores(s), clients: s.Clients, encryption: &s.Encryption, remote: s.Remote,
		reads: &s.remote, answers: s.reads}
}

// RemoteReader reads the outputs of a state. found is false if there is no state.
type RemoteReader func() (outputs map[string]cty.Value, found bool, err error)

// outputs returns the outputs that the data source at addr reads from a workspace.
func (r *remoteReader) outputs(
	ctx context.Context, addr addrs.AbsInstance, name, workspace string, config cty.Value,
) (map[string]cty.Value, bool, error) {
	driver, err := all.Driver(name)
	if err != nil {
		return nil, false, err
	}
	of := &RemoteState{addr, &BackendSettings{Driver: driver, Config: config}, workspace}
	outputs, found, err := r.answer(ctx, of)
	r.answers.answered(of, outputs, found, err)
	return outputs, found, err
}

// answer returns the outputs of a state as the run sees them.
func (r *remoteReader) answer(ctx context.Context, of *RemoteState) (map[string]cty.Value, bool, error) {
	if r.remote == nil {
		return r.read(ctx, of)
	}
	return r.remote(ctx, of, func() (map[string]cty.Value, bool, error) { return r.read(ctx, of) })
}

// read reads the outputs in the latest snapshot of another configuration's state. It doesn't lock
// the state, because a snapshot is always complete. The values of sensitive outputs are marked.
func (r *remoteReader) read(ctx context.Context, of *RemoteState) (map[string]cty.Value, bool, error) {
	workspace := of.Workspace
	lease := r.clients.Lease()
	defer lease.Release()
	store, err := r.stores.open(ctx, of.Settings, StatePaths{}, lease)
	if err != nil {
		return nil, false, err
	}
	// Close the store after the read. Otherwise many data sources could use up the connections of a
	// server.
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
		return r.rows(ctx, ledger, &remoteRead{data: of.Data, settings: of.Settings, workspace: workspace})
	}
	data, err := get(ctx, workspace)
	if err != nil {
		return nil, false, err
	}
	if data == nil {
		return nil, false, nil
	}
	if config := r.encryption.Evaluated; config != nil {
		data, err = DecryptFile(ctx, config.Remote(of.Data), data)
		if err != nil {
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
	return file.State.OutputValues(), true, nil
}

// rows reads the outputs of a state in a ledger, which keeps outputs separately, and records them
// as read by the plan.
func (r *remoteReader) rows(
	ctx context.Context, ledger statemgr.Ledger, read *remoteRead,
) (map[string]cty.Value, bool, error) {
	var codec statemgr.Codec
	if config := r.encryption.Evaluated; config != nil {
		if target := config.Remote(read.data); target != nil {
			codec = target
		}
	}
	in, err := ledger.LoadOutputs(ctx, read.workspace, codec)
	if err != nil || !in.Exists {
		return nil, false, err
	}
	read.revision, read.outputs = in.Revision, in.State.OutputValues()
	r.reads.add(read)
	return read.outputs, true, nil
}
