package command

import (
	"context"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/session"
	"tofu/internal/ui"
)

// planSchemas returns the schemas for showing a saved plan. They come from the plan file or, if it
// has none, from the providers. The caller must call end, which stops these providers.
func planSchemas(
	ctx context.Context, s *session.Session, saved *session.SavedPlan,
) (schemas ui.Schemas, end func(), err error) {
	if saved.Schemas != nil {
		return func(p addrs.Provider) *providers.Schema { return saved.Schemas[p] }, func() {}, nil
	}
	reqs := session.Requirements(saved.Configuration.Config, saved.Plan.Prior)
	running, err := s.OpenProviders(reqs)
	if err != nil {
		return nil, func() {}, err
	}
	schemas, err = running.FetchSchemas(ctx, reqs.Providers())
	return schemas, running.Close, err
}
