package main

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdQueue implements `queue`. It sets TOFU_QUEUE to a separate database for the script, which is dropped
// when the script ends.
func cmdQueue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: queue")
	}
	server := ts.Getenv("POSTGRES")
	name := fmt.Sprintf("queue_%s_%d", ts.Name(), os.Getpid())
	admin := func(statement, options string) error {
		ctx := context.Background()
		conn, err := pgx.Connect(ctx, server)
		if err != nil {
			return err
		}
		defer conn.Close(ctx)
		_, err = conn.Exec(ctx, statement+" "+pgx.Identifier{name}.Sanitize()+options)
		return err
	}
	ts.Check(admin("CREATE DATABASE", ""))
	ts.Defer(func() { ts.Check(admin("DROP DATABASE", " WITH (FORCE)")) })
	address, err := url.Parse(server)
	ts.Check(err)
	address.Path = "/" + name
	ts.Setenv("TOFU_QUEUE", address.String())
}

// cmdWaitRun implements `wait4run INDEX STATUS`. It waits until the run at the index, counted from the newest one,
// has the status, and sets RUN to its ID.
func cmdWaitRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: wait4run INDEX STATUS")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, ts.Getenv("TOFU_QUEUE"))
	ts.Check(err)
	defer conn.Close(ctx)
	for {
		var id, status string
		ts.Check(conn.QueryRow(ctx, "SELECT id, status FROM tofu_queue.runs ORDER BY created DESC LIMIT 1 OFFSET $1::text::int",
			args[0]).Scan(&id, &status))
		if status == args[1] {
			ts.Setenv("RUN", id)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// cmdWaitTries implements `wait4tries INDEX`. It waits until a try of a task of the run at the index has ended without
// an outcome.
func cmdWaitTries(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: wait4tries INDEX")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, ts.Getenv("TOFU_QUEUE"))
	ts.Check(err)
	defer conn.Close(ctx)
	for ended := false; !ended; time.Sleep(50 * time.Millisecond) {
		ts.Check(conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM tofu_queue.tasks WHERE reasons <> '{}' AND run =
			(SELECT id FROM tofu_queue.runs ORDER BY created DESC LIMIT 1 OFFSET $1::text::int))`, args[0]).Scan(&ended))
	}
}

// cmdDumpQueue implements `dumpqueue FILE`. It writes everything that tasks have stored to the file.
func cmdDumpQueue(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: dumpqueue FILE")
	}
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, ts.Getenv("TOFU_QUEUE"))
	ts.Check(err)
	defer conn.Close(ctx)
	rows, _ := conn.Query(ctx, `SELECT unnest(ARRAY[shown, plan, outputs, outcome::text::bytea]) FROM tofu_queue.tasks
		UNION ALL SELECT data FROM tofu_queue.events`)
	all, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Join(all, []byte("\n")), 0o600))
}
