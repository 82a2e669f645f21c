package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/atomicfile"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/unchanged"
	"tofu/internal/version"
)

// unchangedFrom is the number of managed instances from which plans remember unchanged blocks.
const unchangedFrom = 1000

// unchangedFile returns the name of the file in the data directory that has the sums of unchanged
// blocks in the workspace. It is encrypted as the state is.
func (op *Operation) unchangedFile() string {
	return "unchanged-" + url.PathEscape(op.Location.Workspace)
}

// findsUnchanged prepares the environment for a validation and a plan that may leave out unchanged
// blocks. It returns nil if there are few objects.
func (op *Operation) findsUnchanged(ctx context.Context, opts *engine.PlanOptions) *unchanged.Blocks {
	if op.options.Memory != nil {
		return op.options.Memory.unchanged(op, opts)
	}
	s := op.Session
	if managedInstances(op.State.State()) < unchangedFrom {
		return nil
	}
	out := op.blocks()
	if out == nil {
		return nil
	}
	path := filepath.Join(s.DataDir, op.unchangedFile())
	text, err := atomicfile.Read(path)
	if err == nil && op.Location.codec != nil {
		text, _, err = op.Location.codec.Decrypt(ctx, text)
	}
	if err == nil {
		err = out.Load(text)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Logs.Core.Warn("reading which blocks are unchanged", "file", path, "error", err)
	}
	return out
}

// blocks returns what knows no blocks yet, or nil if the variables have no encoded form.
func (op *Operation) blocks() *unchanged.Blocks {
	circumstances, err := op.circumstances()
	if err != nil {
		return nil
	}
	variables, err := op.encodedVariables()
	if err != nil {
		return nil
	}
	return &unchanged.Blocks{Circumstances: circumstances, Variables: variables, Source: op.Session.Parser.Source,
		Steady: op.Providers.steady}
}

// circumstances returns what the result of planning any block may depend on, besides the text of the
// configuration and the state.
func (op *Operation) circumstances() ([]byte, error) {
	return json.Marshal([]any{version.Engine(), op.Env.Workspace, op.Env.WorkDir, op.Env.RootModule, op.Env.Base,
		Defers(op.Session.Env), op.Providers.Locks.Bytes()})
}

// encodedVariables returns the values of the variables that are set.
func (op *Operation) encodedVariables() (map[string][]byte, error) {
	out := map[string][]byte{}
	for name, given := range op.Variables {
		v := given.Value
		if v == cty.NilVal {
			continue
		}
		bare, _ := v.UnmarkDeep()
		text, err := states.Marshal(bare, cty.DynamicPseudoType)
		if err != nil {
			return nil, fmt.Errorf("encoding the variable %s: %w", name, err)
		}
		out[name] = text
	}
	return out, nil
}

// saveUnchanged records the unchanged blocks of a plan. It ignores errors, as saveAges does.
func (op *Operation) saveUnchanged(b *unchanged.Blocks, plan *plans.Plan) {
	if op.options.Memory != nil {
		op.options.Memory.keep(b, plan)
		return
	}
	if !b.Changed() {
		return
	}
	text, err := b.Encode(), error(nil)
	if op.Location.codec != nil {
		text, err = op.Location.codec.Encrypt(text)
	}
	if err == nil {
		err = op.Session.WriteDataFile(op.unchangedFile(), text, 0o600)
	}
	if err != nil {
		op.Session.Logs.Core.Warn("recording which blocks are unchanged", "error", err)
	}
}
