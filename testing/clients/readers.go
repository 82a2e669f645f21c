package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// recorder takes a result of a client: text that must be the same with both programs.
type recorder func(name string, text []byte, err error)

// client runs a program that calls tofu, and records its results.
type client func(t *target, s *session, record recorder) error

// sameResults runs a client. A result passes if there is no error and the text is the expected one:
// that of the first program that was run.
func sameResults(run client) func(*target, string) (outcomes, error) {
	first := map[string]string{}
	return func(t *target, bin string) (outcomes, error) {
		if t.program == "" {
			return nil, fmt.Errorf("give the path of %s", t.suite.needs)
		}
		s, err := newSession(bin)
		if err != nil {
			return nil, err
		}
		defer s.close()
		results, log := outcomes{}, []byte(nil)
		err = run(t, s, func(name string, text []byte, err error) {
			text = generated.ReplaceAll(text, []byte("ID"))
			log = fmt.Appendf(log, "==> %s\n%s\n", name, text)
			want, known := first[name]
			if !known {
				first[name] = string(text)
			}
			results[name] = "PASS"
			if err != nil || known && want != string(text) {
				results[name] = "FAIL"
				log = fmt.Appendf(log, "failed: %v\n", err)
			}
		})
		return results, errors.Join(err, t.keep("log", log))
	}
}

// reader runs a program that reads the plan of a step.
type reader func(program string, s *session, st step) ([]byte, error)

// readPlans runs the session and lets a program read each plan.
func readPlans(read reader) func(*target, string) (outcomes, error) {
	return sameResults(func(t *target, s *session, record recorder) error {
		return s.each(func(st step) error {
			text, err := read(t.program, s, st)
			record(st.name, text, err)
			return nil
		})
	})
}

// generated matches the IDs of objects.
var generated = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// tfcmtTemplate prints what tfcmt has found in the output of a plan.
const tfcmtTemplate = `terraform:
  plan:
    disable_label: true
    template: &template |
      error={{.HasError}} destroy={{.HasDestroy}} status={{.ExitCode}}
      create={{.CreatedResources}} update={{.UpdatedResources}} delete={{.DeletedResources}}
      replace={{.ReplacedResources}} move={{len .MovedResources}} import={{len .ImportedResources}}
    when_parse_error:
      template: not understood
`

// tfcmt lets tfcmt run the plan and read its output.
func tfcmt(program string, s *session, st step) ([]byte, error) {
	if err := s.write("tfcmt.yaml", tfcmtTemplate); err != nil {
		return nil, err
	}
	args := []string{"-owner=o", "-repo=r", "-sha=0", "-config=tfcmt.yaml", "-output=comment", "plan", "--", s.bin}
	_, err := s.run(program, append(args, st.planArgs()...)...)
	if st.fails && err != nil { // tfcmt exits as the plan does
		err = nil
	}
	text, readErr := os.ReadFile(filepath.Join(s.dir, "comment"))
	if readErr != nil {
		return nil, fmt.Errorf("%w (%v)", readErr, err)
	}
	return text, os.Remove(filepath.Join(s.dir, "comment"))
}

// tfSummarize lets tf-summarize read the plan as JSON, and the saved plan itself.
func tfSummarize(program string, s *session, st step) ([]byte, error) {
	if _, err := s.run(s.bin, st.planArgs()...); st.fails || err != nil {
		if st.fails {
			err = nil
		}
		return nil, err
	}
	plan, err := s.run(s.bin, "show", "-json", "plan")
	if err != nil {
		return nil, err
	}
	if err := s.write("plan.json", string(plan)); err != nil {
		return nil, err
	}
	var all []byte
	for _, args := range [][]string{{"plan.json"}, {"-json", "plan.json"}, {"-tree", "plan.json"},
		{"-md", "plan.json"}, {"-json-sum", "plan"}} {
		text, err := s.run(program, args...)
		if err != nil {
			return all, err
		}
		all = append(all, text...)
	}
	return all, nil
}
