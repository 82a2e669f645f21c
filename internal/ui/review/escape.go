package review

import (
	"html"
	"strings"
)

// Escape escapes text for an HTML element in Markdown, including characters that are markup
// only in Markdown.
func Escape(text string) string { return escapesMarkdown.Replace(html.EscapeString(text)) }

var escapesMarkdown = strings.NewReplacer("`", "&#96;", "*", "&#42;", "_", "&#95;", "[", "&#91;", "]", "&#93;",
	"@", "&#64;", "\\", "&#92;", "~", "&#126;", "|", "&#124;", ":", "&#58;", "\n", " ")

var escapesCode = strings.NewReplacer("|", `\|`, "\n", " ")

// Code returns text as a code span, also within a table.
func Code(text string) string {
	text = escapesCode.Replace(text)
	fence := strings.Repeat("`", longest(text, '`')+1)
	pad := ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		pad = " "
	}
	return fence + pad + text + pad + fence
}

// longest returns the length of the longest run of a character.
func longest(text string, char rune) int {
	most, run := 0, 0
	for _, c := range text {
		if c == char {
			run++
		} else {
			run = 0
		}
		most = max(most, run)
	}
	return most
}
