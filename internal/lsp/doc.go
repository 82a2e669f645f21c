// Package lsp is a language server for editors, according to the Language Server Protocol 3.17.
//
// [Serve] answers one client. What is in the files, such as names and references, it finds itself, file
// by file (symbols.go, index.go). Everything else comes from a [warm.Core]: the loaded configuration, the
// schemas of providers, what a validation finds, and a plan with its values. A worker (work.go) asks for
// them after each change; requests use the newest answers, and never wait for it.
//
// Invariants: the server changes no file and no object; it returns edits to the client. Text in an answer
// has no sensitive and no ephemeral values. A request that fails, or panics, causes an error for that
// request only. A file is parsed again only if its text has changed, and an answer takes time linear in
// the size of the open root modules, or less.
package lsp
