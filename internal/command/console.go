package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"tofu/internal/engine"
	"tofu/internal/lang"
	"tofu/internal/lang/nesting"
	"tofu/internal/session"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
)

var cmdConsole = &Command{
	Name: "console", Short: "Evaluate expressions as they are typed",
	Long: `
Evaluates expressions with the configuration and the current state, and prints
their values. It changes nothing. An expression continues on the next line as
long as a bracket is open; "exit" ends the console. If the expressions come
from a pipe or a file, the first error ends it.`,
	New: with(func(f *consoleFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		f.lockFlags.add(fs)
		f.Input.add(fs)
		fs.StringVar(&f.JSONInto, "json-into", "", "Write what is printed to `out.json` too, as JSON lines.")
		fs.StringVar(&f.State, "state", "", "Read the state from `path`. For the local backend only.")
	}, runConsole),
}

type consoleFlags struct {
	viewFlags
	varFlags
	lockFlags
	Input inputFlag
	State string
}

func runConsole(ctx context.Context, app *App, f *consoleFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	root, err := app.LoadRootModule(ctx, f.Variables)
	if err != nil {
		return err
	}
	p, err := app.Locate(ctx, root, session.StateRequest{Paths: session.StatePaths{State: f.State}})
	if err != nil {
		return err
	}
	cfg, err := app.LoadConfig(ctx, root.Given)
	if err != nil {
		return err
	}
	variables, err := cfg.Variables(ctx, app.Session, session.AllowUnknown)
	if err := tfdiags.Join(err, cfg.Convertible(variables)); err != nil {
		return err
	}
	open, err := app.ReadState(ctx, p, session.StateRequest{})
	if err != nil {
		return err
	}
	defer app.Release(open)
	st := session.Adopt(open.State(), cfg.Config, app.Env)
	running, err := app.OpenProviders(session.Requirements(cfg.Config, st))
	if err != nil {
		return err
	}
	defer running.Close()
	env := app.Environment(running, p.Workspace)
	env.Observe = nil
	scope, err := engine.Eval(terminal.UntilAbort(ctx), cfg.Config, st, env, variables)
	if scope == nil {
		return err
	}
	show := app.Printer.Diagnostics
	if !app.InTerminal {
		show = app.printOnStderr // standard output holds values only
	}
	show(app.Warnings.Take().AppendError(err))
	scope.Functions = maps.Clone(scope.Functions)
	scope.Functions["plantimestamp"] = noPlanTimestamp
	c := &console{term: app.Terminal, scope: scope, next: app.ReadLine}
	if in, ok := app.In.(*os.File); ok && app.InTerminal && app.OutTerminal {
		c.editor = newLineEditor(in, app.Out, consoleWords(cfg.Config, scope))
	}
	return c.run(ctx)
}

// noPlanTimestamp replaces plantimestamp, which has a result only during a plan.
var noPlanTimestamp = function.New(&function.Spec{
	Description: "`plantimestamp` has no value in the console.",
	Type:        function.StaticReturnType(cty.String),
	Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
		return cty.NilVal,
			errors.New("plantimestamp is the time at which a plan is made, and the console makes no plan; use " +
				"timestamp() for the current time")
	},
})

const consoleHelp = `Type an expression of the configuration language to see its value, such as
terraform_data.example.id, length(var.names) or [for k, v in local.all : k].
It continues on the next line as long as a bracket is open. type(EXPRESSION)
shows the type of a value, and "exit" ends the console.`

// console reads expressions and prints values.
type console struct {
	term   *terminal.Terminal
	scope  *lang.Scope
	next   func(context.Context) (string, error) // reads a line if there is no editor
	editor *lineEditor                           // nil without a terminal
}

// line reads a line after a prompt.
func (c *console) line(ctx context.Context, prompt string) (string, error) {
	if c.editor != nil {
		return c.editor.next(ctx, prompt)
	}
	if c.term.InTerminal {
		fmt.Fprint(c.term.Prompts(), prompt)
	}
	return c.next(ctx)
}

func (c *console) run(ctx context.Context) error {
	var e entry
	for {
		prompt := "> "
		if e.text.Len() > 0 {
			prompt = ": "
		}
		line, err := c.line(ctx, prompt)
		switch {
		case err == errAbandoned && e.text.Len() > 0: // the lines before this one
			e.reset()
			continue
		case err == errAbandoned:
			return nil
		case err == io.EOF:
			text := e.text.String()
			switch {
			case strings.TrimSpace(text) == "":
			case e.inTemplate():
				if err := c.print(ctx, text); err != nil {
					return err
				}
				if ctx.Err() != nil {
					return exitStatus(1)
				}
			default:
				fmt.Fprintln(c.term.Err, "The input ends in the middle of an expression, which was not evaluated.")
			}
			return nil
		case ctx.Err() != nil:
			return exitStatus(1)
		case err != nil:
			return err
		case e.text.Len() == 0 && strings.TrimSpace(line) == "exit":
			return nil
		case e.text.Len() == 0 && strings.TrimSpace(line) == "help":
			c.term.Printer.Message(ui.Text{Text: consoleHelp})
			continue
		case e.add(line):
			continue
		}
		if text := e.text.String(); strings.TrimSpace(text) != "" {
			err := c.print(ctx, text)
			if ctx.Err() != nil {
				return exitStatus(1)
			}
			if err != nil && !c.term.InTerminal {
				return err
			}
			c.term.Printer.Diagnostics(tfdiags.FromError(err))
		} else if !c.term.InTerminal {
			c.term.Printer.Message(ui.Text{}) // print an empty line after an empty input line
		}
		e.reset()
	}
}

// print evaluates an expression and prints its value.
func (c *console) print(ctx context.Context, text string) error {
	result, err := c.evaluate(ctx, text)
	if ctx.Err() == nil && err == nil {
		c.term.Printer.Message(ui.Text{Text: termtext.Printable(result)})
	}
	return err
}

// evaluate returns the result of an expression as text. If the evaluation is interrupted, evaluate
// returns "" at once and leaves it running, because HCL can't cancel it.
func (c *console) evaluate(ctx context.Context, text string) (result string, err error) {
	done := make(chan any, 1) // receives the value of a panic, or nil
	var value string
	var failure error
	go func() {
		defer func() {
			problem := recover()
			if problem != nil {
				problem = tfdiags.CrashOf(problem)
			}
			done <- problem
		}()
		value, failure = c.result(text)
	}()
	select {
	case crash := <-done:
		if crash != nil {
			panic(crash)
		}
		return value, failure
	case <-ctx.Done():
		return "", nil
	}
}

// result evaluates an expression and formats its value. The function type(x), which exists only in
// the console, returns the type of x.
func (c *console) result(text string) (string, error) {
	if d := nesting.Check("<console-input>", []byte(text)); d != nil {
		return "", tfdiags.FromHCL(hcl.Diagnostics{d}).Err()
	}
	parsed, diags := hclsyntax.ParseExpression([]byte(text), "<console-input>", hcl.InitialPos)
	if err := tfdiags.FromHCL(diags).Err(); err != nil {
		return "", err
	}
	call, isCall := parsed.(*hclsyntax.FunctionCallExpr)
	wantsType := isCall && call.Name == "type" && len(call.Args) == 1 && !call.ExpandFinal
	if wantsType {
		parsed = call.Args[0]
	}
	v, err := c.scope.EvalExpr(parsed, cty.DynamicPseudoType)
	if err != nil {
		return "", err
	}
	if wantsType {
		return typeText(v.Type(), ""), nil
	}
	return ui.FormatValue(v), nil
}

// typeText formats a type as the console prints it: objects and tuples take several lines, and
// collections are on one line with their element type.
func typeText(ty cty.Type, indent string) string {
	inner := indent + "    "
	switch {
	case ty == cty.DynamicPseudoType:
		return "dynamic"
	case ty.IsCollectionType():
		before, after := "", ""
		for ; ty.IsCollectionType(); ty = ty.ElementType() {
			before, after = before+collectionName(ty)+"(", after+")"
		}
		if ty.IsPrimitiveType() || ty == cty.DynamicPseudoType {
			return before + typeText(ty, "") + after
		}
		return before + "\n" + inner + typeText(ty, inner) + ",\n" + indent + after
	case ty.IsTupleType():
		var b strings.Builder
		for _, element := range ty.TupleElementTypes() {
			b.WriteString(inner + typeText(element, inner) + ",\n")
		}
		if b.Len() == 0 {
			return "tuple([])"
		}
		return "tuple([\n" + b.String() + indent + "])"
	case ty.IsObjectType():
		var b strings.Builder
		attrs := ty.AttributeTypes()
		for _, name := range sortedKeys(attrs) {
			b.WriteString(inner + name + ": " + typeText(attrs[name], inner) + ",\n")
		}
		if b.Len() == 0 {
			return "object({})"
		}
		return "object({\n" + b.String() + indent + "})"
	}
	return ty.FriendlyName()
}

func collectionName(ty cty.Type) string {
	switch {
	case ty.IsListType():
		return "list"
	case ty.IsSetType():
		return "set"
	}
	return "map"
}
