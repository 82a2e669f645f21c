//go:build unix

package main

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// load has what the database has done so far, for the queue and the states.
type load struct{ transactions, rows int }

func (t *trial) load(ctx context.Context) (l load, err error) {
	time.Sleep(time.Second) // idle sessions report their numbers once a second
	return l, t.conn.QueryRow(ctx, `SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted
		FROM pg_stat_database WHERE datname = current_database()`).Scan(&l.transactions, &l.rows)
}

// seen has what was observed.
type seen struct {
	connections   int // at most
	notifications int
	samples       int
	states, queue int // samples with sessions that wait for locks: of states, and of the queue
}

// channels are those on which the queue and River send notifications.
var channels = []string{"tofu_queue", "tofu_queue_control", `"tofu_queue.river_insert"`, `"tofu_queue.river_control"`,
	`"tofu_queue.river_leadership"`}

// observe observes the database, with two connections of its own that it doesn't count, until the returned function is
// called.
func (t *trial) observe(ctx context.Context) (end func() seen) {
	ctx, cancel := context.WithCancel(ctx)
	var out seen
	var all sync.WaitGroup
	all.Go(func() {
		conn, err := pgx.ConnectConfig(ctx, t.conn.Config())
		if err != nil {
			return
		}
		defer conn.Close(context.Background())
		for _, channel := range channels {
			_, _ = conn.Exec(ctx, "LISTEN "+channel)
		}
		for {
			if _, err := conn.WaitForNotification(ctx); err != nil {
				return
			}
			out.notifications++
		}
	})
	all.Go(func() {
		for ctx.Err() == nil {
			var connections, states, queue int
			if t.conn.QueryRow(context.Background(), `SELECT count(*) - 2,
					count(*) FILTER (WHERE wait_event_type = 'Lock' AND application_name = 'tofu'),
					count(*) FILTER (WHERE wait_event_type = 'Lock' AND application_name = 'tofu queue')
				FROM pg_stat_activity WHERE datname = current_database()`).Scan(&connections, &states, &queue) == nil {
				out.connections = max(out.connections, connections)
				out.samples++
				out.states += min(states, 1)
				out.queue += min(queue, 1)
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	return func() seen {
		cancel()
		all.Wait()
		return out
	}
}
