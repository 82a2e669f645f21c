package progress

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/termtext"
)

// A Live keeps track of what a command is doing. Its methods are safe for concurrent use. The
// methods of a nil Live do nothing.
type Live struct {
	style termtext.Style
	now   func() time.Time
	began time.Time

	mu       sync.Mutex
	region   *Region
	phase    string
	since    time.Time // start of the phase
	done     int
	total    int    // number of steps in the phase; 0 if unknown
	parallel int    // maximum number of concurrent operations; 0 if unlimited
	note     string // what the phase is waiting for; "" for nothing in particular
	running  map[task]*operation
	slowest  []Took // slowest operations, the longest first

	waiters func(engine.Object, plans.Action) []addrs.AbsInstance // see engine.Ordered; nil if unknown
	lost    func() int                                            // see engine.Ordered; nil if unknown
	failed  map[addrs.AbsInstance]bool                            // objects with a failed step
	waiting func(name string) []string                            // see Order; nil if unknown
}

// task identifies a running operation by its object or, if it has no object, by its name.
type task struct {
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
	from    string // what triggers an action
	name    string // set if the operation has no address
	// root is the name of the operation to which this one belongs: that of a root module, if the phase
	// works on many. It is "" for the steps of the phase.
	root string
}

// operation is a running operation.
type operation struct {
	what   string // such as "creating"
	since  time.Time
	action plans.Action // set if the operation is a change
	asked  bool         // whether next and direct are set
	failed int          // number of objects with a failed step when they were set
	next   string       // name of the first operation that waits for this one
	direct int          // number of operations that wait for this one
}

// Took is the duration of an operation.
type Took struct {
	Name, What string
	Elapsed    time.Duration
}

// slowestKept is the number of operations in the table of the slowest operations.
const slowestKept = 10

// longRun is the minimum duration of a run after which the slowest operations are listed.
const longRun = time.Minute

// New returns a Live without a region. now is usually time.Now.
func New(style termtext.Style, now func() time.Time) *Live {
	return &Live{style: style, now: now, began: now(), running: make(map[task]*operation)}
}

// Attach sets the region that shows the progress. The region must draw Lines.
func (l *Live) Attach(r *Region) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.region = r
}

// Visible reports whether a region shows the progress. If so, messages about it are not needed.
func (l *Live) Visible() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.region != nil
}

// Columns returns the number of columns for a line above the region, or 0 if there is no
// region.
func (l *Live) Columns() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	region := l.region
	l.mu.Unlock()
	if region == nil {
		return 0
	}
	columns, _ := region.dimensions()
	return columns
}

// Phase starts a phase. total is its number of steps, or 0 if unknown. A phase without a name
// hides the progress.
func (l *Live) Phase(name string, total int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.phase, l.total, l.done, l.since, l.note = name, total, 0, l.now(), ""
	l.waiters, l.lost, l.waiting = nil, nil, nil
	l.failed = make(map[addrs.AbsInstance]bool)
	clear(l.running)
	region := l.region
	l.mu.Unlock()
	if name == "" && region != nil {
		region.Hide()
	}
}

// Parallel sets the maximum number of concurrent operations.
func (l *Live) Parallel(n int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.parallel = n
}

// Order sets the function that returns which operations wait until the operation with the given
// name ends. It applies to operations without an address in the current phase.
func (l *Live) Order(waiting func(name string) []string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = waiting
}

// Note sets a line about what the phase is waiting for; "" removes it.
func (l *Live) Note(text string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.note = text
}

// Begin records the start of an operation without an address.
func (l *Live) Begin(name, what string) {
	if l != nil {
		l.begin(task{name: name}, what)
	}
}

// End records the end of an operation without an address, as a step of the phase.
func (l *Live) End(name string) {
	if l == nil {
		return
	}
	l.end(task{name: name})
	l.step()
}

// Close erases the region for good.
func (l *Live) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	region := l.region
	l.region, l.phase = nil, ""
	l.mu.Unlock()
	if region != nil {
		region.Close()
	}
}

// doing maps actions to verbs for running operations.
var doing = map[plans.Action]string{plans.Create: "creating", plans.Update: "modifying", plans.Delete: "destroying",
	plans.Read: "reading", plans.Invoke: "invoking"}

// touching maps operations on ephemeral objects to verbs. Renewals are not shown, because they
// don't count toward -parallelism.
var touching = map[string]string{"open": "opening", "close": "closing"}

// Event records an event of the engine.
func (l *Live) Event(e engine.Event) {
	if l == nil {
		return
	}
	l.RootEvent("", e)
	switch e := e.(type) {
	case engine.RefreshDone:
		if e.Deposed == addrs.NotDeposed {
			l.refreshed()
		}
	case engine.Planned:
		l.step()
	case engine.Ordered:
		l.mu.Lock()
		l.waiters, l.lost = e.Waiters, e.Lost
		l.mu.Unlock()
	case engine.ApplyDone:
		l.applied()
		if e.Failed {
			l.fail(e.Addr)
		}
	case engine.ApplyUnneeded:
		l.applied()
	case engine.Failure:
		l.unbegun(e.Err)
	}
}

// RootEvent records an event of the engine in one of many root modules, whose name is that of a running
// operation. The event doesn't count as a step, because the steps of the phase are root modules.
func (l *Live) RootEvent(root string, e engine.Event) {
	if l == nil {
		return
	}
	of := func(o engine.Object) task { return task{addr: o.Addr, deposed: o.Deposed, from: o.From, root: root} }
	switch e := e.(type) {
	case engine.RefreshStart:
		l.begin(of(e.Object), "refreshing")
	case engine.RefreshDone:
		l.end(of(e.Object))
	case engine.ImportStart:
		l.begin(of(e.Object), "importing")
	case engine.ImportDone:
		l.end(of(e.Object))
	case engine.ApplyStart:
		l.start(of(e.Object), &operation{what: doing[e.Action], action: e.Action})
	case engine.ApplyDone:
		l.end(of(e.Object))
	case engine.ProvisionStart:
		l.becomes(of(e.Object), "provisioning with "+e.Type)
	case engine.EphemeralStart:
		if what := touching[e.Verb]; what != "" {
			l.begin(of(e.Object), what)
		}
	case engine.EphemeralDone:
		l.end(of(e.Object))
	}
}

// applied counts a step of an apply. It does nothing in other phases, because data sources are
// also read while planning.
func (l *Live) applied() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.applies() {
		l.done++
	}
}

// fail records that a step of an object has failed, and reports whether it is the first one.
func (l *Live) fail(addr addrs.AbsInstance) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.failed != nil && !l.failed[addr]
	if first {
		l.failed[addr] = true
	}
	return first
}

// unbegun counts the steps that failed before their operation began.
func (l *Live) unbegun(err error) {
	for _, d := range tfdiags.FromError(err) {
		addr, err := addrs.ParseInstanceText(d.Address)
		if d.Severity == tfdiags.Error && err == nil && l.fail(addr) {
			l.applied()
		}
	}
}

// refreshed counts a step of a phase that only refreshes objects and plans no changes.
func (l *Live) refreshed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == Refreshing {
		l.done++
	}
}

func (t task) String() string {
	switch {
	case t.root != "":
		within := t
		within.root = ""
		return t.root + ": " + within.String()
	case t.name != "":
		return t.name
	case t.deposed != addrs.NotDeposed:
		return t.addr.String() + " (deposed object " + string(t.deposed) + ")"
	case t.from != "":
		return t.addr.String() + " (" + t.from + ")"
	}
	return t.addr.String()
}

func (l *Live) begin(t task, what string) { l.start(t, &operation{what: what}) }

func (l *Live) start(t task, op *operation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	op.since = l.now()
	l.running[t] = op
}

// becomes changes the description of a running operation.
func (l *Live) becomes(t task, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if op := l.running[t]; op != nil {
		op.what = what
	}
}

func (l *Live) end(t task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	op := l.running[t]
	if op == nil {
		return
	}
	delete(l.running, t)
	took := Took{t.String(), op.what, l.now().Sub(op.since)}
	if len(l.slowest) == slowestKept && took.Elapsed <= l.slowest[slowestKept-1].Elapsed {
		return
	}
	at, _ := slices.BinarySearchFunc(l.slowest, took, func(a, b Took) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	l.slowest = slices.Insert(l.slowest, at, took)
	l.slowest = l.slowest[:min(len(l.slowest), slowestKept)]
}

func (l *Live) step() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done++
}

// Names of the phases that count steps.
const (
	Planning   = "Planning"
	Refreshing = "Refreshing"
	Applying   = "Applying"
	Destroying = "Destroying"
	Testing    = "Testing"
)

// applies reports whether the phase applies changes.
func (l *Live) applies() bool { return l.phase == Applying || l.phase == Destroying }

// Lines returns the lines to show, with at most the given numbers of columns and rows.
func (l *Live) Lines(columns, rows int) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == "" {
		return nil
	}
	lines := []string{l.head(columns)}
	last := l.left()
	room := rows - 1
	if last != "" && room > 1 {
		room--
	} else if len(l.running) > 0 {
		last = ""
	}
	lines = append(lines, l.operations(columns, room)...)
	if last != "" && rows > 1 {
		lines = append(lines, l.style.As(termtext.Grey, termtext.Cut("  "+last, columns)))
	}
	return lines
}

// head returns the line about the phase.
func (l *Live) head(columns int) string {
	elapsed := l.now().Sub(l.since)
	text := l.phase
	rest := ""
	if l.total > 0 && l.done <= l.total {
		text += fmt.Sprintf(" %d/%d", l.done, l.total)
		rest = fmt.Sprintf("%d%% ", l.done*100/l.total)
	} else if l.done > 0 {
		text += fmt.Sprintf(" %d", l.done)
	}
	rest += Duration(elapsed)
	if left := l.remaining(elapsed); left > 0 && columns >= 50 {
		rest += ", about " + Duration(left) + " left"
	}
	room := columns - termtext.Width(text) - termtext.Width(rest) - 4
	bar := ""
	room = min(room, 30)
	if l.total > 0 && l.done <= l.total && room >= 8 {
		full := l.done * room / l.total
		bar = " [" + l.style.As(termtext.Green, strings.Repeat("#", full)) + strings.Repeat(".", room-full) + "]"
	}
	if termtext.Width(text)+1+termtext.Width(rest) > columns {
		return termtext.Cut(text+" "+rest, columns)
	}
	return l.style.As(termtext.Bold, text) + bar + " " + rest
}

// Minimum number of steps and minimum time before the remaining time is estimated.
const (
	minSteps = 3
	minTime  = 3 * time.Second
)

// remaining estimates the remaining time of the phase from the time of its steps so far. It
// returns 0 if there is no estimate.
func (l *Live) remaining(elapsed time.Duration) time.Duration {
	if l.total <= l.done || l.done < minSteps || elapsed < minTime {
		return 0
	}
	left := time.Duration(float64(elapsed) / float64(l.done) * float64(l.total-l.done))
	if left > time.Minute {
		return left.Round(10 * time.Second)
	}
	return max(left.Round(time.Second), time.Second)
}

// item is a running operation and its task.
type item struct {
	task
	*operation
}

// longest returns the running steps of the phase, the longest first, and what runs within them.
func (l *Live) longest() (steps []item, within map[string][]item) {
	within = make(map[string][]item)
	for t, op := range l.running {
		if t.root == "" {
			steps = append(steps, item{t, op})
		} else {
			within[t.root] = append(within[t.root], item{t, op})
		}
	}
	longer := func(a, b item) int {
		return cmp.Or(a.since.Compare(b.since), strings.Compare(a.task.String(), b.task.String()))
	}
	slices.SortFunc(steps, longer)
	for _, items := range within {
		slices.SortFunc(items, longer)
	}
	return steps, within
}

// operations returns lines about the running operations, the longest first, in at most the
// given number of rows. What runs in a root module is below its line or, if there is too little room, the
// longest of it is in this line.
func (l *Live) operations(columns, rows int) []string {
	steps, within := l.longest()
	var items []item
	for _, step := range steps {
		items = append(append(items, step), within[step.name]...)
	}
	if len(items) > rows {
		items = steps
	}
	compact := len(items) < len(l.running)
	more := 0
	if len(items) > rows {
		more = len(items) - max(rows-1, 0)
		items = items[:max(rows-1, 0)]
	}
	var out []string
	for _, it := range items {
		start := fmt.Sprintf("%7s  ", Duration(l.now().Sub(it.since)))
		if it.root != "" {
			start, it.root = "    "+start, ""
		}
		note := ": " + it.what
		if inner := within[it.name]; compact && it.root == "" && len(inner) > 0 {
			first := inner[0]
			first.root = ""
			note = ": " + first.what + " " + termtext.Printable(first.task.String())
			if len(inner) > 1 {
				note += fmt.Sprintf(" and %d more", len(inner)-1)
			}
		}
		room := columns - len(start)
		name := termtext.CutMiddle(termtext.Printable(it.task.String()), max(room-termtext.Width(note), 2*room/3, 2))
		out = append(out, start+termtext.Cut(name+note, room))
	}
	if more > 0 && rows > 0 {
		out = append(out, termtext.Cut(fmt.Sprintf("         and %d more at the same time", more), columns))
	}
	return out
}

// left returns the phase's note. If there is no note, it describes the operations that are not
// running yet, and a dependency that they are waiting for.
func (l *Live) left() string {
	if l.note != "" {
		return termtext.Printable(l.note)
	}
	steps, _ := l.longest()
	waiting := l.total - l.done - len(steps) - l.lostSteps()
	ordered := l.applies() || l.waiting != nil
	if !ordered || waiting <= 0 || len(steps) == 0 {
		return ""
	}
	if text := l.dependency(steps, waiting); text != "" {
		return text
	}
	if l.parallel > 1 && len(steps) >= l.parallel {
		return fmt.Sprintf("%s; at most %d run at once", moreWait(waiting), l.parallel)
	}
	return moreWait(waiting) + " for these"
}

// lostSteps returns how many steps don't begin because others have failed.
func (l *Live) lostSteps() int {
	if l.lost == nil {
		return 0
	}
	return l.lost()
}

func moreWait(n int) string {
	if n == 1 {
		return "1 more waits"
	}
	return fmt.Sprintf("%d more wait", n)
}

// dependency returns a text that names a running operation and the first operation that waits for
// it, and says how many others wait. It returns "" if nothing waits for a running operation.
func (l *Live) dependency(steps []item, waiting int) string {
	for _, it := range steps {
		l.ask(it)
		direct := min(it.direct, waiting)
		if direct == 0 {
			continue
		}
		text := termtext.Printable(it.next) + " waits for "
		if direct > 1 {
			text = fmt.Sprintf("%s and %d more wait for ", termtext.Printable(it.next), direct-1)
		}
		text += termtext.Printable(it.task.String())
		if rest := waiting - direct; rest > 0 {
			text += "; " + moreWait(rest)
		}
		return text
	}
	return ""
}

// ask sets the operations that wait for a running one, if they are not set yet.
func (l *Live) ask(it item) {
	switch {
	case it.asked && it.failed == len(l.failed):
	case it.name != "" && l.waiting != nil:
		names := l.waiting(it.name)
		it.asked, it.direct = true, len(names)
		if len(names) > 0 {
			it.next = names[0]
		}
	case it.name == "" && l.waiters != nil:
		waits := l.waiters(engine.Object{Addr: it.addr, Deposed: it.deposed}, it.action)
		it.asked, it.direct, it.failed = true, len(waits), len(l.failed)
		if len(waits) > 0 {
			it.next = waits[0].String()
		}
	}
}

// Slowest returns a table of the slowest operations, or "" if the run took less than longRun or had
// no operations.
func (l *Live) Slowest() string {
	if l == nil {
		return ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now().Sub(l.began) < longRun || len(l.slowest) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n" + l.style.As(termtext.Bold, "What took longest in "+Duration(l.now().Sub(l.began))+":") + "\n")
	for _, took := range l.slowest {
		if took.Elapsed >= time.Second {
			fmt.Fprintf(&b, "%8s  %s: %s\n", Duration(took.Elapsed), termtext.Printable(took.Name), took.What)
		}
	}
	return b.String()
}

// Duration formats a time in seconds, minutes or hours: "5s", "1m05s", "2h03m".
func Duration(d time.Duration) string {
	s := int(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
}
