package provisioner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
)

var remoteExecSchema = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"inline":  optional(cty.List(cty.String)),
	"script":  optional(cty.String),
	"scripts": optional(cty.List(cty.String)),
}}

func validateRemoteExec(config cty.Value) error {
	set := 0
	for _, name := range []string{"inline", "script", "scripts"} {
		if !attribute(config, name).IsNull() {
			set++
		}
	}
	if set == 1 {
		return nil
	}
	many := "none of them is"
	if set > 1 {
		many = fmt.Sprintf("%d of them are", set)
	}
	return tfdiags.Errorf("Invalid remote-exec provisioner configuration",
		"Exactly one of \"inline\", \"script\" and \"scripts\" must be set, but %s.", many)
}

func runRemoteExec(ctx context.Context, r *request) error {
	scripts, err := scripts(r)
	if err != nil {
		return err
	}
	t, err := open(ctx, r)
	if err != nil {
		return err
	}
	defer t.close()
	for _, s := range scripts {
		l := &lines{out: r.out}
		err := t.script(ctx, s.text, l)
		l.end()
		if err != nil {
			return fmt.Errorf("running %s: %w", s.name, err)
		}
	}
	return nil
}

type script struct {
	name string // name of the script, for errors
	text []byte
}

// scripts returns the scripts to run. It reads all files, so that a missing file is reported before
// anything runs.
func scripts(r *request) ([]script, error) {
	config := r.config
	inline, err := texts(config, "inline")
	if err != nil {
		return nil, err
	}
	if len(inline) > 0 {
		return []script{{"the inline script", []byte(strings.Join(inline, "\n") + "\n")}}, nil
	}
	paths, err := texts(config, "scripts")
	if err != nil {
		return nil, err
	}
	if path := attribute(config, "script"); !path.IsNull() {
		paths = []string{path.AsString()}
	}
	var out []script
	for _, path := range paths {
		if path == "" {
			return nil, errors.New("a script's path is empty")
		}
		data, err := os.ReadFile(r.path(path))
		if err != nil {
			return nil, fmt.Errorf("reading script: %w", err)
		}
		out = append(out, script{"script " + path, data})
	}
	return out, nil
}

// withShell adds a first line that names the shell, unless the script has such a line.
func withShell(script []byte) []byte {
	if bytes.HasPrefix(script, []byte("#!")) {
		return script
	}
	return append([]byte("#!/bin/sh\n"), script...)
}
