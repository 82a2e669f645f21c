package pg

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// row holds the columns of a row as text, nil for NULL.
type row [][]byte

// query runs a statement. Arguments and results are text; the server converts them.
func query(ctx context.Context, conn *pgconn.PgConn, statement string, args ...string) ([]row, error) {
	values := make([][]byte, len(args))
	for i, arg := range args {
		values[i] = []byte(arg)
	}
	result := conn.ExecParams(ctx, statement, values, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	rows := make([]row, len(result.Rows))
	for i, columns := range result.Rows {
		rows[i] = columns
	}
	return rows, nil
}

// errNoRow is returned for a query without results.
var errNoRow = errors.New("no row")

// queryRow returns the first row of a query.
func queryRow(ctx context.Context, conn *pgconn.PgConn, statement string, args ...string) (row, error) {
	rows, err := query(ctx, conn, statement, args...)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errNoRow
	}
	return rows[0], nil
}

// queryNumber returns the number in the first column of the first row.
func queryNumber(ctx context.Context, conn *pgconn.PgConn, statement string, args ...string) (int64, error) {
	found, err := queryRow(ctx, conn, statement, args...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(found[0]), 10, 64)
}

// quoted returns the parts of a qualified name as a quoted SQL identifier.
func quoted(parts ...string) string {
	for i, part := range parts {
		parts[i] = `"` + strings.ReplaceAll(strings.ReplaceAll(part, "\x00", ""), `"`, `""`) + `"`
	}
	return strings.Join(parts, ".")
}

// inTransaction runs f in a transaction and commits it if f succeeds. Canceling ctx cancels only
// the statements of f: the client closes a session if beginning or ending a transaction is
// canceled, and the lock would be lost.
func inTransaction(ctx context.Context, conn *pgconn.PgConn, f func() error) error {
	if err := control(ctx, conn, "BEGIN"); err != nil {
		return err
	}
	if err := f(); err != nil {
		return errors.Join(err, control(ctx, conn, "ROLLBACK"))
	}
	return control(ctx, conn, "COMMIT")
}

// control runs a command that begins or ends a transaction.
func control(ctx context.Context, conn *pgconn.PgConn, command string) error {
	const maxDuration = 30 * time.Second
	steady, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxDuration)
	defer cancel()
	results, err := conn.Exec(steady, command).ReadAll()
	if err != nil {
		return err
	}
	if tag := results[0].CommandTag.String(); tag != command {
		return errors.New("the database ended the transaction with " + tag)
	}
	return nil
}
