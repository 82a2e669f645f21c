package command

import (
	"slices"

	"tofu/internal/refresh"
	"tofu/internal/session"
)

// lookFlags say which objects a plan reads.
type lookFlags struct {
	refresh.Options
	given func(option string) bool // whether an option is on the command line; nil without these options

	allowVanished bool
	unattended    *bool // whether the plan is applied without approval; nil if it is not applied
}

// addVanished declares the option for objects that are gone. unattended is the value of the option to
// apply without approval; nil for commands that apply nothing.
func (f *lookFlags) addVanished(fs *options, unattended *bool) {
	f.unattended = unattended
	fs.BoolFunc("allow-vanished", "Apply without approval even if many objects of a provider are gone: more than 5, and "+
		"more than 10% of those that the plan has read. -allow-vanished=50% changes that share for warnings, too.",
		func(text string) (err error) {
			if f.allowVanished = text == "true"; !f.allowVanished && text != "false" {
				f.Vanished.Share, err = refresh.ParseShare(text)
			}
			return err
		})
}

// add declares the options.
func (f *lookFlags) add(fs *options) {
	f.given = fs.given
	fs.BoolVar(&f.Minimal, "minimal-refresh", false, "Read only the objects that would change, and those whose values "+
		"these changes read. The setting minimal_refresh of the CLI configuration makes this the default.")
	fs.Func("refresh-older-than", "Do not read objects that were last read within this `duration`, such as 90m, 24h "+
		"or 7d. With -minimal-refresh, also read the others that are older.", func(text string) (err error) {
		f.OlderThan, err = refresh.ParseAge(text)
		return err
	})
	fs.Func("refresh-types", "Read only objects of these `types` or providers, such as aws_instance, aws_iam_* or "+
		"hashicorp/aws, separated by commas. May be repeated. With -minimal-refresh, also read these.", f.Types.Add)
	fs.Func("refresh-errors", "What a plan does if an object can't be read: `stop` (the default), or continue with the "+
		"stored values. The plan names such objects.", func(text string) error {
		f.Continue = text == "continue"
		return oneOf(text, []string{"stop", "continue"})
	})
	fs.Func("no-refresh-types", "Do not read objects of these `types` or providers, unless -minimal-refresh requires "+
		"it. May be repeated.", f.NotTypes.Add)
}

// clashes calls clash for each pair of options that contradict each other.
func (f *planFlags) clashes(clash func(when bool, first, second string)) {
	for _, o := range []struct {
		name string
		set  bool
	}{
		{"-minimal-refresh", f.Look.Minimal}, {"-refresh-older-than", f.Look.OlderThan > 0},
		{"-refresh-types", len(f.Look.Types) > 0}, {"-no-refresh-types", len(f.Look.NotTypes) > 0},
		{"-refresh-errors=continue", f.Look.Continue},
	} {
		clash(o.set && !f.Refresh, "-refresh=false", o.name)
	}
	clash(f.RefreshOnly && f.Look.Minimal, "-refresh-only", "-minimal-refresh")
	for _, pattern := range f.Look.Types {
		clash(slices.Contains(f.Look.NotTypes, pattern), "-refresh-types="+pattern, "-no-refresh-types="+pattern)
	}
}

// operation returns the options of an operation that plans.
func (f *planFlags) operation() session.OperationOptions {
	out := f.operationFlags.operation()
	out.Refresh, out.Retries = f.Look.Options, f.Retries
	if f.Lint != nil {
		of := *f.Lint
		of.Destruction = f.Destroy
		out.Lint = &of
	}
	out.Refresh.Vanished.Stop = f.Look.unattended != nil && *f.Look.unattended && !f.Look.allowVanished
	out.UsualRefresh = f.Look.given != nil && !f.Look.given("minimal-refresh") && f.Refresh && !f.RefreshOnly
	return out
}
