package ages

import (
	"fmt"
	"testing"
	"time"
)

func Example() {
	age, err := Parse("2w")
	fmt.Println(age, Format(age), err)
	// Output: 336h0m0s 14d <nil>
}

func TestParse(t *testing.T) {
	for text, want := range map[string]time.Duration{"1h": time.Hour, "36h": 36 * time.Hour, "7d": 168 * time.Hour,
		"52w": 52 * 168 * time.Hour, "65535d": 65535 * 24 * time.Hour} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
		if again, err := Parse(Format(got)); again != want || err != nil {
			t.Errorf("%s: %s is %s, %v", text, Format(got), again, err)
		}
	}
	if got, err := Parse("65535w"); err != nil || got < 290*365*24*time.Hour {
		t.Errorf("more than a duration can hold: %s, %v", got, err)
	}
	for _, text := range []string{"", "d", "7", "3m", "0d", "-1d", "+1d", "1.5d", "7 d", "1y", "7D", "65536d", "1d12h"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}
