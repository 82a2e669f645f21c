package repeat

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// MaxRetries is the largest number of times that a user may have failed calls tried again.
const MaxRetries = 100

// Retry says that failed calls of an apply are tried again, whatever their error is. It is safe for
// concurrent use.
type Retry struct {
	Times int             // how often
	Stop  <-chan struct{} // closed when the run should stop
	Tell  func(string)    // is told of each retry

	applying atomic.Bool
}

// Begin makes the following calls those of an apply.
func (r *Retry) Begin() { r.applying.Store(true) }

// End makes the following calls those of a plan.
func (r *Retry) End() { r.applying.Store(false) }

// retries is the policy for pauses before calls are tried again.
var retries = policy{first: 2 * time.Second, limit: time.Minute}

// again waits and reports whether a call that failed is made again. tries is how often that was done.
func (p *provider) again(ctx context.Context, what string, tries int, diags tfdiags.Diagnostics) bool {
	r := p.retry
	if r == nil || tries >= r.Times || !r.applying.Load() {
		return false
	}
	var failed *tfdiags.Diagnostic
	for _, d := range diags {
		switch {
		case d.Severity != tfdiags.Error:
		case unanswered(d):
			return false
		case failed == nil:
			failed = &d
		}
	}
	if failed == nil {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-r.Stop:
			cancel()
		case <-ctx.Done():
		}
	}()
	r.Tell(fmt.Sprintf("%s by %s failed and is tried again (%d of %d): %s", what, p.name, tries+1, r.Times, failed.Summary))
	return p.pause(ctx, retries, tries)
}

// madeNothing reports whether the provider says that a failed creation has made nothing.
func madeNothing(req *providers.ApplyRequest, resp *providers.ApplyResponse) bool {
	return !resp.Unanswered && req.Prior.IsNull() && !req.Planned.IsNull() &&
		resp.New != cty.NilVal && resp.New.IsNull()
}
