// Package hclfmt formats configuration source in the canonical layout, for the fmt command and for
// generated configuration.
//
// hclwrite provides spacing, indentation and alignment. In addition, some old notations are
// replaced: a string that is a single interpolation becomes the expression itself, and quoted types
// of variables lose their quotes.
//
// Invariants: source that can't be parsed is an error and stays unchanged. Formatted source can be
// parsed, and formatting it again changes nothing, except that each run unwraps only the outermost
// of nested interpolations. Only the old notations listed above change tokens.
package hclfmt
