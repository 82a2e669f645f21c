package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	tfjson "github.com/hashicorp/terraform-json"
)

// document is a command with JSON output, and the type with which terraform-json reads it.
type document struct {
	args []string
	into func() json.Unmarshaler
}

var documents = map[string]document{
	"plan":     {[]string{"show", "-json", "plan"}, func() json.Unmarshaler { return &tfjson.Plan{} }},
	"state":    {[]string{"show", "-json"}, func() json.Unmarshaler { return &tfjson.State{} }},
	"schemas":  {[]string{"providers", "schema", "-json"}, func() json.Unmarshaler { return &tfjson.ProviderSchemas{} }},
	"validate": {[]string{"validate", "-json"}, func() json.Unmarshaler { return &tfjson.ValidateOutput{} }},
	"functions": {[]string{"metadata", "functions", "-json"},
		func() json.Unmarshaler { return &tfjson.MetadataFunctions{} }},
	"version": {[]string{"version", "-json"}, func() json.Unmarshaler { return &versionOutput{} }},
}

// versionOutput reads the document that terraform-json has no method for.
type versionOutput struct{ tfjson.VersionOutput }

func (v *versionOutput) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &v.VersionOutput)
}

// readJSON reads all documents and all lines of plans and applies after each step of the session.
func readJSON(t *target, bin string) (outcomes, error) {
	s, err := newSession(bin)
	if err != nil {
		return nil, err
	}
	defer s.close()
	results, log := outcomes{}, []byte(nil)
	record := func(name string, err error) {
		results[name] = "PASS"
		if err != nil {
			results[name] = "FAIL"
			log = fmt.Appendf(log, "%s: %v\n", name, err)
		}
	}
	err = s.each(func(st step) error {
		lines, err := s.run(bin, st.planArgs("-json")...)
		if st.fails {
			err = nil
		}
		record(st.name+"/lines", errors.Join(err, readLines(lines)))
		for name, d := range documents {
			if st.fails && name == "plan" {
				continue
			}
			text, err := s.run(bin, d.args...)
			if st.fails { // validate fails too, with a document
				err = nil
			}
			record(st.name+"/"+name, errors.Join(err, json.Unmarshal(text, d.into())))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return results, t.keep("log", log)
}

// readLines reads the lines of a command with -json.
func readLines(text []byte) error {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		message, err := tfjson.UnmarshalLogMessage(lines.Bytes())
		if err != nil {
			return fmt.Errorf("%w: %s", err, lines.Bytes())
		}
		if message.Message() == "" || message.Timestamp().IsZero() {
			return fmt.Errorf("a line without a message or a time: %s", lines.Bytes())
		}
	}
	return lines.Err()
}
