package command

import (
	"os"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/lint"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// planFlags select the kind of plan.
type planFlags struct {
	operationFlags
	targetFlags
	Destroy              bool
	RefreshOnly          bool
	Refresh              bool
	Look                 lookFlags
	Defer                bool
	Replace, Invoke      []string
	SuppressForgetErrors bool
	Retries              int
	Lint                 *lint.Selection
}

func (f *planFlags) add(fs *options) {
	f.operationFlags.add(fs)
	f.targetFlags.add(fs)
	f.addSensitive(fs)
	f.addPlanView(fs)
	fs.BoolVar(&f.Destroy, "destroy", false, "Plan to destroy all objects that are managed in the workspace.")
	fs.BoolVar(&f.RefreshOnly, "refresh-only", false,
		"Only check whether objects changed outside of OpenTofu, and plan to record their changes in the state.")
	fs.BoolVar(&f.Refresh, "refresh", true, "Do not check whether objects changed outside of OpenTofu.")
	f.Look.add(fs)
	fs.BoolVar(&f.Defer, "defer", true, "Fail if anything can't be planned yet, instead of deferring it.")
	addLint(fs, &f.Lint)
	fs.Var((*list)(&f.Replace), "replace", "Replace the resource instance at this `address`. May be repeated.")
}

// addInvoke declares the option of the commands that can invoke actions without changing anything.
func (f *planFlags) addInvoke(fs *options) {
	fs.Var((*list)(&f.Invoke), "invoke", "Change nothing, and only invoke the action at this `address`. If it "+
		"refers to caller, it is invoked for each object that would trigger it, or for those of -target. May be repeated.")
}

// addLint declares the option that selects rules for a configuration. If it is repeated, all values count.
func addLint(fs *options, into **lint.Selection) {
	fs.Func("lint", "Warn about what breaks one of these `rules` in the root module, such as all, core:confusing or "+
		"all,!core:unused-local.", func(text string) (err error) {
		*into, err = lint.Parse(*into, text)
		return err
	})
}

// options validates the combination of flags and returns the options of the engine, without
// variables.
func (f *planFlags) options() (*engine.PlanOptions, error) {
	var errs tfdiags.Diagnostics
	opts := &engine.PlanOptions{SkipRefresh: !f.Refresh, Defer: f.Defer}
	switch {
	case f.Destroy:
		opts.Mode = plans.Destroy
	case f.RefreshOnly:
		opts.Mode = plans.RefreshOnly
	}
	clash := func(when bool, first, second string) {
		if when {
			errs = errs.Append(tfdiags.Errorf("Incompatible plan options",
				"The options %s and %s can't be used together.", first, second))
		}
	}
	clash(f.Destroy && f.RefreshOnly, "-destroy", "-refresh-only")
	clash(f.RefreshOnly && !f.Refresh, "-refresh-only", "-refresh=false")
	clash(f.RefreshOnly && len(f.Replace) > 0, "-refresh-only", "-replace")
	clash(f.Destroy && len(f.Replace) > 0, "-destroy", "-replace")
	f.clashes(clash)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	for _, text := range f.Replace {
		addr, err := addrs.ParseInstanceText(text)
		errs = errs.AppendError(err)
		if err == nil && addr.Resource.Mode != addrs.Managed {
			errs = errs.Append(tfdiags.Errorf("Invalid force-replace address",
				"Only managed resources can be replaced, and %s is not one.", text))
		}
		opts.ForceReplace = append(opts.ForceReplace, addr)
	}
	invoke, err := parseTargets(f.Invoke)
	errs, opts.Invoke = errs.AppendError(err), invoke
	for _, t := range invoke {
		if t.Resource.Mode != addrs.Action {
			errs = errs.Append(tfdiags.Errorf("Invalid action address", "-invoke=%s is not the address of an action, such as "+
				"action.TYPE.NAME.", t))
		}
	}
	opts.Targets, opts.Excludes, err = f.targets()
	return opts, errs.AppendError(err).Err()
}

// targets returns the addresses in -target, -exclude and their files.
func (f *targetFlags) targets() (targets, excludes []addrs.Target, err error) {
	var errs tfdiags.Diagnostics
	read := func(texts, files []string) []addrs.Target {
		found, err := parseTargets(texts)
		errs = errs.AppendError(err)
		for _, path := range files {
			inFile, err := targetFile(path)
			errs = errs.AppendError(err)
			found = append(found, inFile...)
		}
		return found
	}
	targets, excludes = read(f.Targets, f.TargetFiles), read(f.Excludes, f.ExcludeFiles)
	if len(f.Targets)+len(f.TargetFiles) > 0 && len(f.Excludes)+len(f.ExcludeFiles) > 0 {
		errs = errs.Append(tfdiags.Errorf("Incompatible plan options",
			"-target or -target-file can't be used together with -exclude or -exclude-file."))
	}
	return targets, excludes, errs.Err()
}

// targetFile reads a file with one address per line. Lines that start with # are comments. A blank
// line is an error.
func targetFile(path string) ([]addrs.Target, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, tfdiags.Errorf("Can't read the file of addresses", "%s.", err)
	}
	var errs tfdiags.Diagnostics
	var found []addrs.Target
	start := hcl.InitialPos
	for whole := range strings.Lines(string(src)) {
		line := strings.TrimRight(whole, "\r\n")
		at := hcl.Range{Filename: path, Start: start, End: start}
		at.End.Column += utf8.RuneCountInString(line)
		at.End.Byte += len(line)
		start.Line++
		start.Byte += len(whole)
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "#") {
			continue
		}
		target, err := addrs.ParseTargetText(text)
		if text == "" {
			err = tfdiags.Errorf("Missing address",
				"Each line of the file must contain one address. Remove the empty line, or begin it with #.")
		}
		for _, d := range tfdiags.FromError(err) {
			errs = errs.Append(d.At(at))
		}
		if err == nil {
			found = append(found, target)
		}
	}
	return found, errs.Err()
}
