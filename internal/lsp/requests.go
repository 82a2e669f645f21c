package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"tofu/internal/addrs"
	"tofu/internal/lsp/protocol"
)

// requests holds the methods with answers.
var requests = map[string]request{
	"textDocument/completion": answer(func(s *server, f *file, p *protocol.CompletionParams) (any, error) {
		snippets := s.client.TextDocument != nil && s.client.TextDocument.Completion != nil &&
			s.client.TextDocument.Completion.CompletionItem != nil &&
			s.client.TextDocument.Completion.CompletionItem.SnippetSupport
		items := f.view.complete(f.document, f.dir, f.offset(p.Position), snippets)
		return &protocol.CompletionList{Items: items}, nil
	}),
	"textDocument/hover": answer(func(s *server, f *file, p *protocol.HoverParams) (any, error) {
		text, rng := f.view.hover(f.parsed, f.dir, f.offset(p.Position))
		if text == "" {
			return nil, nil
		}
		at := f.rangeOf(rng)
		return &protocol.Hover{Contents: *markdown(text), Range: &at}, nil
	}),
	"textDocument/definition": answer(func(s *server, f *file, p *protocol.DefinitionParams) (any, error) {
		x := s.index()
		_, sym, ok := x.at(f.path, f.offset(p.Position))
		if !ok {
			return nil, nil
		}
		def, ok := x.definition(sym)
		if !ok {
			return nil, nil
		}
		return []protocol.Location{x.location(def)}, nil
	}),
	"textDocument/references": answer(func(s *server, f *file, p *protocol.ReferenceParams) (any, error) {
		x := s.index()
		out := []protocol.Location{}
		_, sym, ok := x.at(f.path, f.offset(p.Position))
		if !ok {
			return out, nil
		}
		for _, o := range x.bySymbol[sym] {
			if o.role != definition || p.Context.IncludeDeclaration {
				out = append(out, x.location(o))
			}
		}
		return out, nil
	}),
	"textDocument/prepareRename": answer(func(s *server, f *file, p *protocol.PrepareRenameParams) (any, error) {
		_, rng, err := s.index().renameable(f.path, f.offset(p.Position))
		if err != nil {
			return nil, err
		}
		return f.rangeOf(rng), nil
	}),
	"textDocument/rename": answer(func(s *server, f *file, p *protocol.RenameParams) (any, error) {
		e, err := s.index().rename(f.path, f.offset(p.Position), p.NewName)
		if err != nil {
			return nil, err
		}
		sortEdits(e)
		return &protocol.WorkspaceEdit{Changes: e}, nil
	}),
	"textDocument/codeAction": answer(func(s *server, f *file, p *protocol.CodeActionParams) (any, error) {
		return f.view.actions(f.parsed, p.Range, p.Context.Diagnostics), nil
	}),
	"textDocument/semanticTokens/full": answer(func(s *server, f *file, _ *protocol.SemanticTokensParams) (any, error) {
		return &protocol.SemanticTokens{Data: f.semanticTokens()}, nil
	}),
	"textDocument/formatting": answer(func(s *server, f *file, _ *protocol.DocumentFormattingParams) (any, error) {
		return format(f.document)
	}),
	"textDocument/documentSymbol": answer(func(s *server, f *file, _ *protocol.DocumentSymbolParams) (any, error) {
		if f.body == nil {
			return []protocol.DocumentSymbol{}, nil
		}
		return f.outline(f.body, 0), nil
	}),
	"textDocument/inlayHint": answer(func(s *server, f *file, p *protocol.InlayHintParams) (any, error) {
		return f.view.hints(f.parsed, f.dir, f.offset(p.Range.Start), f.offset(p.Range.End)), nil
	}),
	"textDocument/codeLens": answer(func(s *server, f *file, _ *protocol.CodeLensParams) (any, error) {
		return f.view.lenses(f.parsed, f.dir), nil
	}),
	"workspace/executeCommand": (*server).execute,
}

// file is the file that a request is about.
type file struct {
	*parsed
	dir  string
	view *view
}

// answer returns a request about a file from a function. The parameters of all such requests have the
// document at the same place.
func answer[P any](f func(*server, *file, *P) (any, error)) request {
	return func(s *server, _ context.Context, params json.RawMessage) (any, error) {
		var of struct {
			TextDocument protocol.TextDocumentIdentifier `json:"textDocument"`
		}
		var p P
		if err := decode(params, &of); err != nil {
			return nil, err
		}
		if err := decode(params, &p); err != nil {
			return nil, err
		}
		path, err := documentPath(of.TextDocument.Uri)
		if err != nil {
			return nil, err
		}
		read := s.read(path)
		if read == nil {
			return nil, fmt.Errorf("the file %s can't be read", path)
		}
		dir := filepath.Dir(path)
		return f(s, &file{read, dir, s.viewOf(dir)}, &p)
	}
}

func (x *index) location(o occurrence) protocol.Location {
	at := o.name
	if at.Empty() {
		at = o.span
	}
	return protocol.Location{Uri: uriOf(o.span.Filename), Range: x.files[o.span.Filename].rangeOf(at)}
}

// execute runs a command of a code lens. It returns the text, and shows it if the editor can.
func (s *server) execute(ctx context.Context, params json.RawMessage) (any, error) {
	var p protocol.ExecuteCommandParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	if p.Command != showDifference || len(p.Arguments) != 2 {
		return nil, fmt.Errorf("the only command is %s, with a root module and an address", showDifference)
	}
	uri, _ := p.Arguments[0].(string)
	address, _ := p.Arguments[1].(string)
	addr, ok := addrs.ParseConfigResourceText(address)
	if !ok && address != "" {
		return nil, fmt.Errorf("%q is not the address of a resource", address)
	}
	s.mu.Lock()
	v := s.views[pathOf(uri)]
	s.mu.Unlock()
	if v == nil || v.shown == nil {
		return nil, fmt.Errorf("there is no plan of %s", uri)
	}
	text := v.difference(addr)
	if text == "" {
		text = "No changes\n"
	}
	if w := s.client.Window; w != nil && w.ShowDocument != nil && w.ShowDocument.Support {
		return text, s.showText(ctx, text)
	}
	return text, nil
}

// showText shows a text in the editor, by a file that exists until the server ends.
func (s *server) showText(ctx context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.scratch == "" {
		dir, err := os.MkdirTemp("", "tofu-lsp-")
		if err != nil {
			return err
		}
		s.scratch = dir
	}
	name := filepath.Join(s.scratch, "plan.txt")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return err
	}
	s.conn.Call(ctx, "window/showDocument", &protocol.ShowDocumentParams{Uri: uriOf(name), TakeFocus: true})
	return nil
}
