package plans_test

import (
	"testing"
	"time"

	"tofu/internal/plans"
)

func TestLooked(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for want, l := range map[string]plans.Looked{
		"Looked at 14 of 10,000 objects; the oldest of the others was read 3 days ago": {
			Read: 14, Objects: 10000, Oldest: at.Add(-80 * time.Hour)},
		"Looked at 0 of 1 object; when the others were last read is not known": {Objects: 1, Unknown: 1},
		"Looked at 1,234 of 1,234,567 objects; the oldest of the others was read 1 hour ago, and of 1,000 it is not " +
			"known when": {Read: 1234, Objects: 1234567, Oldest: at.Add(-time.Hour), Unknown: 1000},
		"Looked at 2 of 999 objects; the oldest of the others was read 59 minutes ago": {Read: 2, Objects: 999,
			Oldest: at.Add(-59*time.Minute - 59*time.Second)},
		"Looked at 2 of 3 objects; the oldest of the others was read less than a minute ago": {Read: 2, Objects: 3,
			Oldest: at},
	} {
		if got := l.Text(at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
