package main

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSchema implements `schema`. It sets PG_CONN_STR and PG_SCHEMA_NAME to a separate schema for
// the script, which is dropped when the script ends.
func cmdSchema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: schema")
	}
	url := ts.Getenv("POSTGRES")
	name := fmt.Sprintf("script_%s_%d", ts.Name(), os.Getpid())
	ts.Setenv("PG_CONN_STR", url)
	ts.Setenv("PG_SCHEMA_NAME", name)
	ts.Defer(func() { ts.Check(dropSchema(context.Background(), url, name)) })
}

func dropSchema(ctx context.Context, url, name string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{name}.Sanitize()+" CASCADE")
	return err
}
