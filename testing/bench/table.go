package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// table is a Markdown table. Its first row is the header.
type table struct{ rows [][]string }

// row adds a row and returns its index.
func (t *table) row(cells ...string) int {
	t.rows = append(t.rows, cells)
	return len(t.rows) - 1
}

// add adds cells to a row. Each cell gets the given prefix.
func (t *table) add(row int, before string, cells ...string) {
	for _, c := range cells {
		t.rows[row] = append(t.rows[row], before+c)
	}
}

// print prints the table. The first column is left-aligned, the others are right-aligned.
func (t *table) print(out io.Writer) {
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, cell := range row {
			widths[i] = max(widths[i], 3, utf8.RuneCountInString(cell))
		}
	}
	for i, row := range t.rows {
		for at, width := range widths {
			cell := ""
			if at < len(row) {
				cell = row[at]
			}
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
			if at == 0 {
				fmt.Fprint(out, "| ", cell, pad)
			} else {
				fmt.Fprint(out, " | ", pad, cell)
			}
		}
		fmt.Fprintln(out, " |")
		if i > 0 {
			continue
		}
		for at, width := range widths {
			rule := strings.Repeat("-", width)
			if at > 0 {
				rule = rule[1:] + ":"
			}
			fmt.Fprint(out, "| ", rule, " ")
		}
		fmt.Fprintln(out, "|")
	}
}
