package engine

import (
	"tofu/internal/plans"
)

func (w *walk) relevantAttributes() []plans.RelevantAttribute { return nil }
