package workers

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// once is a transaction that is committed once, even if it is repeated after errors. If the connection is lost in the
// commit, it is not known whether it has happened, so a repetition asks the database first.
type once struct {
	queue *Queue
	id    string // of a transaction whose commit is in doubt; "" for none
}

// errCommitting is the error of a repetition while the database is still busy with the commit.
var errCommitting = errors.New("the commit has not ended")

func (o *once) tx(ctx context.Context, do func(pgx.Tx) error) error {
	if o.id != "" {
		done, err := o.committed(ctx)
		if err != nil || done {
			return err
		}
		o.id = ""
	}
	err := o.queue.tx(ctx, func(tx pgx.Tx) error {
		err := do(tx)
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT pg_current_xact_id()::text").Scan(&o.id)
		}
		return err
	})
	if answer := new(pgconn.PgError); err == nil || errors.As(err, &answer) && !away(err) {
		o.id = ""
	}
	return o.explain(err)
}

// committed reports whether the transaction in doubt was committed.
func (o *once) committed(ctx context.Context) (bool, error) {
	var status string
	err := o.queue.pool.QueryRow(ctx, "SELECT coalesce(pg_xact_status($1::xid8), 'forgotten')", o.id).Scan(&status)
	switch {
	case err != nil:
	case status == "committed":
		o.id = ""
		return true, nil
	case status == "aborted":
		return false, nil
	default:
		err = errCommitting
	}
	return false, o.explain(err)
}

// explain says what an error means for a transaction in doubt.
func (o *once) explain(err error) error {
	if err != nil && o.id != "" {
		return fmt.Errorf("the connection was lost in the commit, so it may have happened (see \"tofu runs list\"): %w", err)
	}
	return err
}
