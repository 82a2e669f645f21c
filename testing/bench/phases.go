package main

import (
	"maps"
	"slices"
)

// phase is a named command.
type phase struct {
	name string
	args []string
}

// phases holds the commands that can be measured, by name. Some commands require others before
// them: showjson requires planout, and commands that read the state require apply.
var phases = map[string][]string{
	"init":      {"init", "-input=false"},
	"validate":  {"validate"},
	"graph":     {"graph"},
	"plan":      {"plan", "-input=false"},
	"planout":   {"plan", "-input=false", "-out=p.tfplan"},
	"showjson":  {"show", "-json", "p.tfplan"},
	"apply":     {"apply", "-auto-approve", "-input=false"},
	"noop":      {"plan", "-input=false", "-detailed-exitcode"},
	"refresh":   {"apply", "-refresh-only", "-auto-approve", "-input=false"},
	"statelist": {"state", "list"},
	"show":      {"show", "-json"},
	"output":    {"output", "-json"},
	// replace works for shapes with a block r0. Blocks that refer to its ID are updated.
	"replace":     {"apply", "-replace=terraform_data.r0", "-auto-approve", "-input=false"},
	"plandestroy": {"plan", "-destroy", "-input=false"},
	"destroy":     {"destroy", "-auto-approve", "-input=false"},
}

func phaseList() []string { return slices.Sorted(maps.Keys(phases)) }
