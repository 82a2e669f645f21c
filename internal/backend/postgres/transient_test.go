package postgres_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"tofu/internal/backend/postgres"
)

func TestTransient(t *testing.T) {
	server := func(code, message string) error {
		return fmt.Errorf("recording: %w", &pgconn.PgError{Code: code, Message: message})
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"deadlock":          {server("40P01", "deadlock detected"), true},
		"serialization":     {server("40001", "could not serialize access"), true},
		"shutdown":          {server("57P01", "terminating connection"), true},
		"connections":       {server("53300", "too many connections"), true},
		"full disk":         {server("53100", "could not extend file"), false},
		"unique":            {server("23505", "duplicate key"), false},
		"race of row locks": {server("XX000", "new multixact has more than one updating member: 0 2[1 (nokeyupd)]"), true},
		"internal error":    {server("XX000", "cache lookup failed"), false},
		"lost connection":   {errors.New("unexpected EOF"), true},
		"other":             {errors.New("no such workspace"), false},
	} {
		if got := postgres.Transient(tc.err); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
