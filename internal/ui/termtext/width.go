package termtext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apparentlymart/go-textseg/v17/textseg"
	"golang.org/x/text/width"
)

// Width returns the number of columns that a line takes on a terminal. The line must have no
// control characters and no colors.
func Width(line string) int {
	if isASCII(line) {
		return len(line)
	}
	columns := 0
	eachCluster(line, func(_ string, n int) bool {
		columns += n
		return true
	})
	return columns
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// eachCluster calls f with each grapheme cluster of a string and its number of columns, until f
// returns false.
func eachCluster(text string, f func(cluster string, columns int) bool) {
	for text != "" {
		n, _, err := textseg.ScanGraphemeClusters([]byte(text[:min(len(text), maxCluster)]), true)
		if err != nil || n == 0 {
			_, n = utf8.DecodeRuneInString(text)
		}
		if !f(text[:n], clusterWidth(text[:n])) {
			return
		}
		text = text[n:]
	}
}

// maxCluster is the maximum number of bytes to search for the end of a cluster.
const maxCluster = 256

// clusterWidth returns the number of columns of a grapheme cluster, which is that of its widest
// character.
func clusterWidth(cluster string) int {
	columns := 0
	for _, r := range cluster {
		columns = max(columns, runeWidth(r))
	}
	return columns
}

func runeWidth(r rune) int {
	if r < utf8.RuneSelf {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Cut shortens a line to at most the given number of columns. A shortened line ends with "…".
func Cut(line string, columns int) string {
	if Width(line) <= columns {
		return line
	}
	return Head(line, columns-1) + "…"
}

// CutMiddle is like Cut, but shortens the middle. It is for names and addresses, whose ends say
// more than their middles.
func CutMiddle(line string, columns int) string {
	if Width(line) <= columns {
		return line
	}
	if columns < 3 {
		return Cut(line, columns)
	}
	left := (columns - 1) / 3
	return Head(line, left) + "…" + Tail(line, columns-1-left)
}

// Head returns the longest prefix of a line that takes at most the given number of columns.
func Head(line string, columns int) string {
	end := 0
	eachCluster(line, func(cluster string, n int) bool {
		columns -= n
		if columns < 0 {
			return false
		}
		end += len(cluster)
		return true
	})
	return line[:end]
}

// Tail returns the longest suffix of a line that takes at most the given number of columns.
func Tail(line string, columns int) string {
	skip := Width(line) - columns
	start := 0
	eachCluster(line, func(cluster string, n int) bool {
		if skip <= 0 {
			return false
		}
		skip -= n
		start += len(cluster)
		return true
	})
	return line[start:]
}

// Pad appends spaces to a line until it takes the given number of columns.
func Pad(line string, columns int) string {
	return line + strings.Repeat(" ", max(columns-Width(line), 0))
}

// WrapWords breaks text into lines of at most the given number of columns, at spaces if possible.
// The text must have no line breaks.
func WrapWords(text string, columns int) []string {
	columns = max(columns, 1)
	var lines []string
	line, used := "", 0
	flush := func() {
		lines = append(lines, line)
		line, used = "", 0
	}
	for i, word := range strings.Split(text, " ") {
		n := Width(word)
		switch {
		case i == 0:
		case used+1+n > columns && used > 0:
			flush()
		default:
			line, used = line+" ", used+1
		}
		for n > columns-used { // a single word is too long for a line
			part := Head(word, columns-used)
			if part == "" {
				if used == 0 {
					break
				}
				flush()
				continue
			}
			line += part
			flush()
			word = word[len(part):]
			n = Width(word)
		}
		line, used = line+word, used+n
	}
	return append(lines, line)
}
