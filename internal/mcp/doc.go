// Package mcp lets language models ask about root modules, by the Model Context Protocol.
//
// [Serve] answers one client with the tools in tools.go. All but one only read. Tool propose_apply makes
// a plan and returns its digest and a page for people; tool apply applies exactly that plan, if someone
// has approved it outside of the protocol: with `tofu approve`, or by a signature.
//
// Invariants: no answer has sensitive or ephemeral values, the configuration of providers, or values of
// the environment. Answers are built from what people see on a terminal, where such values are hidden, and
// each answer is searched for the secrets that are known (secrets.go). Text from configuration, state and
// providers is only in the member "data" of an answer, which says that it is data. A tool works only in
// the working directory of the server and below. A tool that fails, or panics, fails alone.
package mcp
