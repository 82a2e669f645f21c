package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"tofu/internal/backend"
)

var _ backend.Querier = (*Store)(nil)

// queryRole is the suffix of the role that runs queries. Its name begins with that of the schema.
const queryRole = "_reader"

// boolTexts maps booleans in PostgreSQL's text format to JSON.
var boolTexts = map[string][]byte{"t": []byte("true"), "f": []byte("false")}

// jsonTypes are the types whose values are returned as JSON, except for special numbers such as
// NaN.
var jsonTypes = []uint32{pgtype.JSONOID, pgtype.JSONBOID, pgtype.Int2OID, pgtype.Int4OID, pgtype.Int8OID,
	pgtype.Float4OID, pgtype.Float8OID, pgtype.NumericOID, pgtype.BoolOID}

// Query implements backend.Querier. The query runs in a read-only transaction. If there is a role
// with the name of the schema and the suffix "_reader", and the user is a member of it, the query
// runs with the rights of that role, which a query can leave again: only a login of its own is a
// boundary. The transaction is rolled back, because some functions write
// even in a read-only transaction.
func (s *Store) Query(
	ctx context.Context, query string, columns func([]backend.Column), row func([][]byte) error,
) error {
	err := s.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		if err := s.becomeReader(ctx, tx); err != nil {
			return err
		}
		// The extended protocol accepts a single statement only, so it can't end the transaction
		// and then change something.
		prepared, err := tx.Conn().PgConn().Prepare(ctx, "", query, nil)
		if err != nil {
			return queryError(err)
		}
		if len(prepared.Fields) == 0 { // such as COPY, which writes files even in a read-only transaction
			return &backend.QueryError{Message: "the statement has no result",
				Hint: "Only queries are possible, such as SELECT."}
		}
		result := tx.Conn().PgConn().ExecPrepared(ctx, "", nil, nil, nil)
		started := false
		err = eachRow(result, func(c []backend.Column) {
			started = true
			columns(c)
		}, row)
		err = queryError(err)
		if err != nil && started && !errors.As(err, new(*backend.QueryError)) && transient(err) {
			return fmt.Errorf("reading the rows: %v", err) // not %w: a repeated query would print rows twice
		}
		return cmp.Or(err, errRead)
	})
	if errors.Is(err, errRead) {
		return nil
	}
	return err
}

// errRead rolls back a transaction after a query that succeeded.
var errRead = errors.New("the query has ended")

// becomeReader takes the rights of the role for queries until the transaction ends, if the user is
// a member of that role.
func (s *Store) becomeReader(ctx context.Context, tx pgx.Tx) error {
	role := s.schema + queryRole
	var may bool
	err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_roles "+
		"WHERE rolname = $1::text AND pg_has_role(oid, 'MEMBER'))", role).Scan(&may)
	if err != nil || !may {
		return err
	}
	_, err = tx.Exec(ctx, "SET LOCAL ROLE "+pgx.Identifier{role}.Sanitize())
	return err
}

func eachRow(result *pgconn.ResultReader, columns func([]backend.Column), row func([][]byte) error) error {
	var cols []backend.Column
	for _, f := range result.FieldDescriptions() {
		cols = append(cols, backend.Column{Name: f.Name, JSON: slices.Contains(jsonTypes, f.DataTypeOID)})
	}
	if cols != nil {
		columns(cols)
	}
	for result.NextRow() {
		values := result.Values()
		for i, f := range result.FieldDescriptions() {
			if f.DataTypeOID == pgtype.BoolOID && values[i] != nil {
				values[i] = boolTexts[string(values[i])]
			}
		}
		if err := row(values); err != nil {
			_, _ = result.Close() // the transaction is rolled back
			return err
		}
	}
	_, err := result.Close()
	return err
}

// queryError returns an error of the server as a *backend.QueryError if the query has caused it. It
// returns other errors unchanged.
func queryError(err error) error {
	var failed *pgconn.PgError
	if !errors.As(err, &failed) || transient(err) && failed.Code != readOnlyDatabase {
		return err
	}
	out := &backend.QueryError{Position: int(failed.Position), Message: failed.Message, Hint: failed.Hint}
	if failed.Detail != "" {
		out.Message += ": " + strings.TrimSuffix(failed.Detail, ".")
	}
	switch failed.Code {
	case readOnlyDatabase:
		out.Hint = "Queries can't change the state: use other commands for that."
	case noPrivilege:
		out.Hint = "Only the views are meant for queries. The function grant_access, which docs/POSTGRES.md " +
			"describes, lets a role read them."
	}
	return out
}
