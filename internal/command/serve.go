package command

import (
	"context"
	"errors"
	"io"
	"os"

	"tofu/internal/lint"
	"tofu/internal/lsp"
	"tofu/internal/mcp"
	"tofu/internal/serve"
	"tofu/internal/warm"
)

var cmdServe = &Command{
	Name: "serve", Own: true, Short: "Answer questions of programs about root modules",
	Long: `
Keeps root modules in memory and answers questions about them: diagnostics,
plans, explanations, values, drift. Requests and answers are JSON-RPC 2.0, one
message a line, on standard input and output or, with -socket, on a Unix socket
with the rights of the user only. docs/SERVE.md describes the methods.

With -lsp it is a language server for editors instead, by the Language Server
Protocol on standard input and output. With -mcp it gives tools to language
models, by the Model Context Protocol: they see no secrets, and change only what
someone has approved.

Answers equal those of the other commands; only what changed is read, parsed and
planned again. Files need not be saved: a client can give their texts. Nothing
is changed without an approval: a client proposes a plan, "tofu approve" approves
it, and only that plan is applied.`,
	New: with(func(f *serveFlags, fs *options) {
		f.varFlags.add(fs)
		addLint(fs, &f.Lint)
		fs.BoolVar(&f.LSP, "lsp", false, "Be a language server for an editor.")
		fs.BoolVar(&f.MCP, "mcp", false, "Give tools to a language model.")
		fs.StringVar(&f.Socket, "socket", "", "Listen on a Unix socket at `path` until an interrupt.")
	}, runServe),
}

type serveFlags struct {
	varFlags
	Lint   *lint.Selection
	Socket string
	LSP    bool
	MCP    bool
}

func runServe(ctx context.Context, app *App, f *serveFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	if f.LSP && f.MCP || (f.LSP || f.MCP) && f.Socket != "" {
		return badUsage("Incompatible options", "Only one of -lsp, -mcp and -socket can be used. With the first two, the one "+
			"client is on standard input and output.")
	}
	core, dir, err := warmCore(app)
	if err != nil {
		return err
	}
	defer core.Close()
	options := warm.Options{Variables: f.Variables, Lint: f.Lint}
	if f.LSP {
		return lsp.Serve(ctx, core, dir, options, app.In, app.Terminal.Out)
	}
	if f.MCP {
		connection := pipe{app.In, app.Terminal.Out}
		return mcp.Serve(ctx, core, dir, options, connection, connection)
	}
	server := serve.New(core, dir, options)
	if f.Socket != "" {
		return server.Listen(ctx, f.Socket)
	}
	return server.Serve(ctx, pipe{app.In, app.Terminal.Out}, true)
}

// warmCore returns a core for the working directory, and that directory.
func warmCore(app *App) (*warm.Core, string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, "", err
	}
	return warm.New(app.Process, dir), dir, nil
}

// pipe is a connection over two streams.
type pipe struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer. It ends a read in progress.
func (p pipe) Close() error {
	if in, ok := p.Reader.(*os.File); ok {
		if err := in.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			return err
		}
	}
	return nil
}
