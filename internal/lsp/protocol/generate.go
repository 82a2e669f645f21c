//go:build ignore

// This program writes types.go from metaModel.json, the machine-readable description of the Language
// Server Protocol in the repository microsoft/vscode-languageserver-node, directory protocol:
//
//	go run generate.go metaModel.json
//
// It writes the types in the list roots and those that they refer to, up to version 3.17.
package main

import (
	"encoding/json"
	"fmt"
	"go/format"
	"log"
	"os"
	"regexp"
	"slices"
	"strings"
)

// roots lists the parameters and results of the methods that the server has.
var roots = []string{
	"InitializeParams", "InitializeResult", "DidOpenTextDocumentParams", "DidChangeTextDocumentParams",
	"DidCloseTextDocumentParams", "DidChangeWatchedFilesParams", "DidChangeWorkspaceFoldersParams",
	"PublishDiagnosticsParams", "CompletionParams", "CompletionList", "HoverParams", "Hover",
	"DefinitionParams", "ReferenceParams", "Location", "PrepareRenameParams", "RenameParams",
	"CodeActionParams", "CodeAction", "SemanticTokensParams", "SemanticTokens",
	"DocumentFormattingParams", "DocumentSymbolParams", "DocumentSymbol", "InlayHintParams", "InlayHint",
	"CodeLensParams", "CodeLens", "ExecuteCommandParams", "ShowDocumentParams", "ShowMessageParams",
	"CancelParams",
}

// only lists the properties that are used of types that have many others.
var only = map[string][]string{
	"InitializeParams":               {},
	"_InitializeParams":              {"rootUri", "capabilities"},
	"ClientCapabilities":             {"workspace", "textDocument", "window"},
	"TextDocumentClientCapabilities": {"completion"},
	"CompletionClientCapabilities":   {"completionItem"},
	"WorkspaceClientCapabilities":    {"inlayHint", "codeLens", "didChangeWatchedFiles"},
	"WindowClientCapabilities":       {"showDocument"},
	"ClientCompletionItemOptions":    {"snippetSupport"},
	"ServerCapabilities": {"textDocumentSync", "completionProvider", "hoverProvider", "definitionProvider",
		"referencesProvider", "documentSymbolProvider", "codeActionProvider", "codeLensProvider",
		"documentFormattingProvider", "renameProvider", "executeCommandProvider",
		"semanticTokensProvider", "inlayHintProvider", "workspace"},
	"CompletionList":                          {"isIncomplete", "items"},
	"CompletionItem":                          {"label", "kind", "detail", "documentation", "sortText", "insertTextFormat", "textEdit"},
	"CodeAction":                              {"title", "kind", "diagnostics", "isPreferred", "edit", "command"},
	"CodeActionContext":                       {"diagnostics", "only"},
	"InlayHint":                               {"position", "label", "kind", "tooltip", "paddingLeft"},
	"WorkspaceEdit":                           {"changes"},
	"InlayHintWorkspaceClientCapabilities":    {"refreshSupport"},
	"CodeLensWorkspaceClientCapabilities":     {"refreshSupport"},
	"DidChangeWatchedFilesClientCapabilities": {"dynamicRegistration"},
	"CompletionOptions":                       {"triggerCharacters"},
	"TextDocumentSyncOptions":                 {"openClose", "change"},
	"CodeActionOptions":                       {"codeActionKinds"},
	"TextDocumentItem":                        {"uri", "version", "text"},
	"CompletionParams":                        {},
	"Diagnostic":                              {"range", "severity", "code", "source", "message", "relatedInformation", "tags"},
	"DocumentSymbol":                          {"name", "detail", "kind", "range", "selectionRange", "children"},
	"CodeLens":                                {"range", "command"},
	"ShowDocumentParams":                      {"uri", "takeFocus"},
	"DocumentFormattingParams":                {"textDocument"},

	"WorkspaceOptions": {"workspaceFolders"},
}

// unions says what represents a type that is one of several others. The default is any.
var unions = map[string]string{
	"CompletionItem.documentation":                           "*MarkupContent",
	"CompletionItem.textEdit":                                "*TextEdit",
	"Hover.contents":                                         "MarkupContent",
	"InlayHint.label":                                        "string",
	"InlayHint.tooltip":                                      "string",
	"DidChangeTextDocumentParams.contentChanges":             "[]struct {\nRange *Range `json:\"range\"`\nText string `json:\"text\"`\n}",
	"Diagnostic.message":                                     "string",
	"Diagnostic.code":                                        "string",
	"ServerCapabilities.textDocumentSync":                    "*TextDocumentSyncOptions",
	"ServerCapabilities.renameProvider":                      "*RenameOptions",
	"ServerCapabilities.codeActionProvider":                  "*CodeActionOptions",
	"ServerCapabilities.semanticTokensProvider":              "*SemanticTokensOptions",
	"TextDocumentSyncOptions.save":                           "bool",
	"SemanticTokensOptions.full":                             "bool",
	"SemanticTokensOptions.range":                            "bool",
	"WorkspaceFoldersServerCapabilities.changeNotifications": "bool",
}

// extra lists the types that only unions mention.
var extra = []string{"MarkupContent", "TextEdit", "TextDocumentSyncOptions", "RenameOptions",
	"CodeActionOptions", "SemanticTokensOptions"}

type model struct {
	Structures   []*structure
	Enumerations []*enumeration
	TypeAliases  []*alias
}

type structure struct {
	Name, Documentation, Since string
	Properties                 []*property
	Extends, Mixins            []*typ
}

type property struct {
	Name, Documentation, Since, Deprecated string
	Type                                   *typ
	Optional                               bool
}

type enumeration struct {
	Name, Documentation string
	Type                *typ
	Values              []struct {
		Name, Documentation, Since string
		Value                      any
	}
}

type alias struct {
	Name string
	Type *typ
}

type typ struct {
	Kind, Name string
	Element    *typ
	Key        *typ
	Value      any // of a map: a type
	Items      []*typ
}

type writer struct {
	out     strings.Builder
	structs map[string]*structure
	enums   map[string]*enumeration
	aliases map[string]*typ
	queue   []string
	done    map[string]bool
}

func main() {
	src, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	var m model
	if err := json.Unmarshal(src, &m); err != nil {
		log.Fatal(err)
	}
	w := &writer{structs: map[string]*structure{}, enums: map[string]*enumeration{}, aliases: map[string]*typ{},
		done: map[string]bool{}}
	for _, s := range m.Structures {
		w.structs[s.Name] = s
	}
	for _, e := range m.Enumerations {
		w.enums[e.Name] = e
	}
	for _, a := range m.TypeAliases {
		w.aliases[a.Name] = a.Type
	}
	w.out.WriteString("// Code generated by generate.go from the protocol's meta model; DO NOT EDIT.\n\npackage protocol\n")
	w.queue = slices.Concat(roots, extra)
	for len(w.queue) > 0 {
		name := w.queue[0]
		w.queue = w.queue[1:]
		if !w.done[name] {
			w.done[name] = true
			w.declare(name)
		}
	}
	text, err := format.Source([]byte(w.out.String()))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("types.go", text, 0o644); err != nil {
		log.Fatal(err)
	}
}

func (w *writer) declare(name string) {
	if s := w.structs[name]; s != nil {
		fmt.Fprintf(&w.out, "\n%stype %s struct {\n", comment(name, s.Documentation), name)
		for _, p := range w.properties(s) {
			field := strings.ToUpper(p.Name[:1]) + p.Name[1:]
			tag := p.Name
			if p.Optional {
				tag += ",omitempty"
			}
			fmt.Fprintf(&w.out, "%s %s `json:%q`\n", field, w.fieldType(name, p), tag)
		}
		w.out.WriteString("}\n")
		return
	}
	e := w.enums[name]
	if e == nil {
		log.Fatalf("no type %s", name)
	}
	fmt.Fprintf(&w.out, "\n%stype %s %s\n\nconst (\n", comment(name, e.Documentation), name, baseTypes[e.Type.Name])
	for _, v := range e.Values {
		if !newer(v.Since) {
			fmt.Fprintf(&w.out, "%s%s %s = %#v\n", name, strings.ToUpper(v.Name[:1])+v.Name[1:], name, v.Value)
		}
	}
	w.out.WriteString(")\n")
}

// properties returns the properties of a structure with those that it inherits.
func (w *writer) properties(s *structure) []*property {
	var out []*property
	for _, base := range slices.Concat(s.Extends, s.Mixins) {
		if !strings.HasPrefix(base.Name, "WorkDoneProgress") && base.Name != "PartialResultParams" {
			out = append(out, w.properties(w.structs[base.Name])...)
		}
	}
	for _, p := range s.Properties {
		list, limited := only[s.Name]
		if limited && !slices.Contains(list, p.Name) || newer(p.Since) && unions[s.Name+"."+p.Name] == "" {
			continue
		}
		out = append(out, p)
	}
	return out
}

var baseTypes = map[string]string{"string": "string", "integer": "int32", "uinteger": "uint32", "boolean": "bool",
	"DocumentUri": "string", "URI": "string", "decimal": "float64", "LSPAny": "any", "null": "any"}

func (w *writer) fieldType(owner string, p *property) string {
	if t, ok := unions[owner+"."+p.Name]; ok {
		return t
	}
	t := w.goType(p.Type)
	if p.Optional && w.structs[strings.TrimPrefix(t, "*")] != nil {
		return "*" + strings.TrimPrefix(t, "*")
	}
	return t
}

func (w *writer) goType(t *typ) string {
	switch t.Kind {
	case "base":
		return baseTypes[t.Name]
	case "array":
		return "[]" + w.goType(t.Element)
	case "map":
		src, _ := json.Marshal(t.Value)
		var value typ
		if err := json.Unmarshal(src, &value); err != nil {
			log.Fatal(err)
		}
		return "map[" + w.goType(t.Key) + "]" + w.goType(&value)
	case "or":
		var others []*typ
		for _, item := range t.Items {
			if item.Name != "null" {
				others = append(others, item)
			}
		}
		if len(others) != 1 {
			return "any"
		}
		inner := w.goType(others[0])
		if len(others) < len(t.Items) && others[0].Kind != "array" {
			return "*" + inner
		}
		return inner
	case "reference":
		if known, ok := baseTypes[t.Name]; ok {
			return known
		}
		if a := w.aliases[t.Name]; a != nil {
			return w.goType(a)
		}
		w.queue = append(w.queue, t.Name)
		return t.Name
	}
	return "any"
}

// newer reports whether something came after version 3.17.
func newer(since string) bool { return strings.HasPrefix(since, "3.18") }

var sentenceEnd = regexp.MustCompile(`\.(\s|$)`)

// comment returns the first sentence of a description as a comment.
func comment(name, text string) string {
	text = strings.Join(strings.Fields(strings.SplitN(text, "\n\n", 2)[0]), " ")
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		text = text[:at[0]+1]
	}
	if text == "" || strings.HasPrefix(text, "@") {
		return ""
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return fmt.Sprintf("// %s: %s\n", name, text)
}
