package rootmoves

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configs"
	"tofu/internal/moves"
	"tofu/internal/roots"
	"tofu/internal/tfdiags"
)

// Move is a move of objects from one root module to another.
type Move struct {
	From, To *roots.Root
	moves.Pair
	Range hcl.Range // the moved block; zero without one
}

// String names both ends, as the blocks do.
func (m *Move) String() string {
	return fmt.Sprintf("root[%s].%s to root[%s].%s", tfdiags.Quote(m.From.Name), m.Pair.From,
		tfdiags.Quote(m.To.Name), m.Pair.To)
}

// Declared returns the moves that the moved blocks of all root modules declare to or from the selected ones,
// each once, sorted by their root modules.
func (m *Mover) Declared(ctx context.Context, selected []*roots.Root) ([]Move, error) {
	var out []Move
	var errs tfdiags.Diagnostics
	var wrong tfdiags.Groups
	type end struct{ root, addr string }
	from, to := make(map[end]*Move), make(map[end]*Move)
	for _, r := range m.Estate.Roots {
		blocks, err := m.blocks(ctx, r)
		errs = errs.AppendError(err)
		for _, block := range blocks {
			mv, problem := declared(m.Estate, r, block)
			if mv == nil {
				wrong.Add(problem, tfdiags.Quote(block.Root))
				continue
			}
			here, there := end{mv.From.Name, mv.Pair.From.String()}, end{mv.To.Name, mv.Pair.To.String()}
			first, second := from[here], to[there]
			switch {
			case first != nil && first == second: // both root modules have the block
				continue
			case first != nil || second != nil:
				other := first
				if other == nil {
					other = second
				}
				wrong.Add(tfdiags.Errorf("Ambiguous move statements", "This block moves %s, but the one at %s moves %s. Remove one "+
					"of them.", mv, tfdiags.Place(other.Range), other).At(mv.Range), mv.String())
				continue
			}
			from[here], to[there] = mv, mv
			if slices.Contains(selected, mv.From) || slices.Contains(selected, mv.To) {
				out = append(out, *mv)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Move) int {
		return slices.Compare([]string{a.From.Name, a.To.Name}, []string{b.From.Name, b.To.Name})
	})
	return out, tfdiags.Join(errs.Err(), wrong.Err())
}

// blocks returns the moves to and from other root modules that the moved blocks of a root module declare.
func (m *Mover) blocks(ctx context.Context, r *roots.Root) ([]*configs.RootMove, error) {
	if !r.LateMoves {
		return r.Moves, nil
	}
	s := m.Open(r)
	defer s.Close()
	cfg, err := s.LoadRootModule(ctx, m.Vars)
	if err != nil {
		return nil, err
	}
	err = cfg.ExpandMoves()
	return cfg.Module.RootMoves, err
}

// declared returns the move that a block of the root module r declares, or nil and what is wrong with it.
func declared(e *roots.Estate, r *roots.Root, block *configs.RootMove) (*Move, tfdiags.Diagnostic) {
	other := e.ByName(block.Root)
	switch {
	case other == nil:
		return nil, tfdiags.Errorf("No such root module", "The block names the root module %q, which the estate doesn't have. "+
			"It has %s.", block.Root, strings.Join(e.Names(), ", ")).At(block.Range)
	case other == r:
		return nil, tfdiags.Errorf("Move within a root module", "%s is this root module. Write the address without root[…].",
			block.Root).At(block.Range)
	}
	m := &Move{From: other, To: r, Pair: moves.Pair{From: block.From, To: block.To}, Range: block.Range}
	if block.Leaves {
		m.From, m.To = r, other
	}
	return m, tfdiags.Diagnostic{}
}
