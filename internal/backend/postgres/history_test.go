package postgres_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"tofu/internal/addrs"
	"tofu/internal/backend/postgres"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
)

// The histories are random runs of several processes in one workspace: they plan, wait, apply,
// destroy, move, and are killed. Each object records what its run had read. Afterwards, the history
// in the database shows whether everything that was read was still current when the object was
// written. If it was, the results are those of a serial execution, in the order of the runs' last
// writes.
var (
	histories = flag.Int("histories", 30, "number of random `histories`")
	seed      = flag.Uint64("seed", 0, "seed of the first history; 0 for one from the clock")
	groups    = flag.Int("groups", 2, "`number` of histories at the same time, each in its own workspace")
)

const (
	workers      = 3
	transactions = 4 // number of transactions of each worker in a history
	keys         = 4 // instances of each resource
)

var names = []string{"a", "b", "c"}

// content is the JSON content of an object. It records what the run that wrote it had read.
type content struct {
	ID     string            `json:"id"`
	Reads  map[string]string `json:"reads"`  // IDs of the objects that were read, by address
	Wholes map[string]string `json:"wholes"` // sorted IDs of all objects of a resource
}

// workerVariable is an environment variable that holds the connection string, the schema and the
// number of a worker.
const workerVariable = "TOFU_TEST_POSTGRES_WORKER"

// work runs transactions for each line "WORKSPACE SEED" on standard input.
func work(spec string) int {
	parts := strings.Split(spec, "|")
	store, err := postgres.Driver.Open(context.Background(), &postgres.Config{ConnStr: parts[0], Schema: parts[1]})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	dir, err := os.MkdirTemp("", "worker")
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	defer os.RemoveAll(dir)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var workspace string
		var seed uint64
		if _, err := fmt.Sscan(lines.Text(), &workspace, &seed); err != nil {
			fmt.Println("error", err)
			return 1
		}
		w := &worker{store: store.(*postgres.Store), workspace: workspace, name: parts[2], dir: dir,
			rand: rand.New(rand.NewPCG(seed, uint64(len(parts[2]))+uint64(parts[2][0])))}
		for range transactions {
			w.transaction()
		}
		fmt.Println("done")
	}
	return 0
}

type worker struct {
	store                *postgres.Store
	workspace, name, dir string
	rand                 *rand.Rand
	count                int
}

// maybe kills the process with a small probability. Otherwise, it waits for up to 3 ms.
func (w *worker) maybe() {
	if w.rand.IntN(60) == 0 {
		p, _ := os.FindProcess(os.Getpid())
		_ = p.Kill()
		select {}
	}
	time.Sleep(time.Duration(w.rand.IntN(3000)) * time.Microsecond)
}

// step is a change of an object.
type step struct {
	addr   addrs.AbsInstance
	object *states.Object // nil to destroy it
}

type plan struct {
	prior     *states.State
	footprint *plans.Footprint
	steps     []step
}

func (w *worker) transaction() {
	ctx := context.Background()
	var failed atomic.Bool
	m := statemgr.Open(w.store, w.workspace, &statemgr.Options{DataDir: w.dir, WorkDir: w.dir,
		Fail: func(error) { failed.Store(true) }})
	if err := m.Lock(ctx, "test", time.Duration(max(w.rand.IntN(8)-6, 0))*time.Second, nil); err != nil {
		fmt.Println("error", err)
		return
	}
	defer func() {
		if err := m.Unlock(); err != nil {
			fmt.Println("error", err)
		}
	}()
	snap, err := m.Read(ctx, tfdiags.Drop)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	p := w.plan(snap)
	w.maybe()
	if err := m.Begin(ctx, &statemgr.Run{State: p.prior, Footprint: p.footprint}); err != nil {
		text := err.Error()
		if !strings.Contains(text, "stale") && !strings.Contains(text, "state lock") {
			fmt.Println("error", text)
			return
		}
		fmt.Println("refused")
		return
	}
	final := p.prior.Clone()
	for _, s := range p.steps {
		w.maybe()
		action := plans.Update
		if s.object == nil {
			action = plans.Delete
		}
		m.Started(statemgr.Operation{Addr: s.addr, Action: action, Provider: provider})
		w.maybe()
		m.Stored(s.addr, addrs.NotDeposed, s.object, provider)
		m.Ended(s.addr, addrs.NotDeposed)
		if failed.Load() {
			fmt.Println("error a step was not recorded")
			return
		}
		final.SetCurrent(s.addr, s.object, provider)
		if s.object != nil {
			fmt.Println("stored", decode(s.object).ID)
		}
	}
	w.maybe()
	final.Prune()
	if err := m.Save(ctx, final); err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("applied")
}

// plan returns a random plan that creates, updates, destroys or moves at most three objects.
func (w *worker) plan(snap *statemgr.Snapshot) *plan {
	p := &plan{prior: snap.State.Clone(), footprint: &plans.Footprint{Revision: snap.Revision}}
	taken := map[addrs.AbsInstance]bool{}
	for range 1 + w.rand.IntN(3) {
		at := addr(names[w.rand.IntN(len(names))], w.rand.IntN(keys))
		if taken[at] {
			continue
		}
		taken[at] = true
		existed := snap.State.Instance(at) != nil
		write := plans.Write{Addr: at, Existed: existed}
		switch kind := w.rand.IntN(4); {
		case existed && kind == 0 && !w.needed(snap.State, at):
			write.Destroys = true
			p.steps = append(p.steps, step{at, nil})
		case existed && kind == 1:
			to := addr(at.Resource.Name, w.rand.IntN(keys))
			if snap.State.Instance(to) != nil || taken[to] {
				continue
			}
			taken[to] = true
			p.prior.SetCurrent(to, snap.State.Instance(at).Current, provider)
			p.prior.SetCurrent(at, nil, provider)
			p.footprint.Writes = append(p.footprint.Writes, plans.Write{Addr: to})
		default:
			p.steps = append(p.steps, step{at, w.object(snap.State, p.footprint)})
		}
		p.footprint.Writes = append(p.footprint.Writes, write)
	}
	p.prior.Prune()
	return p
}

// needed reports whether an object depends on the resource of an instance.
func (w *worker) needed(st *states.State, at addrs.AbsInstance) bool {
	for r := range st.Resources() {
		for _, inst := range r.Instances {
			if inst.Current.Dependencies.Has(at.Config()) {
				return true
			}
		}
	}
	return false
}

// object returns a new object that may read another instance and all instances of a resource, and
// depends on what it reads.
func (w *worker) object(st *states.State, f *plans.Footprint) *states.Object {
	w.count++
	c := content{ID: fmt.Sprintf("%s-%s-%d-%d", w.workspace, w.name, os.Getpid(), w.count),
		Reads: map[string]string{}, Wholes: map[string]string{}}
	var deps []addrs.ConfigResource
	if at := addr(names[w.rand.IntN(len(names))], w.rand.IntN(keys)); w.rand.IntN(2) == 0 && st.Instance(at) != nil {
		c.Reads[at.String()] = decode(st.Instance(at).Current).ID
		f.Reads = append(f.Reads, at)
		deps = append(deps, at.Config())
	}
	if of := addr(names[w.rand.IntN(len(names))], 0); w.rand.IntN(3) == 0 {
		var ids []string
		if r := st.Resource(of.Abs()); r != nil {
			for _, inst := range r.Instances {
				ids = append(ids, decode(inst.Current).ID)
			}
			deps = append(deps, of.Config())
		}
		slices.Sort(ids)
		c.Wholes[of.Config().String()] = strings.Join(ids, " ")
		f.Wholes = append(f.Wholes, of.Config())
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	return &states.Object{Attrs: text, Dependencies: states.NewDependencies(deps)}
}

func decode(o *states.Object) (c content) {
	if err := json.Unmarshal(o.Attrs, &c); err != nil {
		panic(err)
	}
	return c
}

// process is a worker process, as seen by its parent.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

func start(t *testing.T, c *postgres.Config, n int) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%s|%c", workerVariable, c.ConnStr, c.Schema, 'A'+n))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return &process{cmd, in, bufio.NewScanner(out)}
}

// outcome is the result of one worker in a history.
type outcome struct {
	stored           []string
	applied, refused int
	killed           bool
	problems         []string
}

func (p *process) history(workspace string, seed uint64) (o outcome) {
	fmt.Fprintln(p.in, workspace, seed)
	for p.out.Scan() {
		word, rest, _ := strings.Cut(p.out.Text(), " ")
		switch word {
		case "done":
			return o
		case "stored":
			o.stored = append(o.stored, rest)
		case "applied":
			o.applied++
		case "refused":
			o.refused++
		default:
			o.problems = append(o.problems, p.out.Text())
		}
	}
	o.killed = true
	_ = p.cmd.Wait()
	return o
}

func TestHistories(t *testing.T) {
	c := config(t)
	_ = open(t, c) // creates the schema
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano()) % 1_000_000_000
	}
	t.Logf("histories: %d, seed: %d", *histories, first)
	totals := &totals{log: t.Logf}
	var all sync.WaitGroup
	for n := range *groups {
		all.Go(func() { t.Run(fmt.Sprint(n), func(t *testing.T) { runHistories(t, c, first, totals) }) })
	}
	all.Wait()
	t.Logf("%d runs applied, %d refused, %d killed; %d objects stored",
		totals.applied, totals.refused, totals.killed, totals.stored)
	if *histories >= 30 && (totals.applied == 0 || totals.refused == 0 || totals.killed == 0) {
		t.Error("the histories don't have runs of every kind")
	}
}

// totals counts what has happened in all histories.
type totals struct {
	mu                               sync.Mutex
	log                              func(format string, args ...any)
	begun, checked                   int // histories
	applied, refused, killed, stored int
}

// next returns the number of the next history, and false after the last one.
func (a *totals) next() (h int, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun++
	return a.begun - 1, a.begun <= *histories
}

// add counts a history that was checked.
func (a *totals) add(outcomes []outcome) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, o := range outcomes {
		a.stored += len(o.stored)
		a.applied, a.refused = a.applied+o.applied, a.refused+o.refused
		if o.killed {
			a.killed++
		}
	}
	a.checked++
	if a.checked%100 == 0 {
		a.log("%d histories", a.checked)
	}
}

// runHistories starts worker processes and runs histories in them until none is left or one fails
// its check.
func runHistories(t *testing.T, c *postgres.Config, first uint64, totals *totals) {
	running := make([]*process, workers)
	for !t.Failed() {
		h, ok := totals.next()
		if !ok {
			break
		}
		workspace, seed := fmt.Sprintf("h%d", h), first+uint64(h)
		outcomes := make([]outcome, workers)
		var all sync.WaitGroup
		for n, p := range running {
			if p == nil {
				p = start(t, c, n)
				running[n] = p
			}
			all.Go(func() { outcomes[n] = p.history(workspace, seed) })
		}
		all.Wait()
		var ids []string
		for n, o := range outcomes {
			ids = append(ids, o.stored...)
			for _, problem := range o.problems {
				t.Errorf("seed %d: %s", seed, problem)
			}
			if o.killed {
				running[n] = nil
			}
		}
		check(t, c, workspace, seed, ids)
		totals.add(outcomes)
	}
	for _, p := range running {
		if p != nil {
			_ = p.in.Close()
			_ = p.cmd.Wait()
		}
	}
}

// version is one version of an object, from its row in the table or the history.
type version struct {
	address, config string
	content         content
	dependencies    []string
	since, until    int64 // until is 0 for the present version
	run, ender      string
}

// check compares the history of a workspace with what its objects have recorded.
func check(t *testing.T, c *postgres.Config, workspace string, seed uint64, stored []string) {
	t.Helper()
	versions := load(t, c, workspace)
	fail := func(format string, args ...any) { t.Errorf("seed %d: %s", seed, fmt.Sprintf(format, args...)) }
	first := map[string]int64{} // revision of each run
	originals, seen, live := map[string]*version{}, map[string]bool{}, map[string]string{}
	note := func(run string, revision int64) {
		if first[run] == 0 || first[run] > revision {
			first[run] = revision
		}
	}
	for _, v := range versions {
		note(v.run, v.since)
		if v.ender != "" {
			note(v.ender, v.until)
		}
	}
	for _, v := range versions { // the versions are in the order of revisions
		seen[v.content.ID] = true
		if originals[v.content.ID] == nil {
			originals[v.content.ID] = v
		}
		if v.until == 0 {
			if other, twice := live[v.content.ID]; twice {
				fail("%s is in the state twice, as %s and %s", v.content.ID, other, v.address)
			}
			live[v.content.ID] = v.address
		}
	}
	for _, id := range stored {
		if !seen[id] {
			fail("%s was recorded, and the history doesn't have it", id)
		}
	}
	for _, v := range originals {
		before := first[v.run]
		for address, id := range v.content.Reads {
			if got := ids(versions, before, func(o *version) bool { return o.address == address }); got != id {
				fail("%s (%s, revision %d) has read %s as %q, and it was %q", v.address, v.content.ID, v.since, address, id, got)
			}
			disturbed(fail, versions, v, before, func(o *version) bool { return o.address == address })
		}
		for config, want := range v.content.Wholes {
			if got := ids(versions, before, func(o *version) bool { return o.config == config }); got != want {
				fail("%s (%s, revision %d) has read %s as %q, and it was %q", v.address, v.content.ID, v.since, config, want, got)
			}
			disturbed(fail, versions, v, before, func(o *version) bool { return o.config == config })
		}
	}
	destroyed(fail, versions)
}

// dependsOn reports whether v has read o, or all objects of o's resource.
func (v *version) dependsOn(o *version) bool {
	_, whole := v.content.Wholes[o.config]
	_, one := v.content.Reads[o.address]
	return one || whole && slices.Contains(v.dependencies, o.config)
}

// ids returns the sorted IDs of the matching objects that were in the state just before a revision.
func ids(versions []*version, before int64, match func(*version) bool) string {
	var out []string
	for _, o := range versions {
		if match(o) && o.since < before && (o.until == 0 || o.until >= before) {
			out = append(out, o.content.ID)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// disturbed reports changes that other runs made to objects that v has read, from the first write
// of v's run until v was written.
func disturbed(fail func(string, ...any), versions []*version, v *version, begin int64, match func(*version) bool) {
	for _, o := range versions {
		if match(o) && (o.run != v.run && o.since >= begin && o.since <= v.since ||
			o.ender != "" && o.ender != v.run && o.until >= begin && o.until <= v.since) {
			fail("%s has read %s, which another run changed meanwhile", v.address, o.address)
		}
	}
}

// destroyed reports objects that were destroyed while another one depended on them.
func destroyed(fail func(string, ...any), versions []*version) {
	began := map[string]bool{} // keys are an address or an object's ID, and the revision at which a version began
	for _, v := range versions {
		began[fmt.Sprint(v.address, v.since)] = true
		began[fmt.Sprint(v.content.ID, v.since)] = true
	}
	for _, v := range versions {
		if v.until == 0 || began[fmt.Sprint(v.address, v.until)] || began[fmt.Sprint(v.content.ID, v.until)] {
			continue // v still exists, was replaced, or was moved
		}
		for _, o := range versions {
			if o.since <= v.until && (o.until == 0 || o.until > v.until) && o.run != v.ender && o.ender != v.ender &&
				o.dependsOn(v) {
				fail("%s was destroyed at revision %d, while %s depended on it", v.address, v.until, o.address)
			}
		}
	}
}

func load(t *testing.T, c *postgres.Config, workspace string) []*version {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), server.Conn())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(context.Background(), "SET search_path TO "+pgx.Identifier{c.Schema}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	rows, err := conn.Query(context.Background(), `
		WITH versions AS (
			SELECT workspace, address, config, document, dependencies, since, 0::bigint AS until FROM object
			UNION ALL
			SELECT workspace, address, config, document, dependencies, since, until FROM object_history)
		SELECT v.address, v.config, v.document::jsonb -> 'attributes', v.dependencies, v.since, v.until, b.run, coalesce(e.run, '')
		FROM versions v JOIN workspace w ON w.id = v.workspace
			JOIN revision b ON b.workspace = w.id AND b.id = v.since
			LEFT JOIN revision e ON e.workspace = w.id AND e.id = v.until
		WHERE w.name = $1 ORDER BY v.since, v.address`, workspace)
	if err != nil {
		t.Fatal(err)
	}
	out, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*version, error) {
		v := new(version)
		return v, row.Scan(&v.address, &v.config, &v.content, &v.dependencies, &v.since, &v.until, &v.run, &v.ender)
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
