// Package ages reads and writes ages: numbers of hours, days or weeks, such as 12h, 90d and 52w.
// There are no minutes, because "3m" could be meant as three months.
package ages

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// units are the units of an age, the longest first.
var units = []struct {
	letter string
	length time.Duration
}{{"w", 7 * 24 * time.Hour}, {"d", 24 * time.Hour}, {"h", time.Hour}}

// Parse parses an age. Ages of more than 292 years, which a [time.Duration] can't hold, become that.
func Parse(text string) (time.Duration, error) {
	for _, u := range units {
		number, ok := strings.CutSuffix(text, u.letter)
		if n, err := strconv.ParseUint(number, 10, 16); ok && err == nil && n > 0 {
			return min(time.Duration(n), math.MaxInt64/u.length) * u.length, nil
		}
	}
	return 0, fmt.Errorf("%q is not a number of hours, days or weeks from 1 to 65535, such as 12h, 90d or 52w", text)
}

// Format returns an age in the form that Parse reads. It drops what is less than an hour.
func Format(age time.Duration) string {
	if days := age / (24 * time.Hour); days > 0 && age%(24*time.Hour) == 0 {
		return strconv.FormatInt(int64(days), 10) + "d"
	}
	return strconv.FormatInt(int64(age/time.Hour), 10) + "h"
}
