package planview

import (
	"cmp"
	"slices"
)

// A Root is one of many root modules, as all views of an estate show it: with what its plan changes, or
// with what an apply has changed.
type Root struct {
	Name   string
	Counts Counts
	Note   string // such as that the plan will be applied later; "" for nothing
	// Unchanged is set if there are no changes and no failed checks. Tables have no row for it.
	Unchanged bool
}

// A Column is a column with numbers in the tables of root modules.
type Column struct {
	Sign, Title string
	Kind        Kind // what the column counts; Moved for what is no change of an object
	Of          func(Counts) int
}

// columns are the columns of the tables, the most dangerous changes first. Replacements have a column of
// their own, so they are counted in no other one.
var columns = []Column{
	{"−", "destroy", Destroyed, func(c Counts) int { return c.Remove - c.Replace }},
	{"±", "replace", Replaced, func(c Counts) int { return c.Replace }},
	{".", "forget", Forgotten, func(c Counts) int { return c.Forget }},
	{"~", "change", Updated, func(c Counts) int { return c.Change }},
	{"+", "add", Created, func(c Counts) int { return c.Add - c.Replace }},
	{"⇣", "import", Imported, func(c Counts) int { return c.Import }},
	{"…", "deferred", Moved, func(c Counts) int { return c.Deferred }},
	{"✗", "failed checks", Moved, func(c Counts) int { return c.Checks }},
}

// Columns returns the columns of a table of root modules that are not empty, or whose titles are in always,
// and the sums of the counts.
func Columns(roots []Root, always ...string) (used []Column, sum Counts) {
	filled := make([]bool, len(columns))
	for _, r := range roots {
		sum = sum.Plus(r.Counts)
		for i, column := range columns {
			filled[i] = filled[i] || column.Of(r.Counts) != 0
		}
	}
	for i, column := range columns {
		if filled[i] || slices.Contains(always, column.Title) {
			used = append(used, column)
		}
	}
	return used, sum
}

// Danger is the tier of a root module: those that lose objects come first, then those with other
// changes or failed checks, then those that only get new objects.
func (c Counts) Danger() int {
	switch {
	case c.Remove+c.Forget > 0:
		return 0
	case c.Change+c.Checks > 0:
		return 1
	}
	return 2
}

// CompareDanger compares root modules for sorting: those that lose the most come first.
func CompareDanger(a, b Counts) int {
	return cmp.Or(a.Danger()-b.Danger(), b.Remove-a.Remove, b.Forget-a.Forget, b.Change-a.Change, b.Checks-a.Checks,
		b.Add-a.Add)
}

// ByDanger returns root modules in the order of a table.
func ByDanger(roots []Root) []Root {
	return slices.SortedStableFunc(slices.Values(roots), func(a, b Root) int { return CompareDanger(a.Counts, b.Counts) })
}
