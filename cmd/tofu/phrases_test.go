package main

import (
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdPhrases implements `phrases TABLE`. Each line of the table is "SESSION | READERS | REGEXP".
// The content of the file SESSION, which is output of the program, must match REGEXP. READERS names
// the tools that find this output with the same expression. These tools compile the expression
// without flags, so it must contain its flags.
func cmdPhrases(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: phrases TABLE")
	}
	count := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, " | ", 3)
		if len(cells) != 3 {
			ts.Fatalf("%s: %q does not have three cells", args[0], line)
		}
		session, readers, expr := strings.TrimSpace(cells[0]), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])
		re, err := regexp.Compile(expr)
		ts.Check(err)
		if text := ts.ReadFile(session); !re.MatchString(text) {
			ts.Fatalf("%s searches the output of %s for %s, which is not there:\n%s", readers, session, expr, text)
		}
		count++
	}
	if count == 0 {
		ts.Fatalf("%s has no phrases", args[0])
	}
}
