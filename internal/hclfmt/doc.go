// Package hclfmt rewrites configuration source into its one canonical layout. It is for the fmt command and for whoever writes
// configuration.
//
// Spaces, indentation and the alignment of equals signs are hclwrite's. Beyond that some spellings of old configurations become
// today's: an interpolation that is a whole string loses its quotes, types of variables lose theirs.
//
// Invariants: source that can't be parsed is refused and never touched; what comes out can be parsed; layout is stable (formatting
// twice is the same as once), while of interpolations in each other only the outermost is unwrapped at a time; nothing but the old
// spellings listed above changes its tokens.
package hclfmt
