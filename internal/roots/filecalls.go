package roots

import (
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
	"tofu/internal/lang/funcs"
	"tofu/internal/lang/nesting"
)

// fileFunctions are the functions whose first argument is the path of a file or directory.
var fileFunctions = map[string]bool{"file": true, "filebase64": true, "filebase64sha256": true,
	"filebase64sha512": true, "fileexists": true, "filemd5": true, "fileset": true, "filesha1": true,
	"filesha256": true, "filesha512": true, "templatefile": true}

// filesRead returns the paths of files that are read by function calls in a module. It finds paths
// that are constant apart from path.module. In a root module, it also finds paths that use
// path.root and relative paths. Files in JSON, and files that can't be parsed, are ignored.
func filesRead(dir string, isRoot bool) []string {
	entries, err := List(dir)
	if err != nil {
		return nil
	}
	paths := map[string]cty.Value{"module": cty.StringVal(filepath.ToSlash(dir))}
	base := "" // in other modules, relative paths depend on the root module that calls them
	if isRoot {
		paths["root"], base = paths["module"], dir
	}
	var out []string
	for _, e := range entries {
		if configs.IsConfigFile(e.Name()) && !strings.HasSuffix(e.Name(), ".json") {
			out = append(out, filesReadBy(filepath.Join(dir, e.Name()), paths, base)...)
		}
	}
	return out
}

// filesReadByDeclarations returns the paths of files that are read by function calls in a
// roots.tofu.hcl.
func filesReadByDeclarations(file string) []string {
	return filesReadBy(file, topPath(file), filepath.Dir(file))
}

// topPath returns the values of path.NAME in a roots.tofu.hcl.
func topPath(file string) map[string]cty.Value {
	return map[string]cty.Value{"root": cty.StringVal(filepath.ToSlash(Absolute(filepath.Dir(file))))}
}

// filesReadBy returns the paths of files that are read by function calls in one file. paths are the
// values of path.NAME in expressions. base is the directory of relative paths; if it is "",
// relative paths are left out.
func filesReadBy(file string, paths map[string]cty.Value, base string) []string {
	src, err := atomicfile.Read(file)
	if err != nil || nesting.Check(file, src) != nil {
		return nil
	}
	parsed, _ := hclsyntax.ParseConfig(src, file, hcl.InitialPos)
	return filesReadIn(parsed.Body.(*hclsyntax.Body), paths, base)
}

// filesReadIn is like filesReadBy for a part of a file.
func filesReadIn(node hclsyntax.Node, paths map[string]cty.Value, base string) []string {
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{"path": cty.ObjectVal(paths)}}
	var out []string
	funcs.VisitCallsInNode(node, func(call *hclsyntax.FunctionCallExpr) {
		switch path := pathRead(call, ctx); {
		case path == "":
		case filepath.IsAbs(path) || len(call.Args[0].Variables()) > 0:
			out = append(out, path)
		case base != "":
			out = append(out, filepath.Join(base, path))
		}
	})
	return out
}

// pathRead returns the path that a function call reads. It returns "" if the function doesn't read
// files or the path is not constant.
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
