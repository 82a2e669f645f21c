package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"tofu/internal/addrs"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/version"
)

// chunk is the maximum number of rows that one statement writes.
const chunk = 2000

// A transcript writes a change of a workspace in a transaction, as one revision. Statements are
// sent together, because other runs wait for the workspace in the meantime.
type transcript struct {
	tx                          session
	batch                       *pgx.Batch // statements that are not sent yet
	workspace, revision, serial int64      // revision and serial are the old state's until next is called
	writing                     *writing
}

// exec adds a statement whose first two parameters are the workspace and the revision.
func (t *transcript) exec(sql string, args ...any) {
	t.batch.Queue(sql, append([]any{t.workspace, t.revision}, args...)...)
}

// execNoRevision adds a statement whose first parameter is the workspace.
func (t *transcript) execNoRevision(sql string, args ...any) {
	t.batch.Queue(sql, append([]any{t.workspace}, args...)...)
}

// send sends the statements and returns the first error.
func (t *transcript) send(ctx context.Context) error {
	batch := *t.batch
	*t.batch = pgx.Batch{}
	return send(ctx, t.tx, &batch)
}

// next begins the next revision of the workspace. The caller has locked the workspace's row.
func (t *transcript) next(c *statemgr.Change) {
	t.revision++
	t.serial++
	if c.Replaces {
		t.serial = int64(c.Serial)
	}
	t.exec(`UPDATE workspace SET revision = $2::bigint, program = $3::text, serial = $4::bigint,
			lineage = CASE WHEN $6::text <> '' AND ($5::boolean OR lineage = '') THEN $6::text ELSE lineage END
		WHERE id = $1::bigint`, version.String, t.serial, c.Replaces, c.Lineage)
	if c.Replaces {
		t.execNoRevision("DELETE FROM last_read WHERE workspace = $1::bigint")
	}
}

// write adds the statements that write the rows of a change.
func (t *transcript) write(ctx context.Context, c *statemgr.Change) error {
	if err := t.objects(ctx, c); err != nil {
		return err
	}
	t.resources(c)
	if err := t.outputs(c); err != nil {
		return err
	}
	if err := t.providers(c); err != nil {
		return err
	}
	return t.checks(c)
}

// objects replaces objects and keeps their previous versions.
func (t *transcript) objects(ctx context.Context, c *statemgr.Change) error {
	if len(c.Objects) == 0 {
		return nil
	}
	configs := map[string]string{} // configuration addresses of the instances, by address
	for _, o := range c.Objects {
		configs[o.Addr.String()] = o.Addr.Config().String()
	}
	t.retire(c.Objects)
	for part := range slices.Chunk(c.Objects, chunk) {
		if err := t.add(part); err != nil {
			return err
		}
		if len(part) == chunk { // limits the memory for statements
			if err := t.send(ctx); err != nil {
				return err
			}
		}
	}
	var addresses, of []string
	for _, address := range slices.Sorted(maps.Keys(configs)) {
		addresses, of = append(addresses, address), append(of, configs[address])
	}
	// Record the revision for each resource whose set of instances this change changes. An instance
	// existed before if it has an older object, or if this change moves one of its objects to the
	// history.
	t.exec(`INSERT INTO key_set (workspace, config, since)
		SELECT DISTINCT $1::bigint, i.config, $2::bigint FROM unnest($3::text[], $4::text[]) AS i (address, config)
		WHERE EXISTS (SELECT FROM object o WHERE o.workspace = $1::bigint AND o.address = i.address)
			<> (EXISTS (SELECT FROM object o WHERE o.workspace = $1::bigint AND o.address = i.address AND o.since < $2::bigint)
				OR EXISTS (SELECT FROM object_history h WHERE h.workspace = $1::bigint AND h.address = i.address
					AND h.until = $2::bigint))
		ON CONFLICT (workspace, config) DO UPDATE SET since = excluded.since`, addresses, of)
	return nil
}

// columns holds the values of several rows by column, in the order of insertObjects.
type columns struct {
	address, deposed, resource, config, provider, status, dependencies, instances, document []string
	key, attributes, fromAddress, fromDeposed                                               []*string
	schema                                                                                  []int64
	encrypted, created                                                                      []bool
}

// insertObjects adds objects. An object that was in the state before keeps its value of the column
// created.
const insertObjects = `INSERT INTO object (workspace, since, address, deposed, resource, config, instance_key,
		provider, status, schema_version, dependencies, dependency_instances, attributes, encrypted, document, created)
	SELECT $1::bigint, $2::bigint, r.address, r.deposed, r.resource, r.config, key::jsonb, r.provider, r.status, schema,
		ARRAY(SELECT jsonb_array_elements_text(deps::jsonb)), ARRAY(SELECT jsonb_array_elements_text(instances::jsonb)),
		r.attributes::jsonb, r.encrypted, r.document, coalesce(h.created, r.created)
	FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
		$11::text[], $12::text[], $13::text[], $14::boolean[], $15::text[], $16::text[], $17::text[], $18::boolean[])
		AS r (address, deposed, resource, config, key, provider, status, schema, deps, instances, attributes,
		encrypted, document, from_address, from_deposed, created)
		LEFT JOIN object_history h ON h.workspace = $1::bigint AND h.address = r.from_address
			AND h.deposed = r.from_deposed AND h.until = $2::bigint`

// How objects leave an address.
const (
	destroyed = "destroyed"
	moved     = "moved"   // to another address
	removed   = "removed" // removed only from the state
)

// retire moves the present versions of objects to the history.
func (t *transcript) retire(objects []statemgr.ObjectChange) {
	next := map[statemgr.ObjectID]statemgr.ObjectID{} // where objects have moved
	for i := range objects {
		if o := &objects[i]; o.From != nil && *o.From != o.ObjectID {
			next[*o.From] = o.ObjectID
		}
	}
	for part := range slices.Chunk(objects, chunk) {
		addresses, deposed := make([]string, len(part)), make([]string, len(part))
		endings, places := make([]string, len(part)), make([]string, len(part))
		for i := range part {
			o := &part[i]
			addresses[i], deposed[i] = o.Addr.String(), string(o.Deposed)
			to, leaves := next[o.ObjectID]
			switch {
			case leaves && o.Deposed == addrs.NotDeposed && to.Deposed != addrs.NotDeposed:
				endings[i] = destroyed // it became deposed, so it is about to be destroyed
			case leaves:
				endings[i], places[i] = moved, to.Addr.String()
			case o.Object != nil:
			case o.ByProvider:
				endings[i] = destroyed
			default:
				endings[i] = removed
			}
		}
		t.exec(`WITH old AS (
				DELETE FROM object o
				USING unnest($3::text[], $4::text[], $5::text[], $6::text[]) AS d (address, deposed, ending, moved_to)
				WHERE o.workspace = $1::bigint AND o.address = d.address AND o.deposed = d.deposed
				RETURNING o.*, nullif(d.ending, '') AS ending, nullif(d.moved_to, '') AS moved_to)
			INSERT INTO object_history (`+objectColumns+`, ending, moved_to, until)
				SELECT `+objectColumns+`, ending, moved_to, $2::bigint FROM old`, addresses, deposed, endings, places)
	}
}

// objectColumns are the columns that the table object and its history table have in common.
const objectColumns = `workspace, address, deposed, resource, config, instance_key, provider, status, schema_version,
	dependencies, dependency_instances, attributes, encrypted, document, since, created`

// add writes the new versions of objects whose old versions are already retired.
func (t *transcript) add(objects []statemgr.ObjectChange) error {
	var rows columns
	providers := map[addrs.AbsResource]addrs.AbsProviderConfig{}
	var left []string // the resources of objects that leave the state
	for i := range objects {
		o := &objects[i]
		if o.Object == nil {
			left = append(left, o.Addr.Abs().String())
			continue
		}
		providers[o.Addr.Abs()] = o.Provider.Config
		if err := rows.add(t.writing, o); err != nil {
			return fmt.Errorf("%s can't be written to the state: %w", o.Addr, err)
		}
	}
	t.setResources(providers)
	if len(rows.address) > 0 {
		t.exec(insertObjects, rows.address, rows.deposed, rows.resource, rows.config, rows.key,
			rows.provider, rows.status, rows.schema, rows.dependencies, rows.instances, rows.attributes,
			rows.encrypted, rows.document, rows.fromAddress, rows.fromDeposed, rows.created)
	}
	slices.Sort(left)
	t.removeResources(slices.Compact(left))
	return nil
}

// removeResources removes the given resources if they have no objects left.
func (t *transcript) removeResources(addresses []string) {
	if len(addresses) > 0 {
		t.execNoRevision(`DELETE FROM resource r WHERE workspace = $1::bigint AND address = ANY($2::text[])
			AND NOT EXISTS (SELECT FROM object o WHERE o.workspace = r.workspace AND o.resource = r.address)`, addresses)
	}
}

func (c *columns) add(w *writing, o *statemgr.ObjectChange) error {
	text, err := statefile.EncodeObject(o.Object)
	if err != nil {
		return err
	}
	doc, err := w.seal(text, objectID(o.Addr.String(), string(o.Deposed)))
	if err != nil {
		return err
	}
	status := "ready"
	if o.Object.Status == states.Tainted {
		status = "tainted"
	}
	var key *string
	if n, ok := o.Addr.Key.IsInt(); ok {
		text := fmt.Sprint(n)
		key = &text
	} else if s, ok := o.Addr.Key.IsString(); ok {
		text := string(states.AppendString(nil, s))
		key = &text
	}
	var visible *string
	if !doc.encrypted {
		visible = attributes(o.Object)
	}
	dependencies, instances := []string{}, []string{}
	for dep := range o.Object.Dependencies.All() {
		dependencies = append(dependencies, dep.String())
	}
	for _, addr := range o.Object.DependencyInstances {
		instances = append(instances, addr.String())
	}
	c.address, c.deposed = append(c.address, o.Addr.String()), append(c.deposed, string(o.Deposed))
	c.resource, c.config = append(c.resource, o.Addr.Abs().String()), append(c.config, o.Addr.Config().String())
	c.key, c.provider = append(c.key, key), append(c.provider, o.Provider.String())
	c.status, c.schema = append(c.status, status), append(c.schema, o.Object.SchemaVersion)
	c.dependencies, c.instances = append(c.dependencies, list(dependencies)), append(c.instances, list(instances))
	c.attributes, c.encrypted = append(c.attributes, visible), append(c.encrypted, doc.encrypted)
	c.document = append(c.document, doc.text)
	var address, deposed *string
	if o.From != nil {
		from, key := o.From.Addr.String(), string(o.From.Deposed)
		address, deposed = &from, &key
	}
	c.fromAddress, c.fromDeposed = append(c.fromAddress, address), append(c.fromDeposed, deposed)
	c.created = append(c.created, o.ByProvider)
	return nil
}

// list returns strings as a JSON array.
func list(texts []string) string {
	out, err := json.Marshal(texts)
	if err != nil {
		panic("unreachable: any list of texts is valid JSON")
	}
	return string(out)
}

// setResources adds resources and changes their providers.
func (t *transcript) setResources(providers map[addrs.AbsResource]addrs.AbsProviderConfig) {
	var address, config, module, mode, typ, name, provider []string
	for _, r := range slices.SortedFunc(maps.Keys(providers), addrs.AbsResource.Compare) {
		address, config = append(address, r.String()), append(config, r.Config().String())
		module, mode = append(module, string(r.Module)), append(mode, r.Resource.Mode.String())
		typ, name = append(typ, r.Resource.Type), append(name, r.Resource.Name)
		provider = append(provider, providers[r].String())
	}
	if len(address) == 0 {
		return
	}
	t.exec(`INSERT INTO resource (workspace, since, address, config, module, mode, type, name, provider)
		SELECT $1::bigint, $2::bigint, * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
			$8::text[], $9::text[])
		ON CONFLICT (workspace, address) DO UPDATE SET provider = excluded.provider, since = excluded.since
		WHERE resource.provider <> excluded.provider`, address, config, module, mode, typ, name, provider)
}

// resources adds and removes resources without instances.
func (t *transcript) resources(c *statemgr.Change) {
	providers := map[addrs.AbsResource]addrs.AbsProviderConfig{}
	var gone []string
	for _, r := range c.Resources {
		if r.Gone {
			gone = append(gone, r.Addr.String())
		} else {
			providers[r.Addr] = r.Provider
		}
	}
	t.removeResources(gone)
	t.setResources(providers)
}

// outputs replaces outputs and keeps their previous versions.
func (t *transcript) outputs(c *statemgr.Change) error {
	if len(c.Outputs) == 0 {
		return nil
	}
	parts, err := encodeParts(c.Outputs, nil)
	if err != nil {
		return err
	}
	var names, documents []string
	var sensitive, encrypted []bool
	var values []*string
	for _, name := range slices.Sorted(maps.Keys(parts.Outputs)) {
		doc, err := t.writing.seal(parts.Outputs[name], outputID(name))
		if err != nil {
			return err
		}
		names, documents, encrypted = append(names, name), append(documents, doc.text), append(encrypted, doc.encrypted)
		secret := c.Outputs[name].Sensitive
		sensitive = append(sensitive, secret)
		var visible *string
		if !secret && !doc.encrypted {
			var in struct {
				Value json.RawMessage `json:"value"`
			}
			if err := json.Unmarshal(parts.Outputs[name], &in); err != nil {
				return err
			}
			visible = jsonb(in.Value)
		}
		values = append(values, visible)
	}
	t.exec(`WITH old AS (
			DELETE FROM output WHERE workspace = $1::bigint AND name = ANY($3::text[]) RETURNING output.*)
		INSERT INTO output_history SELECT old.*, $2::bigint FROM old`, slices.Sorted(maps.Keys(c.Outputs)))
	t.exec(`INSERT INTO output (workspace, since, name, sensitive, value, encrypted, document)
		SELECT $1::bigint, $2::bigint, name, sensitive, value::jsonb, encrypted, document
		FROM unnest($3::text[], $4::boolean[], $5::text[], $6::boolean[], $7::text[])
			AS r (name, sensitive, value, encrypted, document)`, names, sensitive, values, encrypted, documents)
	return nil
}

// checks replaces the results of checks that changed.
func (t *transcript) checks(c *statemgr.Change) error {
	if !c.NewChecks {
		return nil
	}
	parts, err := encodeParts(nil, c.Checks)
	if err != nil {
		return err
	}
	var kinds, configs, statuses, documents []string
	var encrypted []bool
	for i, block := range c.Checks.Sorted() {
		doc, err := t.writing.seal(parts.Checks[i], checkID(string(block.Kind), block.Config))
		if err != nil {
			return err
		}
		kinds, configs = append(kinds, string(block.Kind)), append(configs, block.Config)
		statuses = append(statuses, block.Status.String())
		documents, encrypted = append(documents, doc.text), append(encrypted, doc.encrypted)
	}
	t.execNoRevision(`DELETE FROM check_result c WHERE workspace = $1::bigint AND NOT EXISTS (
		SELECT FROM unnest($2::text[], $3::text[]) AS k (kind, config) WHERE k.kind = c.kind AND k.config = c.config)`,
		kinds, configs)
	t.exec(`INSERT INTO check_result (workspace, since, kind, config, status, encrypted, document)
		SELECT $1::bigint, $2::bigint, * FROM unnest($3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[])
		ON CONFLICT (workspace, kind, config) DO UPDATE SET since = excluded.since, status = excluded.status,
			encrypted = excluded.encrypted, document = excluded.document
		WHERE check_result.encrypted OR check_result.document <> excluded.document`,
		kinds, configs, statuses, encrypted, documents)
	return nil
}

// Put implements backend.Store. It writes the parts of a state file that differ from the present
// state.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	file, err := statefile.Parse(data)
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	present, err := s.LoadState(ctx, workspace, nil)
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	change := statemgr.Difference(present.State, file.State)
	change.Base, change.Replaces, change.Serial, change.Lineage = present.Revision, true, file.Serial, file.Lineage
	change.Providers = statemgr.ProviderChanges(present.State.KnownProviderConfigs(), file.State, change.Objects)
	run := s.NewRun(workspace, nil, statemgr.NewLockInfo("put"))
	_, _, err = run.Write(ctx, func() *statemgr.Change { return change })
	if err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// Delete implements backend.Store. It is refused while a run is running.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	err := s.transaction(ctx, readWrite, func(ctx context.Context, tx pgx.Tx) error {
		w, err := lockWorkspace(ctx, tx, workspace)
		if err != nil || w == nil {
			return err
		}
		if err := noRuns(ctx, tx, w.id); err != nil {
			return err
		}
		for _, table := range []string{"revision", "workspace"} { // in this order, because revisions refer to runs
			column := map[string]string{"revision": "workspace", "workspace": "id"}[table]
			if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE "+column+" = $1::bigint", w.id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("deleting the state: %w", explained(err))
	}
	return nil
}
