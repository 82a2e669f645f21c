package files

import (
	"context"
	"path"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// sha256Of implements the function sha256_of.
type sha256Of struct{}

func (sha256Of) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "sha256_of"
}

func (sha256Of) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary:    "The SHA-256 sum of a string in hexadecimal, as in the attribute sha256 of files_file.",
		Parameters: []function.Parameter{function.StringParameter{Name: "text", Description: "The document."}},
		Return:     function.StringReturn{},
	}
}

func (sha256Of) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	resp.Error = req.Arguments.Get(ctx, &text)
	if resp.Error == nil {
		resp.Error = resp.Result.Set(ctx, content{text: text}.sha256())
	}
}

// joinPath implements the function join_path.
type joinPath struct{}

func (joinPath) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "join_path"
}

func (joinPath) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Joins the parts of a path below the root folder. It is an error if the path would lead out of it.",
		Parameters: []function.Parameter{function.StringParameter{Name: "first",
			Description: "The first part."}},
		VariadicParameter: function.StringParameter{Name: "more", Description: "The other parts."},
		Return:            function.StringReturn{},
	}
}

func (joinPath) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var first string
	var more []string
	resp.Error = req.Arguments.Get(ctx, &first, &more)
	if resp.Error != nil {
		return
	}
	joined := path.Join(append([]string{first}, more...)...)
	if err := checkPath(joined); err != nil {
		resp.Error = function.NewFuncError(err.Error())
		return
	}
	resp.Error = resp.Result.Set(ctx, joined)
}

// frontMatter implements the function front_matter.
type frontMatter struct{}

var frontMatterTypes = map[string]attr.Type{
	"fields": types.MapType{ElemType: types.StringType},
	"body":   types.StringType,
}

type page struct {
	Fields map[string]string `tfsdk:"fields"`
	Body   string            `tfsdk:"body"`
}

func (frontMatter) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "front_matter"
}

func (frontMatter) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Splits a document into front matter and body.",
		Description: "Front matter consists of lines \"name: value\" between two lines of three dashes. A " +
			"document without it has no fields.",
		Parameters: []function.Parameter{function.StringParameter{Name: "text", Description: "The document."}},
		Return:     function.ObjectReturn{AttributeTypes: frontMatterTypes},
	}
}

func (frontMatter) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text string
	resp.Error = req.Arguments.Get(ctx, &text)
	if resp.Error != nil {
		return
	}
	p, bad := splitFrontMatter(text)
	if bad != "" {
		resp.Error = function.NewArgumentFuncError(0, bad)
		return
	}
	resp.Error = resp.Result.Set(ctx, p)
}

// splitFrontMatter splits text into its front matter and its body. If the front matter is invalid,
// bad describes the error.
func splitFrontMatter(text string) (p page, bad string) {
	p = page{Fields: map[string]string{}, Body: text}
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return p, ""
	}
	head, body, ok := strings.Cut(rest, "---\n")
	if !ok {
		return p, "the front matter has no end: a line of three dashes is missing"
	}
	for line := range strings.Lines(head) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			return p, "the line " + strings.TrimSpace(line) + " is not of the form \"name: value\""
		}
		p.Fields[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	p.Body = body
	return p, ""
}
