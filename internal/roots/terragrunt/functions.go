package terragrunt

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/atomicfile"
)

// dynamic lists the functions whose results are not constant, with the reasons.
var dynamic = map[string]string{
	"run_cmd":                         "it runs a program",
	"sops_decrypt_file":               "it decrypts a file; use an encrypted variable file or a data source",
	"get_aws_account_id":              "it asks AWS; use the data source aws_caller_identity",
	"get_aws_account_alias":           "it asks AWS; use the data source aws_iam_account_alias",
	"get_aws_caller_identity_arn":     "it asks AWS; use the data source aws_caller_identity",
	"get_aws_caller_identity_user_id": "it asks AWS; use the data source aws_caller_identity",
	"get_terraform_command":           "it depends on the command",
	"get_terraform_cli_args":          "it depends on the command",
	"get_terragrunt_source_cli_flag":  "it depends on the command",
}

// functions returns Terragrunt's functions for expressions in the file c.
func (c *config) functions() map[string]function.Function {
	out := c.constant()
	for name, why := range dynamic {
		out[name] = function.New(&function.Spec{
			VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType,
				AllowNull: true, AllowUnknown: true},
			Type: func([]cty.Value) (cty.Type, error) {
				return cty.DynamicPseudoType, fmt.Errorf("the result of %s is not constant: %s", name, why)
			},
			Impl: func([]cty.Value, cty.Type) (cty.Value, error) { panic("unreachable: the type is an error") },
		})
	}
	return out
}

// constant returns the functions whose results depend only on files and the environment.
func (c *config) constant() map[string]function.Function {
	return map[string]function.Function{
		"find_in_parent_folders": texts(func(args []string) (string, error) { return findAbove(c.unit.dir, args) }),
		"path_relative_to_include": texts(func(args []string) (string, error) {
			return relative(c.including(args), c.unit.dir)
		}),
		"path_relative_from_include": texts(func(args []string) (string, error) {
			return relative(c.unit.dir, c.including(args))
		}),
		"get_terragrunt_dir":          texts(func([]string) (string, error) { return slash(c.unit.dir), nil }),
		"get_original_terragrunt_dir": texts(func([]string) (string, error) { return slash(c.unit.dir), nil }),
		"get_working_dir":             texts(func([]string) (string, error) { return slash(c.unit.dir), nil }),
		"get_parent_terragrunt_dir": texts(func(args []string) (string, error) {
			return slash(c.including(args)), nil
		}),
		"get_repo_root": texts(func([]string) (string, error) { return repository(c.unit.dir) }),
		"get_path_from_repo_root": texts(func([]string) (string, error) {
			top, err := repository(c.unit.dir)
			if err != nil {
				return "", err
			}
			return relative(top, c.unit.dir)
		}),
		"get_path_to_repo_root": texts(func([]string) (string, error) {
			top, err := repository(c.unit.dir)
			if err != nil {
				return "", err
			}
			return relative(c.unit.dir, top)
		}),
		"get_env":           c.getEnv(),
		"get_platform":      texts(func([]string) (string, error) { return runtime.GOOS, nil }),
		"mark_as_read":      texts(func(args []string) (string, error) { return args[0], nil }),
		"mark_glob_as_read": texts(func(args []string) (string, error) { return strings.Join(args, ""), nil }),
		"deep_merge":        function.New(deepMerge),
		"read_tfvars_file":  texts(func(args []string) (string, error) { return c.readVariables(args) }),
		"read_terragrunt_config": function.New(&function.Spec{
			Params:   []function.Parameter{{Name: "path", Type: cty.String}},
			VarParam: &function.Parameter{Name: "default", Type: cty.DynamicPseudoType},
			Type:     function.StaticReturnType(cty.DynamicPseudoType),
			Impl:     func(args []cty.Value, _ cty.Type) (cty.Value, error) { return c.readConfig(args) },
		}),
	}
}

// deepMerge merges objects recursively, like merge_strategy = "deep".
var deepMerge = &function.Spec{
	VarParam: &function.Parameter{Name: "maps", Type: cty.DynamicPseudoType},
	Type: func(args []cty.Value) (cty.Type, error) {
		v, err := mergeAll(args)
		return v.Type(), err
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return mergeAll(args) },
}

func mergeAll(args []cty.Value) (cty.Value, error) {
	out := cty.EmptyObjectVal
	for i, a := range args {
		if !isObject(a) {
			return cty.DynamicVal, function.NewArgErrorf(i, "must be an object")
		}
		out = mergeDeeply(out, a)
	}
	return out, nil
}

// readVariables reads a file of variable values and returns them as JSON.
func (c *config) readVariables(args []string) (string, error) {
	if len(args) != 1 {
		return "", errors.New("read_tfvars_file needs one argument, the path of a file")
	}
	path := c.unit.real(c.absolute(args[0]))
	if strings.HasSuffix(path, ".json") {
		text, err := atomicfile.Read(path)
		return string(text), err
	}
	f, err := c.unit.files.parse(path)
	if err != nil {
		return "", err
	}
	all := make(map[string]cty.Value)
	for name, attr := range f.body.Attributes {
		v, diags := attr.Expr.Value(nil)
		if diags.HasErrors() {
			return "", diags
		}
		all[name] = v
	}
	text, err := json.Marshal(ctyjson.SimpleJSONValue{Value: cty.ObjectVal(all)})
	return string(text), err
}

// texts returns a function whose arguments and result are strings.
func texts(f func(args []string) (string, error)) function.Function {
	return function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "args", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			list := make([]string, len(args))
			for i, a := range args {
				list[i] = a.AsString()
			}
			text, err := f(list)
			return cty.StringVal(text), err
		},
	})
}

// readConfig implements read_terragrunt_config. In the file that it reads, functions refer to the
// current unit. The second argument is the result if the file doesn't exist.
func (c *config) readConfig(args []cty.Value) (cty.Value, error) {
	path := c.absolute(args[0].AsString())
	_, err := os.Stat(c.unit.real(path))
	if err != nil && len(args) > 1 {
		return args[1], nil
	}
	other, err := c.unit.read(path)
	if err != nil {
		return cty.DynamicVal, err
	}
	return other.asValue(), nil
}

// including returns the directory of an included file. Without arguments, it is the directory of c
// if c is itself included, or else of the first file that c includes. With an argument, it is the
// directory of the file that the include block of that name includes. If there is no such file, it
// is the directory of the unit.
func (c *config) including(args []string) string {
	if c != c.unit.own && len(args) == 0 {
		return filepath.Dir(c.path)
	}
	for _, in := range c.unit.own.includes {
		if len(args) == 0 || in.name == args[0] {
			return filepath.Dir(in.config.path)
		}
	}
	return c.unit.dir
}

// findAbove searches the directories above the unit for a file and returns its path. The first
// argument is the name of the file, by default terragrunt.hcl. The second is the result if the file
// isn't found; without it, this is an error.
func findAbove(dir string, args []string) (string, error) {
	name := fileName
	if len(args) > 0 {
		name = args[0]
	}
	for at := filepath.Dir(dir); ; at = filepath.Dir(at) {
		path := filepath.Join(at, name)
		_, err := os.Stat(path)
		if err == nil {
			return slash(path), nil
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if len(args) > 1 {
		return args[1], nil
	}
	return "", fmt.Errorf("there is no file %s in the directories above %s", name, dir)
}

// repository returns the top directory of the git repository that contains a directory.
func repository(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		_, err := os.Stat(filepath.Join(at, ".git"))
		if err == nil {
			return slash(at), nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a git repository", dir)
		}
	}
}

func relative(from, to string) (string, error) {
	rel, err := filepath.Rel(filepath.FromSlash(from), to)
	return slash(rel), err
}

func slash(path string) string { return filepath.ToSlash(path) }
