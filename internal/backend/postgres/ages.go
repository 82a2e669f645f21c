package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const agesOf = "SELECT l.document FROM last_read l JOIN workspace w ON w.id = l.workspace WHERE w.name = $1::text"

// Ages implements statemgr.AgeKeeper.
func (s *Store) Ages(ctx context.Context, workspace string) (document []byte, err error) {
	err = s.pipeline(ctx, readOnly, func(b *pgx.Batch) error {
		document = nil
		b.Queue(agesOf, workspace).QueryRow(func(row pgx.Row) error { return scanAges(row, &document) })
		return nil
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("reading when objects were last read: %w", explained(err))
	}
	return document, nil
}

func scanAges(row pgx.Row, document *[]byte) error {
	err := row.Scan(document)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// errOnlyReads is the error of a server or user that accepts only reads. Unlike in other transactions,
// waiting for a server that accepts more would not be worth it.
var errOnlyReads = errors.New("the server accepts only reads")

// UpdateAges implements statemgr.AgeKeeper. The row is locked from its first statement on.
func (s *Store) UpdateAges(ctx context.Context, workspace string, update func(previous []byte) ([]byte, error)) error {
	return explained(s.transaction(ctx, readWrite, func(ctx context.Context, tx pgx.Tx) error {
		var onlyReads bool
		if err := tx.QueryRow(ctx, "SELECT current_setting('transaction_read_only') = 'on'").Scan(&onlyReads); err != nil {
			return err
		}
		if onlyReads {
			return errOnlyReads
		}
		tag, err := tx.Exec(ctx, `INSERT INTO last_read (workspace, document)
			SELECT id, '' FROM workspace WHERE name = $1::text
			ON CONFLICT (workspace) DO UPDATE SET document = last_read.document`, workspace)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		var previous []byte
		if err := scanAges(tx.QueryRow(ctx, agesOf, workspace), &previous); err != nil {
			return err
		}
		next, err := update(previous)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE last_read l SET document = $2::text FROM workspace w
			WHERE w.id = l.workspace AND w.name = $1::text`, workspace, string(next))
		return err
	}))
}
