package roots

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/nesting"
)

// fileFunctions are the functions whose first argument is the path of a file or directory.
var fileFunctions = map[string]bool{"file": true, "filebase64": true, "filebase64sha256": true,
	"filebase64sha512": true, "fileexists": true, "filemd5": true, "fileset": true, "filesha1": true,
	"filesha256": true, "filesha512": true, "templatefile": true}

// filesRead returns the paths that functions in a module read, if they are constant but for
// path.module, or for path.root and relative paths in a root module. It ignores what it can't read.
func filesRead(dir string, isRoot bool) []string {
	entries, err := List(dir)
	if err != nil {
		return nil
	}
	paths := map[string]cty.Value{"module": cty.StringVal(filepath.ToSlash(dir))}
	if isRoot {
		paths["root"] = paths["module"]
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"path": cty.ObjectVal(paths)}}
	var out []string
	for _, e := range entries {
		if !configs.IsConfigFile(e.Name()) || strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		src, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || nesting.Check(e.Name(), src) != nil {
			continue
		}
		file, _ := hclsyntax.ParseConfig(src, e.Name(), hcl.InitialPos)
		funcs.VisitCallsInNode(file.Body.(*hclsyntax.Body), func(call *hclsyntax.FunctionCallExpr) {
			switch path := pathRead(call, ctx); {
			case path == "":
			case filepath.IsAbs(path) || len(call.Args[0].Variables()) > 0:
				out = append(out, path)
			case isRoot: // relative paths in other modules are relative to the root module
				out = append(out, filepath.Join(dir, path))
			}
		})
	}
	return out
}

// pathRead returns the path that a call reads; "" if it is none of these functions or the path is
// not constant.
func pathRead(call *hclsyntax.FunctionCallExpr, ctx *hcl.EvalContext) string {
	if !fileFunctions[strings.TrimPrefix(call.Name, funcs.Namespace)] || len(call.Args) == 0 {
		return ""
	}
	v, diags := call.Args[0].Value(ctx)
	if diags.HasErrors() || v.Type() != cty.String || !v.IsKnown() || v.IsNull() {
		return ""
	}
	return filepath.FromSlash(v.AsString())
}
