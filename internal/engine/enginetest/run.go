package enginetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// Delay is the duration of every call in a session that Run executes. Sessions run within
// testing/synctest, where only waiting takes time. Calls on one line of a log start at the same
// time, as soon as the calls that they wait for have ended.
const Delay = 10 * time.Millisecond

// golden holds the names of the sections that Run writes, in order.
var golden = []string{"problems", "reads", "plan", "calls", "state", "again"}

// Run executes an archive. Each section N.tf is a step that is planned and applied. If its text is
// "same", the step has the files of the previous step. Sections N/FILE are more files of the step.
// These sections take effect before the step:
//
//	edit N      changes objects: lines "ID ATTR VALUE", "ID" to delete, "ID + V" to create one
//	fail N      sets the calls that fail: lines "CALL NAME [HOW]", see Provider
//	stop N      interrupts the apply at the start of a call: "CALL NAME", or "kill CALL NAME" for twice
//	schema N    sets the version of the resource types' schemas from this step on
//	options N   sets options: lines -destroy, -target=…, see option
//
// The result has the same sections, followed by the golden ones: "N problems", "N reads" (calls
// during the plan, with -log), "N plan", "N calls", "N state", and "N again". The section "N again"
// lists what another normal plan would change, which should be nothing.
func Run(ar *txtar.Archive, dir string) (*txtar.Archive, error) {
	r := &run{s: NewSession(dir), in: map[string]string{}, out: &txtar.Archive{Comment: ar.Comment}}
	r.s.Cloud.Delay = Delay
	for _, f := range ar.Files {
		r.in[f.Name] = string(f.Data)
	}
	for _, f := range ar.Files {
		if isGolden(f.Name) {
			continue
		}
		r.out.Files = append(r.out.Files, f)
		base, isStep := strings.CutSuffix(f.Name, ".tf")
		if !isStep || strings.Contains(base, "/") {
			continue
		}
		if err := r.step(base); err != nil {
			return nil, fmt.Errorf("step %s: %w", base, err)
		}
	}
	return r.out, nil
}

func isGolden(name string) bool {
	_, kind, ok := strings.Cut(name, " ")
	return ok && slices.Contains(golden, kind)
}

// run is an archive being executed.
type run struct {
	s     *Session
	in    map[string]string
	files map[string]string
	out   *txtar.Archive
}

func (r *run) step(base string) error {
	r.edit(r.in["edit "+base])
	r.setFailures(r.in["fail "+base])
	if version := r.in["schema "+base]; version != "" {
		if _, err := fmt.Sscan(version, &r.s.Cloud.SchemaVersion); err != nil {
			return err
		}
	}
	if strings.TrimSpace(r.in[base+".tf"]) != "same" {
		r.files = map[string]string{"main.tf": r.in[base+".tf"]}
	}
	for name, text := range r.in {
		if rest, ok := strings.CutPrefix(name, base+"/"); ok {
			r.files[rest] = text
		}
	}
	step := &Step{Files: r.files, Again: true, Interrupt: func() { r.interrupt(r.in["stop "+base]) }}
	for line := range strings.Lines(r.in["options "+base]) {
		if err := step.SetOption(strings.TrimSpace(line)); err != nil {
			return err
		}
	}
	got, err := r.s.Do(step)
	if err != nil {
		return err
	}
	r.s.remember(base, got.Calls)
	for i, text := range []string{got.Problems, got.Reads, got.Plan, got.Calls, got.State, got.Again} {
		if text != "" {
			r.out.Files = append(r.out.Files, txtar.File{Name: base + " " + golden[i], Data: []byte(text)})
		}
	}
	return nil
}

func (r *run) edit(text string) {
	for line := range strings.Lines(text) {
		parts := append(strings.SplitN(strings.TrimSpace(line), " ", 3), "", "")
		r.s.Cloud.Edit(parts[0], parts[1], parts[2])
	}
}

// ways lists the values of Cloud.Fail other than ""; see Provider.
var ways = []string{"partial", "other", "legacy", "unknown", "type", "nothing", "null", "deferred"}

func (r *run) setFailures(text string) {
	r.s.Cloud.Fail = map[string]string{}
	for line := range strings.Lines(text) {
		call, how := strings.TrimSpace(line), ""
		if at := strings.LastIndexByte(call, ' '); at > 0 && slices.Contains(ways, call[at+1:]) {
			call, how = call[:at], call[at+1:]
		}
		r.s.Cloud.Fail[call] = how
	}
}

func (r *run) interrupt(text string) {
	r.s.Cloud.On = map[string]func(){}
	for line := range strings.Lines(text) {
		call, abort := strings.CutPrefix(strings.TrimSpace(line), "kill ")
		if abort {
			r.s.Cloud.On[call] = r.s.Abort
			continue
		}
		stop := make(chan struct{})
		r.s.Stop = stop
		r.s.Cloud.On[call] = func() { close(stop) }
	}
}
