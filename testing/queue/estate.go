//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// member is a root module of a large estate. Most members read the outputs of another one.
const member = `terraform {
  backend "postgres" {}
}
variable "run" {
  default = ""
}
module "object" {
  source = "../../modules/object"
}
resource "terraform_data" "changed" {
  input = var.run
}
output "id" { value = module.object.id }
`

const reader = `data "terraform_remote_state" "base" {
  backend   = "postgres"
  workspace = "r%05d"
}
resource "terraform_data" "reader" {
  input = data.terraform_remote_state.base.outputs.id
}
`

const objects = `resource "terraform_data" "object" {
  count = %d
  input = "text"
}
output "id" {
  value = terraform_data.object[0].id
}
`

// Every tenth member is a base, which the others of its ten read.
const group = 10

// team is the number of root modules that a roots.tofu.hcl declares.
const team = 100

func name(i int) string { return fmt.Sprintf("r%05d", i) }

func teamDir(i int) string { return fmt.Sprintf("team%03d", i/team) }

func memberDir(i int) string { return teamDir(i) + "/" + name(i) }

// teams returns the directories of all teams.
func (t *trial) teams() (out []string) {
	for i := 0; i < t.estate; i += team {
		out = append(out, teamDir(i))
	}
	return out
}

// writeLarge writes an estate of many root modules with a git repository, whose last commit changes one of them.
func (t *trial) writeLarge() error {
	top := filepath.Join(t.dir, "large")
	write := func(name, text string) error {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		return os.WriteFile(path, []byte(text), 0o600)
	}
	err := write("modules/object/main.tf", fmt.Sprintf(objects, t.objects))
	roots := make(map[string]string)
	for i := 0; i < t.estate && err == nil; i++ {
		text := member
		if i%group > 0 {
			text += fmt.Sprintf(reader, i-i%group)
		}
		roots[teamDir(i)] += fmt.Sprintf("root %q {\n  workspace = %[1]q\n}\n", name(i))
		err = write(memberDir(i)+"/main.tf", text)
	}
	for dir, text := range roots {
		err = errors.Join(err, write(dir+"/roots.tofu.hcl", text))
	}
	if err != nil {
		return err
	}
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)...)
		cmd.Dir = top
		if out, gitErr := cmd.CombinedOutput(); gitErr != nil && err == nil {
			err = fmt.Errorf("git %s: %w\n%s", args[0], gitErr, out)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-qm", "estate")
	if err == nil {
		err = write(memberDir(0)+"/main.tf", member+"output \"more\" {\n  value = 1\n}\n")
	}
	git("commit", "-qam", "change")
	return err
}

// large measures plans of one commit in a large estate, without and with what an earlier command has read.
func (t *trial) large(ctx context.Context, queue string) error {
	began := time.Now()
	if err := t.writeLarge(); err != nil {
		return err
	}
	fmt.Printf("%d root modules were written in %.1f s\n", t.estate, time.Since(began).Seconds())
	if err := t.fill(ctx); err != nil {
		return err
	}
	for range t.workers {
		if err := t.start(queue); err != nil {
			return err
		}
	}
	for _, step := range []struct{ name, args string }{
		{"list, nothing known", "roots list -changed=HEAD~1"},
		{"list", "roots list -changed=HEAD~1"},
		{"init", "roots init -changed=HEAD~1"},
		{"plan in one process", "roots plan -changed=HEAD~1"},
		{"plan over workers", "roots plan -changed=HEAD~1 " + queue},
	} {
		took, cpu, out, err := t.timed(filepath.Join(t.dir, "large"), append(strings.Fields(step.args), t.teams()...)...)
		if err != nil {
			return err
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		fmt.Printf("%s: %.1f s, of which %.1f s on a processor; %q\n", step.name, took.Seconds(), cpu.Seconds(), lines[len(lines)-1])
	}
	return t.day(ctx, queue)
}

// fill writes the states of the estate: those of a base and of a reader, and copies of them for all others.
func (t *trial) fill(ctx context.Context) error {
	began := time.Now()
	only := "-only=" + name(0) + "," + name(1)
	for _, args := range [][]string{{"roots", "init", only, teamDir(0)}, {"roots", "apply", "-auto-approve", only, teamDir(0)}} {
		if _, _, _, err := t.timed(filepath.Join(t.dir, "large"), args...); err != nil {
			return err
		}
	}
	_, err := t.conn.Exec(ctx, fmt.Sprintf(`DO $$
DECLARE
	part text;
	columns text;
BEGIN
	SET LOCAL search_path TO tofu;
	INSERT INTO workspace (name, lineage, serial, revision, fence, program)
		SELECT 'r' || lpad(n::text, 5, '0'), lineage || n, serial, revision, fence, program
		FROM workspace, generate_series(2, %[1]d - 1) AS n WHERE name = CASE WHEN n %% %[2]d = 0 THEN 'r00000' ELSE 'r00001' END;
	CREATE TEMPORARY TABLE copied ON COMMIT DROP AS
		SELECT w.id, f.id AS from FROM workspace w JOIN workspace f
			ON f.name = CASE WHEN right(w.name, 5)::int %% %[2]d = 0 THEN 'r00000' ELSE 'r00001' END
		WHERE w.name NOT IN ('r00000', 'r00001');
	FOREACH part IN ARRAY ARRAY['resource', 'object', 'key_set', 'output', 'provider_config'] LOOP
		SELECT string_agg(quote_ident(attname), ', ') INTO columns FROM pg_attribute
			WHERE attrelid = part::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'workspace';
		EXECUTE format('INSERT INTO %%1$I (workspace, %%2$s) SELECT c.id, %%2$s FROM copied c JOIN %%1$I ON workspace = c.from',
			part, columns);
	END LOOP;
END $$`, t.estate, group))
	if err != nil {
		return fmt.Errorf("copying the states: %w", err)
	}
	if _, err := t.conn.Exec(ctx, "ANALYZE"); err != nil {
		return err
	}
	var states, objects int
	var size string
	err = t.conn.QueryRow(ctx, `SELECT (SELECT count(*) FROM tofu.workspace), (SELECT count(*) FROM tofu.object),
		pg_size_pretty(pg_database_size(current_database()))`).Scan(&states, &objects, &size)
	fmt.Printf("%d states with %d objects were written in %.1f s; the database has %s\n", states, objects,
		time.Since(began).Seconds(), size)
	return err
}

// day applies changes to many root modules, in several runs at the same time. No root module reads outputs of
// another one.
func (t *trial) day(ctx context.Context, queue string) error {
	if t.applies == 0 {
		return nil
	}
	const callers, runs = 4, 20
	each := t.applies / runs // root modules in a run
	if each*runs > t.estate/group {
		return fmt.Errorf("an estate of %d root modules has only %d that read no outputs", t.estate, t.estate/group)
	}
	before, err := t.load(ctx)
	if err != nil {
		return err
	}
	watch := t.observe(ctx)
	began := time.Now()
	next, failed := make(chan int), make(chan error, callers)
	for range callers {
		go func() {
			var err error
			for run := range next {
				var only, dirs []string
				for i := range each {
					member := (run*each + i) * group
					only, dirs = append(only, name(member)), append(dirs, teamDir(member))
				}
				args := []string{"roots", "apply", "-auto-approve", "-var=run=" + fmt.Sprint(run), "-only=" + strings.Join(only, ","), queue}
				_, _, _, one := t.timed(filepath.Join(t.dir, "large"), append(args, slices.Compact(dirs)...)...)
				err = errors.Join(err, one)
			}
			failed <- err
		}()
	}
	for run := range runs {
		next <- run
	}
	close(next)
	for range callers {
		err = errors.Join(err, <-failed)
	}
	took := time.Since(began)
	seen := watch()
	if err != nil {
		return err
	}
	var applied int
	if err := t.conn.QueryRow(ctx, "SELECT count(*) FROM tofu.instances WHERE address = 'terraform_data.changed' AND "+
		"attributes->'input'->>'value' <> ''").Scan(&applied); err != nil {
		return err
	}
	after, err := t.load(ctx)
	if err != nil {
		return err
	}
	perSecond := func(n int) float64 { return float64(n) / took.Seconds() }
	fmt.Printf("%d root modules were applied in %d runs in %.1f s: %.0f a day\n", applied, runs, took.Seconds(),
		perSecond(applied)*24*3600)
	fmt.Printf("connections at most: %d; a second: %.0f transactions, %.0f rows written, %.0f notifications\n", seen.connections,
		perSecond(after.transactions-before.transactions), perSecond(after.rows-before.rows), perSecond(seen.notifications))
	fmt.Printf("of %d samples, %d have a state that waits for a lock, and %d a run in the queue\n", seen.samples, seen.states,
		seen.queue)
	if applied != each*runs || seen.states > 0 {
		return fmt.Errorf("%d root modules were applied instead of %d, or some waited for others", applied, each*runs)
	}
	return nil
}

// timed runs the program in a directory, and measures it.
func (t *trial) timed(dir string, args ...string) (took, cpu time.Duration, out string, err error) {
	cmd := exec.Command(t.bin, args...)
	cmd.Dir, cmd.Env = dir, t.env
	began := time.Now()
	text, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(args[:2], " "), err, text)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		cpu = time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	return time.Since(began), cpu, string(text), err
}
