package ui

import (
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/lang/marks"
	"tofu/internal/tfdiags"
)

// diagnostic is a diagnostic in its JSON form, together with data that only the human form
// needs.
type diagnostic struct {
	Severity   string      `json:"severity"`
	Summary    string      `json:"summary"`
	Detail     string      `json:"detail"`
	Address    string      `json:"address,omitempty"`
	Range      *diagRange  `json:"range,omitempty"`
	Snippet    *snippet    `json:"snippet,omitempty"`
	Difference *difference `json:"difference,omitempty"`

	difference [2]cty.Value // values on both sides of a failed comparison
}

type diagRange struct {
	Filename string  `json:"filename"`
	Start    diagPos `json:"start"`
	End      diagPos `json:"end"`
}

type diagPos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

type snippet struct {
	Context        *string         `json:"context"`
	Code           string          `json:"code"`
	StartLine      int             `json:"start_line"`
	HighlightStart int             `json:"highlight_start_offset"`
	HighlightEnd   int             `json:"highlight_end_offset"`
	Values         []snippetValue  `json:"values"`
	FunctionCall   *functionCalled `json:"function_call,omitempty"`
}

type snippetValue struct {
	Traversal string `json:"traversal"`
	Statement string `json:"statement"`
}

type functionCalled struct {
	CalledAs  string             `json:"called_as"`
	Signature *functionSignature `json:"signature,omitempty"`
}

type functionSignature struct {
	Name       string           `json:"name"`
	Params     []signatureParam `json:"params"`
	Variadic   *signatureParam  `json:"variadic_param,omitempty"`
	ReturnType json.RawMessage  `json:"return_type"`
}

type difference struct {
	Before          json.RawMessage `json:"before"`
	After           json.RawMessage `json:"after"`
	AfterUnknown    json.RawMessage `json:"after_unknown"`
	BeforeSensitive json.RawMessage `json:"before_sensitive"`
	AfterSensitive  json.RawMessage `json:"after_sensitive"`
}

// describe converts a diagnostic to its form for output.
func (s *sources) describe(d tfdiags.Diagnostic) *diagnostic {
	out := &diagnostic{Severity: d.Severity.String(), Summary: d.Summary, Detail: d.Detail, Address: d.Address}
	if d.Subject != nil {
		subject := *d.Subject
		if subject.Empty() { // highlight at least one character
			subject.End.Byte++
			subject.End.Column++
		}
		out.Range = &diagRange{subject.Filename, position(subject.Start), position(subject.End)}
		out.Snippet = s.snippet(d, subject)
	}
	if _, failed := d.Extra.(tfdiags.CheckRule); failed {
		out.compare(d)
	}
	return out
}

func position(p hcl.Pos) diagPos { return diagPos{p.Line, p.Column, p.Byte} }

func (s *sources) snippet(d tfdiags.Diagnostic, subject hcl.Range) *snippet {
	file := s.file(subject.Filename)
	if file == nil {
		return nil
	}
	shown := subject
	if d.Context != nil && d.Context.Filename == subject.Filename {
		shown = hcl.RangeOver(shown, *d.Context)
	}
	code, line, start, ok := file.excerpt(shown)
	if !ok {
		return nil
	}
	out := &snippet{Code: code, StartLine: line, Values: []snippetValue{}}
	if context := file.context(subject.Start.Byte); context != "" {
		out.Context = &context
	}
	clamp := func(offset int) int { return min(max(offset-start, 0), len(code)) }
	out.HighlightStart, out.HighlightEnd = clamp(subject.Start.Byte), clamp(subject.End.Byte)
	// Don't end within a character.
	for out.HighlightEnd < len(code) && !utf8.RuneStart(code[out.HighlightEnd]) {
		out.HighlightEnd++
	}
	if d.Expression != nil && d.EvalContext != nil {
		out.Values = append(out.Values, involvedValues(d)...)
	}
	out.FunctionCall = calledFunction(d)
	return out
}

// calledFunction returns the called function if the diagnostic is about a function call, or
// nil.
func calledFunction(d tfdiags.Diagnostic) *functionCalled {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](&hcl.Diagnostic{Extra: d.Extra})
	if !ok {
		return nil
	}
	out := &functionCalled{CalledAs: call.CalledFunctionName()}
	for ctx := d.EvalContext; ctx != nil; ctx = ctx.Parent() {
		fn, known := ctx.Functions[out.CalledAs]
		if !known {
			continue
		}
		name := out.CalledAs[strings.LastIndex(out.CalledAs, ":")+1:] // name without namespace
		out.Signature = &functionSignature{Name: name, Params: []signatureParam{}, ReturnType: jsonNull}
		var args []cty.Type
		for _, p := range fn.Params() {
			out.Signature.Params = append(out.Signature.Params, parameter(p))
			args = append(args, p.Type)
		}
		if p := fn.VarParam(); p != nil {
			v := parameter(*p)
			out.Signature.Variadic = &v
			args = append(args, p.Type)
		}
		ty, err := fn.ReturnType(args)
		if err != nil {
			ty = cty.DynamicPseudoType
		}
		out.Signature.ReturnType = typeJSON(ty)
		break
	}
	return out
}

func parameter(p function.Parameter) signatureParam {
	return signatureParam{Name: p.Name, Type: typeJSON(p.Type)}
}

// compare records the values on both sides of a failed comparison, without sensitive parts.
// They tell the user more than the result "false".
func (out *diagnostic) compare(d tfdiags.Diagnostic) {
	binary, ok := d.Expression.(*hclsyntax.BinaryOpExpr)
	if !ok || binary.Op != hclsyntax.OpEqual || d.EvalContext == nil {
		return
	}
	left, diags := binary.LHS.Value(d.EvalContext)
	right, more := binary.RHS.Value(d.EvalContext)
	if diags.HasErrors() || more.HasErrors() {
		return
	}
	out.difference = [2]cty.Value{left, right}
	out.Difference = &difference{
		Before: valueJSON(withoutSecrets(left)), After: valueJSON(withoutSecrets(right)), AfterUnknown: jsonFalse,
		BeforeSensitive: sensitiveJSON(left), AfterSensitive: sensitiveJSON(right),
	}
	if !right.IsWhollyKnown() {
		out.Difference.AfterUnknown = unknownJSON(right)
	}
}

// withoutSecrets returns a value in which sensitive parts are replaced by null.
func withoutSecrets(v cty.Value) cty.Value {
	if !marks.Contains(v, marks.Sensitive) {
		return v
	}
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if marks.Has(v, marks.Sensitive) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil {
		return cty.NullVal(v.Type())
	}
	return out
}

// DescribeDiagnostics returns the JSON form that documents have of diagnostics: a list. read is that of WriteValidation.
func DescribeDiagnostics(diags tfdiags.Diagnostics, read func(filename string) []byte) any {
	src, out := newSources(read), make([]*diagnostic, 0, len(diags))
	for _, d := range diags {
		out = append(out, src.describe(d))
	}
	return out
}

type validation struct {
	FormatVersion string `json:"format_version"`
	Valid         bool   `json:"valid"`
	ErrorCount    int    `json:"error_count"`
	WarningCount  int    `json:"warning_count"`
	Diagnostics   any    `json:"diagnostics"`
}

// WriteValidation writes the document of `validate -json`. read returns the content of a file, or
// nil if the file can't be read.
func WriteValidation(w io.Writer, diags tfdiags.Diagnostics, read func(filename string) []byte) error {
	out := validation{FormatVersion: stateFormat, Valid: !diags.HasErrors(), Diagnostics: DescribeDiagnostics(diags, read)}
	for _, d := range diags {
		if d.Severity == tfdiags.Error {
			out.ErrorCount++
		} else {
			out.WarningCount++
		}
	}
	return writeIndented(w, out)
}
