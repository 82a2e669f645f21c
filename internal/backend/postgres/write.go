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

// chunk is the number of rows that one statement writes.
const chunk = 2000

// A transcript writes a change of a workspace in a transaction, as one revision.
type transcript struct {
	tx        pgx.Tx
	workspace int64
	revision  int64
	writing   *writing
}

// exec runs a statement of which the first two parameters are the workspace and the revision.
func (t *transcript) exec(ctx context.Context, sql string, args ...any) error {
	_, err := t.tx.Exec(ctx, sql, append([]any{t.workspace, t.revision}, args...)...)
	return err
}

// next increments the revision of the workspace, which locks its row until the transaction ends.
func (t *transcript) next(ctx context.Context, c *statemgr.Change) (serial int64, err error) {
	err = t.tx.QueryRow(ctx, `UPDATE workspace SET revision = revision + 1, program = $2::text,
			serial = CASE WHEN $3::boolean THEN $4::bigint ELSE serial + 1 END,
			lineage = CASE WHEN $5::text <> '' AND ($3::boolean OR lineage = '') THEN $5::text ELSE lineage END
		WHERE id = $1::bigint RETURNING revision, serial`,
		t.workspace, version.String, c.Replaces, int64(c.Serial), c.Lineage).Scan(&t.revision, &serial)
	return serial, err
}

// write writes the rows of a change.
func (t *transcript) write(ctx context.Context, c *statemgr.Change) error {
	for _, step := range []func(context.Context, *statemgr.Change) error{t.objects, t.resources, t.outputs, t.checks} {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// objects replaces objects and keeps their previous versions.
func (t *transcript) objects(ctx context.Context, c *statemgr.Change) error {
	if len(c.Objects) == 0 {
		return nil
	}
	configs := map[string]string{} // of the instances, by address
	for _, o := range c.Objects {
		configs[o.Addr.String()] = o.Addr.Config().String()
	}
	addresses := slices.Sorted(maps.Keys(configs))
	before, err := t.existing(ctx, addresses)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(c.Objects, chunk) {
		if err := t.replace(ctx, part); err != nil {
			return err
		}
	}
	after, err := t.existing(ctx, addresses)
	if err != nil {
		return err
	}
	changed := map[string]bool{}
	for address, config := range configs {
		if before[address] != after[address] {
			changed[config] = true
		}
	}
	return t.exec(ctx, `INSERT INTO key_set (workspace, config, since)
		SELECT $1::bigint, config, $2::bigint FROM unnest($3::text[]) AS config
		ON CONFLICT (workspace, config) DO UPDATE SET since = excluded.since`, slices.Sorted(maps.Keys(changed)))
}

// existing returns those of the instances that have objects.
func (t *transcript) existing(ctx context.Context, addresses []string) (map[string]bool, error) {
	rows, err := t.tx.Query(ctx, "SELECT DISTINCT address FROM object WHERE workspace = $1::bigint AND "+
		"address = ANY($2::text[])", t.workspace, addresses)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	var address string
	_, err = pgx.ForEachRow(rows, []any{&address}, func() error {
		out[address] = true
		return nil
	})
	return out, err
}

// columns are the values of the columns of several rows, in the order of insertObjects.
type columns struct {
	address, deposed, resource, config, provider, status, dependencies, instances, document []string
	key, attributes                                                                         []*string
	schema                                                                                  []int64
	encrypted                                                                               []bool
}

const insertObjects = `INSERT INTO object (workspace, since, address, deposed, resource, config, instance_key,
		provider, status, schema_version, dependencies, dependency_instances, attributes, encrypted, document)
	SELECT $1::bigint, $2::bigint, address, deposed, resource, config, key::jsonb, provider, status, schema,
		ARRAY(SELECT jsonb_array_elements_text(deps::jsonb)), ARRAY(SELECT jsonb_array_elements_text(instances::jsonb)),
		attributes::jsonb, encrypted, document
	FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::bigint[],
		$11::text[], $12::text[], $13::text[], $14::boolean[], $15::text[])
		AS r (address, deposed, resource, config, key, provider, status, schema, deps, instances, attributes,
		encrypted, document)`

// replace removes the present versions of objects and writes the new ones.
func (t *transcript) replace(ctx context.Context, objects []statemgr.ObjectChange) error {
	var addresses, deposed []string
	var rows columns
	providers := map[addrs.AbsResource]addrs.AbsProviderConfig{}
	var touched []string
	for i := range objects {
		o := &objects[i]
		addresses, deposed = append(addresses, o.Addr.String()), append(deposed, string(o.Deposed))
		touched = append(touched, o.Addr.Abs().String())
		if o.Object == nil {
			continue
		}
		providers[o.Addr.Abs()] = o.Provider.Config
		if err := rows.add(t.writing, o); err != nil {
			return fmt.Errorf("%s can't be written to the state: %w", o.Addr, err)
		}
	}
	if err := t.exec(ctx, `WITH old AS (
			DELETE FROM object USING unnest($3::text[], $4::text[]) AS d (address, deposed)
			WHERE workspace = $1::bigint AND object.address = d.address AND object.deposed = d.deposed
			RETURNING object.*)
		INSERT INTO object_history SELECT old.*, $2::bigint FROM old`, addresses, deposed); err != nil {
		return err
	}
	if err := t.setResources(ctx, providers); err != nil {
		return err
	}
	if len(rows.address) > 0 {
		if err := t.exec(ctx, insertObjects, rows.address, rows.deposed, rows.resource, rows.config, rows.key,
			rows.provider, rows.status, rows.schema, rows.dependencies, rows.instances, rows.attributes,
			rows.encrypted, rows.document); err != nil {
			return err
		}
	}
	slices.Sort(touched)
	return t.execNoRevision(ctx, `DELETE FROM resource r WHERE workspace = $1::bigint AND address = ANY($2::text[])
		AND NOT EXISTS (SELECT FROM object o WHERE o.workspace = r.workspace AND o.resource = r.address)`,
		slices.Compact(touched))
}

// execNoRevision runs a statement of which the first parameter is the workspace.
func (t *transcript) execNoRevision(ctx context.Context, sql string, args ...any) error {
	_, err := t.tx.Exec(ctx, sql, append([]any{t.workspace}, args...)...)
	return err
}

func (c *columns) add(w *writing, o *statemgr.ObjectChange) error {
	text, err := w.encoder.Object(o.Object)
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
	return nil
}

// list returns texts as a JSON array.
func list(texts []string) string {
	out, err := json.Marshal(texts)
	if err != nil {
		panic("unreachable: any list of texts is valid JSON")
	}
	return string(out)
}

// setResources adds resources and changes their providers.
func (t *transcript) setResources(ctx context.Context, providers map[addrs.AbsResource]addrs.AbsProviderConfig) error {
	var address, config, module, mode, typ, name, provider []string
	for _, r := range slices.SortedFunc(maps.Keys(providers), addrs.AbsResource.Compare) {
		address, config = append(address, r.String()), append(config, r.Config().String())
		module, mode = append(module, string(r.Module)), append(mode, r.Resource.Mode.String())
		typ, name = append(typ, r.Resource.Type), append(name, r.Resource.Name)
		provider = append(provider, providers[r].String())
	}
	if len(address) == 0 {
		return nil
	}
	return t.exec(ctx, `INSERT INTO resource (workspace, since, address, config, module, mode, type, name, provider)
		SELECT $1::bigint, $2::bigint, * FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
			$8::text[], $9::text[])
		ON CONFLICT (workspace, address) DO UPDATE SET provider = excluded.provider, since = excluded.since
		WHERE resource.provider <> excluded.provider`, address, config, module, mode, typ, name, provider)
}

// resources adds and removes resources without instances.
func (t *transcript) resources(ctx context.Context, c *statemgr.Change) error {
	providers := map[addrs.AbsResource]addrs.AbsProviderConfig{}
	var gone []string
	for _, r := range c.Resources {
		if r.Gone {
			gone = append(gone, r.Addr.String())
		} else {
			providers[r.Addr] = r.Provider
		}
	}
	if len(gone) > 0 {
		if err := t.execNoRevision(ctx, `DELETE FROM resource r WHERE workspace = $1::bigint AND
			address = ANY($2::text[]) AND
			NOT EXISTS (SELECT FROM object o WHERE o.workspace = r.workspace AND o.resource = r.address)`, gone); err != nil {
			return err
		}
	}
	return t.setResources(ctx, providers)
}

// outputs replaces outputs and keeps their previous versions.
func (t *transcript) outputs(ctx context.Context, c *statemgr.Change) error {
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
	if err := t.exec(ctx, `WITH old AS (
			DELETE FROM output WHERE workspace = $1::bigint AND name = ANY($3::text[]) RETURNING output.*)
		INSERT INTO output_history SELECT old.*, $2::bigint FROM old`, slices.Sorted(maps.Keys(c.Outputs))); err != nil {
		return err
	}
	return t.exec(ctx, `INSERT INTO output (workspace, since, name, sensitive, value, encrypted, document)
		SELECT $1::bigint, $2::bigint, name, sensitive, value::jsonb, encrypted, document
		FROM unnest($3::text[], $4::boolean[], $5::text[], $6::boolean[], $7::text[])
			AS r (name, sensitive, value, encrypted, document)`, names, sensitive, values, encrypted, documents)
}

// checks replaces the results of checks that changed.
func (t *transcript) checks(ctx context.Context, c *statemgr.Change) error {
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
	if err := t.execNoRevision(ctx, `DELETE FROM check_result c WHERE workspace = $1::bigint AND NOT EXISTS (
		SELECT FROM unnest($2::text[], $3::text[]) AS k (kind, config) WHERE k.kind = c.kind AND k.config = c.config)`,
		kinds, configs); err != nil {
		return err
	}
	return t.exec(ctx, `INSERT INTO check_result (workspace, since, kind, config, status, encrypted, document)
		SELECT $1::bigint, $2::bigint, * FROM unnest($3::text[], $4::text[], $5::text[], $6::boolean[], $7::text[])
		ON CONFLICT (workspace, kind, config) DO UPDATE SET since = excluded.since, status = excluded.status,
			encrypted = excluded.encrypted, document = excluded.document
		WHERE check_result.encrypted OR check_result.document <> excluded.document`,
		kinds, configs, statuses, encrypted, documents)
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
	if _, _, err = s.NewRun(workspace, nil, statemgr.NewLockInfo("put")).Write(ctx, change); err != nil {
		return fmt.Errorf("writing the state: %w", err)
	}
	return nil
}

// Delete implements backend.Store. It is refused while a run is running.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	err := s.transaction(ctx, readWrite, func(ctx context.Context, tx pgx.Tx) error {
		id, found, err := lockWorkspace(ctx, tx, workspace)
		if err != nil || !found {
			return err
		}
		if err := endDead(ctx, tx, id); err != nil {
			return err
		}
		if err := noRuns(ctx, tx, id, ""); err != nil {
			return err
		}
		for _, table := range []string{"revision", "workspace"} { // revisions refer to runs
			column := map[string]string{"revision": "workspace", "workspace": "id"}[table]
			if _, err := tx.Exec(ctx, "DELETE FROM "+table+" WHERE "+column+" = $1::bigint", id); err != nil {
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
