// Package ui is everything a person or a program reads: it renders plans, states, configuration, diagnostics and events.
//
// Commands hand documents and events to a [Printer], of which there are two: one for people and one that prints a JSON object per
// line for programs; [Tee] is both. Whole JSON documents (`show -json` and its like) are written by the Write functions, which
// stream: they hold one object at a time, however many there are.
//
// Invariants: the only package that knows that there are two forms; what carries the sensitive mark, or is sensitive by its schema,
// is never printed for people, and what carries the ephemeral mark is never printed at all (JSON documents do hold sensitive
// values, beside a map of what is sensitive: that is their contract); rendering changes nothing and costs time and memory linear in
// what is printed; nothing here performs an operation or decides one.
package ui
