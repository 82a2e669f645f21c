package ui

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/version"
)

// uiVersion is the version of the format of JSON lines.
const uiVersion = "1.2"

// NewJSON returns a Printer for programs, which prints one JSON object per line. NewJSON itself
// prints the "version" line, but not for the printer of one root module of many.
func NewJSON(o Options) Printer {
	p := &jsonPrinter{Options: o.withDefaults(), sources: newSources(o.Sources)}
	p.heartbeats = newHeartbeats(p.still)
	if p.Root != "" { // the printer of the command has already printed the version
		return p
	}
	p.line("info", "OpenTofu "+p.Version, "version", entry{"tofu": p.Version, "ui": uiVersion, "engine": version.Engine()})
	return p
}

type jsonPrinter struct {
	Options
	sources    *sources
	heartbeats *heartbeats
	mu         sync.Mutex
}

// entry holds the fields of a line, except those that all lines have.
type entry map[string]any

func (p *jsonPrinter) line(level, message, typ string, more entry) {
	line := make(map[string]any, len(more)+5)
	maps.Copy(line, more)
	if p.Root != "" {
		line["root"] = p.Root
	}
	line["@level"], line["@message"], line["@module"], line["type"] = level, message, "tofu.ui", typ
	line["@timestamp"] = p.Now().Format("2006-01-02T15:04:05.000000Z07:00")
	b, err := json.Marshal(line)
	if err != nil {
		panic("unreachable: lines hold only what JSON can: " + err.Error())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = p.Out.Write(append(b, '\n')) // ignore errors, because there is nowhere to report them
}

// Diagnostics implements Printer.
func (p *jsonPrinter) Diagnostics(diags tfdiags.Diagnostics) { p.diagnostics(diags, nil) }

func (p *jsonPrinter) diagnostics(diags tfdiags.Diagnostics, about entry) {
	for _, d := range diags {
		level, title := "error", "Error: "
		if d.Severity == tfdiags.Warning {
			level, title = "warn", "Warning: "
		}
		p.line(level, title+d.Summary, "diagnostic", about.with(entry{"diagnostic": p.sources.describe(d)}))
	}
}

// lineResource is the address of an object in JSON lines.
type lineResource struct {
	Addr            string          `json:"addr"`
	Module          string          `json:"module"`
	Resource        string          `json:"resource"`
	ImpliedProvider string          `json:"implied_provider"`
	ResourceType    string          `json:"resource_type"`
	ResourceName    string          `json:"resource_name"`
	ResourceKey     json.RawMessage `json:"resource_key"`
}

func lineAddress(addr addrs.AbsInstance) lineResource {
	return lineResource{
		Addr: addr.String(), Module: string(addr.Module), Resource: addr.Resource.String() + addr.Key.String(),
		ImpliedProvider: addr.Resource.ImpliedProvider(), ResourceType: addr.Resource.Type,
		ResourceName: addr.Resource.Name,
		ResourceKey:  valueJSON(addr.Key.Value()),
	}
}

// hook holds the fields that describe a step of an object in JSON lines.
type hook struct {
	Resource    lineResource `json:"resource"`
	Action      string       `json:"action,omitempty"`
	IDKey       string       `json:"id_key,omitempty"`
	IDValue     string       `json:"id_value,omitempty"`
	Provisioner string       `json:"provisioner,omitempty"`
	Output      *string      `json:"output,omitempty"`
	Elapsed     *float64     `json:"elapsed_seconds,omitempty"`
	Msg         string       `json:"Msg,omitempty"`
	Error       string       `json:"error,omitempty"` // why it failed, in a line
}

func (p *jsonPrinter) hook(typ string, o engine.Object, text string, h hook) {
	h.Resource = lineAddress(o.Addr)
	p.line("info", objectName(o)+": "+text, typ, entry{"hook": h})
}

// Event implements Printer.
func (p *jsonPrinter) Event(e engine.Event) {
	switch e := e.(type) {
	case engine.RefreshStart:
		p.hook("refresh_start", e.Object, "Refreshing state..."+identified(e.Object),
			hook{IDKey: e.IDKey, IDValue: e.IDValue})
	case engine.RefreshDone:
		if e.Failed {
			p.hook("refresh_errored", e.Object, refreshFailed, hook{Error: reasonOf(e.Err)})
		} else {
			p.hook("refresh_complete", e.Object, "Refresh complete"+identified(e.Object),
				hook{IDKey: e.IDKey, IDValue: e.IDValue})
		}
	case engine.ApplyStart:
		p.heartbeats.start(e)
		if e.Action == plans.Invoke {
			p.action("action_start", e.Object, verbs[e.Action].start, actionHook{})
			return
		}
		p.hook("apply_start", e.Object, lineVerbs(e.Action).start+identified(e.Object),
			hook{Action: e.Action.String(), IDKey: e.IDKey, IDValue: e.IDValue})
	case engine.ApplyDone:
		p.heartbeats.stop(e.Object)
		p.applyDone(e)
	case engine.ActionProgress:
		p.action("action_progress", e.Object, e.Text, actionHook{Message: e.Text})
	case engine.ProvisionStart:
		p.hook("provision_start", e.Object, "Provisioning with '"+e.Type+"'...", hook{Provisioner: e.Type})
	case engine.ProvisionOutput:
		if strings.TrimSpace(e.Line) == "" {
			return // a blank line only separates text for humans
		}
		p.hook("provision_progress", e.Object, "("+e.Type+"): "+e.Line, hook{Provisioner: e.Type, Output: &e.Line})
	case engine.ProvisionDone:
		typ, text := "provision_complete", "Provisioning complete"
		if e.Failed {
			typ, text = "provision_errored", "Provisioning errored"
		}
		p.hook(typ, e.Object, "("+e.Type+") "+text, hook{Provisioner: e.Type})
	case engine.EphemeralStart:
		text := ephemeralVerbs[e.Verb].start
		p.hook("ephemeral_action_started", e.Object, text, hook{Msg: text})
	case engine.EphemeralDone:
		text := ephemeralVerbs[e.Verb].done
		if e.Failed {
			text = ephemeralVerbs[e.Verb].failed
		}
		p.hook("ephemeral_action_complete", e.Object, text, hook{Msg: text, Error: reasonOf(e.Err)})
	}
}

// ephemeralVerbs are the messages about ephemeral objects in JSON lines.
var ephemeralVerbs = map[string]struct{ start, done, failed string }{
	"open":  {"Opening...", "Open complete", "Open errored"},
	"renew": {"Renewing...", "Renew complete", "Renew errored"},
	"close": {"Closing...", "Close complete", "Close errored"},
}

// lineVerbs returns the messages about an action in JSON lines, where reading a data source is
// called refreshing.
func lineVerbs(a plans.Action) struct{ start, still, done, failed string } {
	if a == plans.Read {
		return struct{ start, still, done, failed string }{"Refreshing...", "Still refreshing...",
			"Refresh complete", "Refresh errored"}
	}
	return verbs[a]
}

// actionHook describes an action that is invoked, in a line of output.
type actionHook struct {
	Action  lineResource `json:"action"`
	Caller  string       `json:"triggered_by,omitempty"` // the event and the object
	Message string       `json:"message,omitempty"`
	Elapsed *float64     `json:"elapsed_seconds,omitempty"`
	Error   string       `json:"error,omitempty"`
}

func (p *jsonPrinter) action(typ string, o engine.Object, text string, h actionHook) {
	h.Action, h.Caller = lineAddress(o.Addr), o.From
	p.line("info", objectName(o)+": "+text, typ, entry{"hook": h})
}

func (p *jsonPrinter) applyDone(e engine.ApplyDone) {
	took := e.Elapsed.Truncate(time.Second).Seconds()
	if e.Action == plans.Invoke {
		typ, text := "action_complete", verbs[e.Action].done
		if e.Failed {
			typ, text = "action_errored", verbs[e.Action].failed
		}
		p.action(typ, e.Object, text+" after "+seconds(e.Elapsed), actionHook{Elapsed: &took, Error: reasonOf(e.Err)})
		return
	}
	h := hook{Action: e.Action.String(), Elapsed: &took}
	verb := lineVerbs(e.Action)
	if e.Failed && e.Action == plans.Read { // programs don't expect an apply in a plan
		p.hook("refresh_errored", e.Object, refreshFailed, hook{Error: reasonOf(e.Err)})
		return
	}
	if e.Failed {
		h.Error = reasonOf(e.Err)
		p.hook("apply_errored", e.Object, verb.failed+" after "+seconds(e.Elapsed), h)
		return
	}
	if e.Action == plans.Delete {
		e.IDKey, e.IDValue = "", ""
	}
	h.IDKey, h.IDValue = e.IDKey, e.IDValue
	p.hook("apply_complete", e.Object, verb.done+" after "+seconds(e.Elapsed)+identified(e.Object), h)
}

func (p *jsonPrinter) still(e engine.ApplyStart, elapsed time.Duration) {
	took := elapsed.Seconds()
	if e.Action == plans.Invoke {
		p.action("action_progress", e.Object, verbs[e.Action].still, actionHook{Elapsed: &took})
		return
	}
	p.hook("apply_progress", e.Object, fmt.Sprintf("%s [%s elapsed]", lineVerbs(e.Action).still,
		seconds(elapsed)), hook{Action: e.Action.String(), Elapsed: &took})
}

type lineChange struct {
	Resource        lineResource  `json:"resource"`
	Previous        *lineResource `json:"previous_resource,omitempty"`
	Action          string        `json:"action"`
	Reason          string        `json:"reason,omitempty"`
	Importing       *importing    `json:"importing,omitempty"`
	GeneratedConfig string        `json:"generated_config,omitempty"`
	NeededBy        string        `json:"needed_by,omitempty"`
}

// lineActions are the names of actions in JSON lines.
var lineActions = map[plans.Action]string{
	plans.NoOp: "noop", plans.Create: "create", plans.Read: "read", plans.Update: "update", plans.Delete: "delete",
	plans.DeleteThenCreate: "replace", plans.CreateThenDelete: "replace", plans.Forget: "remove",
	plans.ForgetThenCreate: "noop",
}

// lineReasons are the reasons whose names in JSON lines differ from those in documents.
var lineReasons = map[plans.Reason]string{
	plans.ReplaceTainted: "tainted", plans.ReplaceByRequest: "requested", plans.ReplaceCannotUpdate: "cannot_update",
	plans.ReplaceByTriggers: "replace_triggered_by",
}

func changeLine(c *plans.InstanceChange) lineChange {
	out := lineChange{
		Resource: lineAddress(c.Addr), Action: lineActions[c.Action], Reason: string(c.Reason),
		GeneratedConfig: c.GeneratedConfig, NeededBy: c.NeededBy,
	}
	if name, ok := lineReasons[c.Reason]; ok {
		out.Reason = name
	}
	if c.MovedFrom != nil {
		prev := lineAddress(*c.MovedFrom)
		out.Previous = &prev
		if out.Action == "noop" {
			out.Action = "move"
		}
	}
	if c.Importing != nil {
		out.Importing = &importing{ID: c.Importing.ID, Identity: identityJSON(c.Importing.Identity)}
		if out.Action == "noop" || out.Action == "move" {
			out.Action = "import"
		}
	}
	return out
}

// Plan implements Printer. For a saved plan, it omits the changes made outside of OpenTofu, the
// summary and the outputs, which were printed when the plan was saved.
func (p *jsonPrinter) Plan(v *PlanView) {
	if !v.Saved {
		for _, c := range v.Source().ShownDrift() {
			l := changeLine(c)
			p.line("info", fmt.Sprintf("%s: Drift detected (%s)", c.Addr, l.Action), "resource_drift",
				entry{"change": l})
		}
	}
	for _, c := range v.Source().Listed() {
		if c.Action == plans.NoOp && (v.Saved || c.MovedFrom == nil && c.Importing == nil) {
			continue
		}
		l := changeLine(c)
		p.line("info", fmt.Sprintf("%s: Plan to %s", c.Addr, l.Action), "planned_change", entry{"change": l})
	}
	for inv := range v.Plan.Changes.Invocations() {
		out := invocationJSON(inv)
		out.ConfigValues = valueJSON(withoutSecrets(inv.Config)) // these lines are often kept as logs
		p.line("info", "Planned action invocation: "+planview.InvocationText(inv), "planned_action_invocation",
			entry{"invocation": out})
	}
	for _, d := range v.Source().Deferred() {
		l := changeLine(&d.InstanceChange)
		l.Reason = string(d.Why)
		p.line("info", fmt.Sprintf("%s: Deferred, because %s", d.Addr, d.Because()), "deferred_change",
			entry{"change": l, "chain": d.Chain})
	}
	if v.Plan.Past != nil {
		for _, lost := range pastJSON(v.Plan.Past).Lost {
			text := fmt.Sprintf("%s: Can't be undone: %s", lost.Address, lost.Text)
			p.line("info", text, "not_undone", entry{"lost": lost})
		}
	}
	if l := v.Plan.Looked; l != nil {
		p.line("info", l.Text(v.Plan.Timestamp), "looked_at", entry{"looked_at": l})
	}
	if v.Saved {
		return
	}
	counts := planview.Count(v.Plan)
	p.summary(counts.String(), counts, "plan")
	if len(v.Plan.Changes.Outputs) > 0 {
		outputs := make(map[string]outputJSON)
		for _, o := range v.Plan.Changes.Outputs {
			outputs[o.Name] = outputJSON{Sensitive: o.Sensitive, Action: lineActions[o.Action]}
		}
		p.outputs(outputs)
	}
}

func (p *jsonPrinter) summary(text string, c planview.Counts, operation string) {
	p.line("info", text, "change_summary", entry{"changes": struct {
		Add       int    `json:"add"`
		Change    int    `json:"change"`
		Import    int    `json:"import"`
		Remove    int    `json:"remove"`
		Forget    int    `json:"forget"`
		Deferred  int    `json:"deferred,omitempty"`
		Invoke    int    `json:"action_invocation,omitempty"`
		Operation string `json:"operation"`
	}{c.Add, c.Change, c.Import, c.Remove, c.Forget, c.Deferred, c.Invoke, operation}})
}

func (p *jsonPrinter) outputs(outputs map[string]outputJSON) {
	p.line("info", fmt.Sprintf("Outputs: %d", len(outputs)), "outputs", entry{"outputs": outputs})
}

// State implements Printer.
func (p *jsonPrinter) State(v *StateView) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return WriteState(p.Out, v, p.Version)
}

// Message implements Printer.
func (p *jsonPrinter) Message(m Message) {
	switch m := m.(type) {
	case Text:
		if text := strings.TrimPrefix(strings.TrimSpace(plainText(m.Text)), "- "); text != "" {
			p.line("info", text, "log", nil)
		}
	case Note:
		p.Message(Text(m))
	case Estate:
		p.line("info", strings.TrimSpace(m.Text()), "estate_summary", entry{"estate": m})
	case EstateRoot:
		p.line("info", strings.TrimSpace(m.text()), "root_result", entry{"root": m.Name, "result": m})
	case Applied:
		operation := "apply"
		if m.Destroy {
			operation = "destroy"
		}
		p.summary(m.done(), m.Counts, operation)
	case Incomplete:
		p.line("info", m.text(), "log", nil)
	case Outputs:
		outputs := outputsJSON(m.Values)
		for name, o := range outputs {
			if o.Sensitive { // logs are often readable by others
				o.Value = nil
				outputs[name] = o
			}
		}
		p.outputs(outputs)
	case Addresses:
		for _, addr := range m.Addrs {
			p.line("info", addr, "resource_address", nil)
		}
	case Workspaces:
		p.line("info", "list of workspaces", "workspace_list", entry{"current_workspace": m.Current,
			"workspaces": m.Names})
	default:
		p.queryMessage(m)
	}
}

func plainText(text string) string { return termtext.Plain(text) }
