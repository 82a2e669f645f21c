package plugin

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc/stats"
)

// noteSent returns a context for a call. The call sets sent as soon as its request is on its way to
// the plugin. A call that fails before that, for example because the process has already ended, has
// certainly changed nothing.
func noteSent(ctx context.Context, sent *atomic.Bool) context.Context {
	return context.WithValue(ctx, sentKey{}, sent)
}

type sentKey struct{}

// sentNotes implements stats.Handler for noteSent.
type sentNotes struct{}

func (sentNotes) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

func (sentNotes) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if _, out := s.(*stats.OutPayload); out {
		if sent, ok := ctx.Value(sentKey{}).(*atomic.Bool); ok {
			sent.Store(true)
		}
	}
}

func (sentNotes) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

func (sentNotes) HandleConn(context.Context, stats.ConnStats) {}
