package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/exp/jsonrpc2"

	"tofu/internal/configs"
	"tofu/internal/lsp/protocol"
	"tofu/internal/version"
	"tofu/internal/warm"
	"tofu/internal/warm/frames"
)

// server is the language server of one client.
type server struct {
	core    *warm.Core
	workDir string
	options warm.Options
	conn    *jsonrpc2.Connection
	client  protocol.ClientCapabilities
	changed chan struct{} // wakes the worker; holds at most one element
	ended   chan struct{} // closed by exit
	exit    func()        // called by the notification exit

	answering sync.WaitGroup // requests that are being answered

	mu       sync.Mutex
	texts    map[string]int32   // versions of the open documents, by path
	folders  []string           // directories that the editor has open
	pending  map[string]bool    // directories with changes that the worker has not seen
	cancel   context.CancelFunc // ends what the worker does; nil if it waits
	views    map[string]*view   // by directory of the root module
	parsed   map[string]*parsed // by path
	layout   *warm.Layout       // of the root modules in folders
	shown    map[string]bool    // files with diagnostics in the editor
	shutdown bool
	scratch  string // directory for texts that the editor shows; "" if there are none
}

// Serve answers a client until it ends the session or closes the connection. workDir is the working
// directory of the core. The options are those of all root modules.
func Serve(ctx context.Context, core *warm.Core, workDir string, options warm.Options, in io.Reader, out io.Writer) error {
	s := &server{core: core, workDir: workDir, options: options, changed: make(chan struct{}, 1), ended: make(chan struct{}),
		texts: map[string]int32{}, pending: map[string]bool{}, views: map[string]*view{}, parsed: map[string]*parsed{},
		shown: map[string]bool{}, layout: &warm.Layout{}}
	s.exit = sync.OnceFunc(func() { close(s.ended) })
	defer s.close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	conn, err := frames.New(frames.Headers, in, out).Dial(ctx, io.NopCloser(in), handler{s},
		"$/cancelRequest", func(conn *jsonrpc2.Connection) { s.conn = conn })
	if err != nil {
		return err
	}
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		s.work(ctx)
	}()
	closed := make(chan error, 1)
	go func() { closed <- conn.Wait() }()
	select {
	case err = <-closed:
	case <-s.ended:
	case <-ctx.Done():
	}
	stop()
	<-worked
	s.answering.Wait()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // the client has gone
	}
	return err
}

func (s *server) close() {
	for path := range s.texts {
		s.core.DropText(path)
	}
	if s.scratch != "" {
		os.RemoveAll(s.scratch)
	}
}

// handler passes the messages of the client to the server.
type handler struct{ *server }

// A notification changes what the server knows. Notifications are handled in their order, before later
// requests.
var notifications = map[string]func(*server, json.RawMessage) error{
	"initialized":                         func(*server, json.RawMessage) error { return nil },
	"exit":                                func(s *server, _ json.RawMessage) error { s.exit(); return nil },
	"textDocument/didOpen":                with((*server).didOpen),
	"textDocument/didChange":              with((*server).didChange),
	"textDocument/didClose":               with((*server).didClose),
	"textDocument/didSave":                func(s *server, _ json.RawMessage) error { s.refresh(nil); return nil },
	"workspace/didChangeWatchedFiles":     with((*server).didChangeFiles),
	"workspace/didChangeWorkspaceFolders": with((*server).didChangeFolders),
	"workspace/didChangeConfiguration":    func(*server, json.RawMessage) error { return nil },
}

func with[P any](f func(*server, *P) error) func(*server, json.RawMessage) error {
	return func(s *server, params json.RawMessage) error {
		var p P
		if err := decode(params, &p); err != nil {
			return err
		}
		return f(s, &p)
	}
}

func decode(params json.RawMessage, into any) error {
	if err := json.Unmarshal(params, into); err != nil {
		return jsonrpc2.NewError(-32602, "The parameters are not those of the method: "+err.Error())
	}
	return nil
}

// A request is answered beside others.
type request func(*server, context.Context, json.RawMessage) (any, error)

// null is the answer to a request that finds nothing. The library takes nil for a missing answer.
var null = json.RawMessage("null")

// Codes of errors in the protocol.
const (
	requestFailed    = -32803
	requestCancelled = -32800
	notInitialized   = -32002
)

// Handle implements jsonrpc2.Handler.
func (h handler) Handle(ctx context.Context, req *jsonrpc2.Request) (any, error) {
	s := h.server
	switch req.Method {
	case "initialize":
		return s.initialize(req.Params)
	case "shutdown":
		s.mu.Lock()
		s.shutdown = true
		s.mu.Unlock()
		return null, nil
	}
	if change, ok := notifications[req.Method]; ok {
		return frames.Answer(requestFailed, func() (any, error) { return nil, change(s, req.Params) })
	}
	answer, ok := requests[req.Method]
	if !ok {
		if !req.IsCall() && strings.HasPrefix(req.Method, "$/") {
			return nil, nil
		}
		return nil, jsonrpc2.NewError(-32601, "The server has no method "+req.Method+".")
	}
	if !req.IsCall() {
		return nil, nil
	}
	s.answering.Go(func() {
		result, err := frames.Answer(requestFailed, func() (any, error) {
			result, err := answer(s, ctx, req.Params)
			if ctx.Err() != nil && !frames.HasCode(err) {
				err = jsonrpc2.NewError(requestCancelled, "The request was canceled.")
			}
			return result, err
		})
		if result == nil && err == nil {
			result = null
		}
		_ = s.conn.Respond(req.ID, result, err) // fails only if the client has gone
	})
	return nil, jsonrpc2.ErrAsyncResponse
}

func (s *server) initialize(params json.RawMessage) (any, error) {
	var p protocol.InitializeParams
	if err := decode(params, &p); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = p.Capabilities
	for _, f := range p.WorkspaceFolders {
		s.addFolder(f.Uri)
	}
	if len(s.folders) == 0 && p.RootUri != nil {
		s.addFolder(*p.RootUri)
	}
	yes := true
	return &protocol.InitializeResult{
		ServerInfo: &protocol.ServerInfo{Name: version.Name, Version: version.Own},
		Capabilities: protocol.ServerCapabilities{
			TextDocumentSync: &protocol.TextDocumentSyncOptions{OpenClose: true,
				Change: protocol.TextDocumentSyncKindIncremental},
			CompletionProvider: &protocol.CompletionOptions{TriggerCharacters: []string{".", "\"", "["}},
			HoverProvider:      yes, DefinitionProvider: yes, ReferencesProvider: yes, DocumentSymbolProvider: yes,
			DocumentFormattingProvider: yes, InlayHintProvider: yes, CodeLensProvider: &protocol.CodeLensOptions{},
			CodeActionProvider: &protocol.CodeActionOptions{CodeActionKinds: []protocol.CodeActionKind{
				protocol.CodeActionKindQuickFix}},
			RenameProvider:         &protocol.RenameOptions{PrepareProvider: true},
			ExecuteCommandProvider: &protocol.ExecuteCommandOptions{Commands: []string{showDifference}},
			SemanticTokensProvider: &protocol.SemanticTokensOptions{Full: true,
				Legend: protocol.SemanticTokensLegend{TokenTypes: tokenTypes, TokenModifiers: tokenModifiers}},
			Workspace: &protocol.WorkspaceOptions{WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{
				Supported: true, ChangeNotifications: true}},
		},
	}, nil
}

func (s *server) addFolder(uri string) {
	if path := pathOf(uri); path != "" && !slices.Contains(s.folders, path) {
		s.folders = append(s.folders, path)
	}
}

// documentPath returns the path of a document. It returns an error if the document is no file.
func documentPath(uri string) (string, error) {
	path := pathOf(uri)
	if path == "" {
		return "", fmt.Errorf("only files can be opened, not %s", uri)
	}
	return path, nil
}

func (s *server) didOpen(p *protocol.DidOpenTextDocumentParams) error {
	path, err := documentPath(p.TextDocument.Uri)
	if err != nil {
		return err
	}
	s.set(path, p.TextDocument.Version, []byte(p.TextDocument.Text))
	return nil
}

func (s *server) didChange(p *protocol.DidChangeTextDocumentParams) error {
	path, err := documentPath(p.TextDocument.Uri)
	if err != nil {
		return err
	}
	s.mu.Lock()
	_, open := s.texts[path]
	s.mu.Unlock()
	if !open {
		return fmt.Errorf("%s is not open", path)
	}
	text, err := s.core.Text(path)
	if err != nil {
		return err
	}
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			text = []byte(c.Text)
			continue
		}
		d := newDocument(path, text)
		start, end := d.offset(c.Range.Start), d.offset(c.Range.End)
		text = slices.Concat(text[:start], []byte(c.Text), text[max(start, end):])
	}
	s.set(path, p.TextDocument.Version, text)
	return nil
}

func (s *server) set(path string, version int32, text []byte) {
	s.core.SetText(path, text)
	s.mu.Lock()
	s.texts[path] = version
	s.mu.Unlock()
	s.refresh([]string{path})
}

func (s *server) didClose(p *protocol.DidCloseTextDocumentParams) error {
	path, err := documentPath(p.TextDocument.Uri)
	if err != nil {
		return err
	}
	s.core.DropText(path)
	s.mu.Lock()
	delete(s.texts, path)
	s.mu.Unlock()
	s.refresh([]string{path})
	return nil
}

func (s *server) didChangeFiles(p *protocol.DidChangeWatchedFilesParams) error {
	var paths []string
	for _, c := range p.Changes {
		paths = append(paths, pathOf(c.Uri))
	}
	s.refresh(paths)
	return nil
}

func (s *server) didChangeFolders(p *protocol.DidChangeWorkspaceFoldersParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range p.Event.Removed {
		path := pathOf(f.Uri)
		s.folders = slices.DeleteFunc(s.folders, func(dir string) bool { return dir == path })
	}
	for _, f := range p.Event.Added {
		s.addFolder(f.Uri)
	}
	return nil
}

// refresh lets the worker look at the root modules of some files again, or at all that are open.
func (s *server) refresh(paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range paths {
		if relevant(path) {
			s.pending[filepath.Dir(path)] = true
		}
	}
	if paths == nil {
		for root := range s.views {
			s.pending[root] = true
		}
	}
	if s.cancel != nil {
		s.cancel()
	}
	for root, v := range s.views {
		old := *v
		old.outdated = true
		s.views[root] = &old
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// relevant reports whether a file belongs to what a plan reads.
func relevant(path string) bool {
	return configs.IsConfigFile(path) || strings.HasSuffix(path, ".tfvars") || strings.HasSuffix(path, ".hcl") ||
		strings.HasSuffix(path, ".tfvars.json")
}

// read returns a file as the editor has it, or nil if it can't be read.
func (s *server) read(path string) *parsed {
	text, err := s.core.Text(path)
	s.mu.Lock()
	known := s.parsed[path]
	s.mu.Unlock()
	if err != nil {
		s.mu.Lock()
		delete(s.parsed, path)
		s.mu.Unlock()
		return nil
	}
	if known != nil && bytes.Equal(known.text, text) {
		return known
	}
	p := parse(path, text)
	s.mu.Lock()
	s.parsed[path] = p
	s.mu.Unlock()
	return p
}

// index returns the index of all open root modules.
func (s *server) index() *index {
	s.mu.Lock()
	list := slices.Collect(maps.Values(s.views))
	remote := s.layout.Remote
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b *view) int { return strings.Compare(a.root, b.root) })
	return newIndex(list, remote, s.read, func(dir string) []string {
		entries, _ := os.ReadDir(dir)
		var out []string
		for _, e := range entries {
			out = append(out, filepath.Join(dir, e.Name()))
		}
		return out
	})
}

// viewOf returns the view of the first root module that uses a directory and is open. Without one,
// it returns an empty view.
func (s *server) viewOf(dir string) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	var empty *view
	for _, root := range slices.Sorted(maps.Keys(s.views)) {
		v := s.views[root]
		if v.root == dir && v.config == nil {
			empty = v
		}
		if v.module(dir) != nil {
			return v
		}
	}
	if empty != nil {
		return empty
	}
	return &view{root: dir, base: s.workDir, evaluating: &sync.Mutex{}}
}
