package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/suggest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

var cmdOutput = &Command{
	Name: "output", Args: "[NAME]", Complete: outputsOfState, Short: "Show the outputs",
	Long: `
Shows the output values of the root module in the state: all of them, or the
one called NAME. Sensitive values are shown only with -json, -raw,
-show-sensitive or NAME.`,
	New: with(func(f *outputFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addSensitive(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.State, "state", "", "Read the state from `path` instead of the current workspace's.")
		f.documentFlags.add(fs)
		fs.BoolVar(&f.Raw, "raw", false, "Print the value of one output as it is, for shell scripts: a "+
			"string, number or bool.")
	}, runOutput),
}

type outputFlags struct {
	viewFlags
	varFlags
	documentFlags
	State string
	Raw   bool
}

func runOutput(ctx context.Context, app *App, f *outputFlags, args []string) (err error) {
	switch {
	case len(args) > 1:
		return badUsage("Unexpected argument",
			"The output command expects the name of one output, or no argument to show all.")
	case f.Raw && f.Document:
		return badUsage("Invalid output format", "-raw and -json can't be used together.")
	case f.Raw && len(args) == 0:
		return badUsage("Output name required", "-raw prints one output: specify its name.")
	}
	into, err := f.documentFlags.open()
	if err != nil {
		return err
	}
	if into != nil {
		defer func() { err = errors.Join(err, into.Close()) }()
	}
	open, err := app.OpenState(ctx, session.StateRequest{Vars: f.Variables,
		Paths: session.StatePaths{State: f.State}, OnlyOutputs: true})
	if err != nil {
		return err
	}
	defer app.Release(open)
	app.printOnStderr(app.Warnings.Take())
	if into != nil {
		document := *f
		document.Document = true
		if err := document.write(into, app.stderr(), open.State(), args); err != nil {
			return err
		}
	}
	out := app.Out
	if !f.Document && !f.Raw {
		out = app.textOut()
	}
	return f.write(out, app.stderr(), open.State(), args)
}

// write writes the outputs of a state to w, or only the output that args names. It prints warnings
// to stderr.
func (f *outputFlags) write(w io.Writer, stderr ui.Printer, st *states.State, args []string) error {
	all := st.Outputs()
	if len(args) == 0 {
		switch {
		case f.Document:
			return ui.WriteOutputs(w, all)
		case len(all) == 0:
			stderr.Diagnostics(tfdiags.Warningf("No outputs found", "The state has no outputs. Outputs that "+
				"the configuration declares are added by `tofu apply`.").List())
			return nil
		}
		_, err := fmt.Fprintln(w, strings.TrimRight(ui.OutputsText(all, f.ShowSensitive), "\n"))
		return err
	}
	o := all[args[0]]
	switch {
	case o == nil && len(all) == 0 && !f.Document && !f.Raw:
		stderr.Diagnostics(tfdiags.Warningf("No outputs found", "The state has no outputs, so there is none named %q.",
			args[0]).List())
		return nil
	case o == nil:
		return tfdiags.Errorf(fmt.Sprintf("Output %q not found", args[0]), "The state has %s.%s "+
			"An output that is new in the configuration is added by `tofu apply`.", outputNames(st),
			suggest.DidYouMean(args[0], st.OutputNames()))
	case f.Document:
		return ui.WriteOutput(w, o)
	case f.Raw:
		return writeRaw(w, args[0], o)
	}
	_, err := fmt.Fprintln(w, ui.FormatValue(o.Value))
	return err
}

func outputNames(st *states.State) string {
	names := st.OutputNames()
	if len(names) == 0 {
		return "no outputs"
	}
	return "only these outputs: " + strings.Join(names, ", ")
}

// writeRaw prints a value without quotes or a final newline. It returns an error if the value can't
// be converted to a string.
func writeRaw(w io.Writer, name string, o *states.Output) error {
	text, err := convert.Convert(o.Value, cty.String)
	if err != nil || text.IsNull() || !text.IsKnown() {
		return tfdiags.Errorf("Unsupported value for raw output",
			"The value of output %q is of type %s, and -raw prints only strings, "+
				"numbers and bools. Use -json, which prints any value.", name, rawKind(o.Value))
	}
	_, err = fmt.Fprint(w, text.AsString())
	return err
}

func rawKind(v cty.Value) string {
	if v.IsNull() {
		return "null"
	}
	return v.Type().FriendlyName()
}
