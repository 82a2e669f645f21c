package postgres_test

import (
	"strings"
	"testing"
	"time"

	"tofu/internal/backend/postgres"
)

// TestWrongAddress checks how long Open waits for a server that it has never reached. It gives up
// sooner than for a server that goes away during a run.
func TestWrongAddress(t *testing.T) {
	for _, test := range []struct {
		address, want string
		least, most   time.Duration
	}{
		{"host=127.0.0.1 port=1", "refused", time.Second, 15 * time.Second},
		{"host=no-such-host.invalid", "no-such-host.invalid", 0, 15 * time.Second},
	} {
		t.Run(test.address, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := postgres.Driver.Open(t.Context(),
				&postgres.Config{ConnStr: test.address + " user=nobody sslmode=disable", Schema: "tofu"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
			if took := time.Since(start); took < test.least || took > test.most {
				t.Errorf("it failed after %s", took)
			}
		})
	}
}
