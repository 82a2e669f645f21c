-- Version 2 of the schema: views for queries, access for other roles, and the limit of the history.
--
-- The views have stable names and columns; later versions only add columns at the end. They have no
-- sensitive values and no documents. They are evaluated with the rights of their owner, and each
-- shows only the workspaces that the current user may see, see the view visible.

ALTER TABLE workspace
    ADD history_since bigint NOT NULL DEFAULT 0,  -- the history is complete from this revision on
    ADD vacuumed timestamptz NOT NULL DEFAULT now();
CREATE INDEX revision_at ON revision (workspace, at);
CREATE INDEX object_history_since ON object_history (workspace, since);

-- What roles other than the owner of the tables may do. Function grant_access adds rows.
CREATE TABLE access (
    role      text COLLATE "C" NOT NULL,
    workspace bigint REFERENCES workspace ON DELETE CASCADE,  -- NULL for all workspaces
    level     text NOT NULL CHECK (level IN ('outputs', 'views', 'state', 'write'))
);
CREATE UNIQUE INDEX access_unique ON access (role, coalesce(workspace, 0));

-- The workspaces that the current user may access, and how. Members of the owner's role may
-- do everything. A row without a workspace is about all workspaces.
CREATE VIEW visible WITH (security_barrier) AS
    SELECT a.workspace, a.level
        FROM access a JOIN pg_roles r ON r.rolname = a.role
        WHERE a.workspace IS NOT NULL AND pg_has_role(r.oid, 'USAGE')
    UNION ALL
    SELECT w.id, e.level
        FROM workspace w CROSS JOIN (
            SELECT a.level FROM access a JOIN pg_roles r ON r.rolname = a.role
                WHERE a.workspace IS NULL AND pg_has_role(r.oid, 'USAGE')
            UNION ALL
            SELECT 'write' FROM pg_class c WHERE c.oid = 'workspace'::regclass AND pg_has_role(c.relowner, 'USAGE')
        ) e
    UNION ALL
    SELECT NULL, a.level
        FROM access a JOIN pg_roles r ON r.rolname = a.role
        WHERE a.workspace IS NULL AND pg_has_role(r.oid, 'USAGE');

-- A row per resource in a module instance.
CREATE VIEW resources WITH (security_barrier) AS
    SELECT w.name AS workspace, r.address, r.config, r.module, r.mode, r.type, r.name, r.provider,
        (SELECT count(DISTINCT o.address) FROM object o
            WHERE o.workspace = r.workspace AND o.resource = r.address) AS instances
    FROM resource r JOIN workspace w ON w.id = r.workspace
    WHERE r.workspace IN (SELECT v.workspace FROM visible v WHERE v.level <> 'outputs');

-- A row per object of a resource instance, with its last change.
CREATE VIEW instances WITH (security_barrier) AS
    SELECT w.name AS workspace, o.address, o.deposed, r.address AS resource, r.config, r.module, r.mode, r.type,
        r.name, o.instance_key AS key, o.provider, o.status, o.schema_version, o.attributes, o.encrypted,
        o.since AS revision, v.at AS changed_at, u.who AS changed_by, u.id AS run
    FROM object o
        JOIN workspace w ON w.id = o.workspace
        JOIN resource r ON r.workspace = o.workspace AND r.address = o.resource
        LEFT JOIN revision v ON v.workspace = o.workspace AND v.id = o.since
        LEFT JOIN run u ON u.id = v.run
    WHERE o.workspace IN (SELECT v.workspace FROM visible v WHERE v.level <> 'outputs');

-- A row per output value of a root module, with its last change.
CREATE VIEW outputs WITH (security_barrier) AS
    SELECT w.name AS workspace, o.name, o.sensitive, o.value, o.encrypted,
        o.since AS revision, v.at AS changed_at, u.who AS changed_by, u.id AS run
    FROM output o
        JOIN workspace w ON w.id = o.workspace
        LEFT JOIN revision v ON v.workspace = o.workspace AND v.id = o.since
        LEFT JOIN run u ON u.id = v.run
    WHERE o.workspace IN (SELECT v.workspace FROM visible v);

-- A row for each thing that an object depends on: a resource in the configuration, and, as far as
-- they are recorded, its instances.
CREATE VIEW dependencies WITH (security_barrier) AS
    SELECT w.name AS workspace, o.address, o.deposed, o.config, d.kind, d.depends_on
    FROM object o
        JOIN workspace w ON w.id = o.workspace
        CROSS JOIN LATERAL (
            SELECT 'resource' AS kind, unnest(o.dependencies) AS depends_on
            UNION ALL
            SELECT 'instance', unnest(o.dependency_instances)) d
    WHERE o.workspace IN (SELECT v.workspace FROM visible v WHERE v.level <> 'outputs');

-- A row per run that changes or has changed a workspace. The outcome of a running run is NULL.
CREATE VIEW runs WITH (security_barrier) AS
    SELECT w.name AS workspace, u.id, u.operation, u.who, u.program, u.started, u.ended, u.outcome
    FROM run u JOIN workspace w ON w.id = u.workspace
    WHERE u.workspace IN (SELECT v.workspace FROM visible v WHERE v.level <> 'outputs');

-- A row per object or output that a transaction changed, as far as the history goes back.
CREATE VIEW changes WITH (security_barrier) AS
    WITH version AS (
        SELECT workspace, 'instance' AS kind, address, deposed, attributes AS value, since, NULL::bigint AS until
            FROM object
        UNION ALL
        SELECT workspace, 'instance', address, deposed, attributes, since, until FROM object_history
        UNION ALL
        SELECT workspace, 'output', name, '', value, since, NULL FROM output
        UNION ALL
        SELECT workspace, 'output', name, '', value, since, until FROM output_history
    ), change AS (
        -- A version that begins, with the one that ends there.
        SELECT n.workspace, n.kind, n.address, n.deposed, n.since AS revision,
            CASE WHEN h.since IS NOT NULL OR p.since IS NOT NULL THEN 'update' ELSE 'create' END AS action,
            CASE WHEN n.kind = 'instance' THEN h.attributes ELSE p.value END AS before, n.value AS after
        FROM version n
            LEFT JOIN object_history h ON n.kind = 'instance' AND h.workspace = n.workspace
                AND h.address = n.address AND h.deposed = n.deposed AND h.until = n.since
            LEFT JOIN output_history p ON n.kind = 'output' AND p.workspace = n.workspace
                AND p.name = n.address AND p.until = n.since
        UNION ALL
        -- A version that ends, without one that begins there.
        SELECT h.workspace, 'instance', h.address, h.deposed, h.until, 'delete', h.attributes, NULL
        FROM object_history h
        WHERE NOT EXISTS (SELECT FROM object o WHERE o.workspace = h.workspace AND o.address = h.address
                AND o.deposed = h.deposed AND o.since = h.until)
            AND NOT EXISTS (SELECT FROM object_history o WHERE o.workspace = h.workspace AND o.address = h.address
                AND o.deposed = h.deposed AND o.since = h.until)
        UNION ALL
        SELECT h.workspace, 'output', h.name, '', h.until, 'delete', h.value, NULL
        FROM output_history h
        WHERE NOT EXISTS (SELECT FROM output o WHERE o.workspace = h.workspace AND o.name = h.name AND o.since = h.until)
            AND NOT EXISTS (SELECT FROM output_history o WHERE o.workspace = h.workspace AND o.name = h.name
                AND o.since = h.until)
    )
    SELECT w.name AS workspace, c.revision, v.at, u.id AS run, u.operation, u.who, c.kind, c.address, c.deposed,
        c.action, c.before, c.after
    FROM change c
        JOIN workspace w ON w.id = c.workspace
        JOIN revision v ON v.workspace = c.workspace AND v.id = c.revision
        JOIN run u ON u.id = v.run
    WHERE c.revision > w.history_since
        AND c.workspace IN (SELECT v.workspace FROM visible v WHERE v.level <> 'outputs');

-- Row-level security. It doesn't apply to the owner of the tables.
DO $$
DECLARE
    entry record;
    -- A new workspace is not in the view yet. Those who may access all workspaces can add one.
    condition constant text := '%2$I IN (SELECT v.workspace FROM visible v WHERE v.level = ANY(%3$L)) OR '
        '%1$L = ''workspace'' AND EXISTS (SELECT FROM visible v WHERE v.workspace IS NULL AND v.level = ANY(%3$L))';
BEGIN
    FOR entry IN VALUES
        ('workspace', 'id', '{outputs,state,write}'), ('output', 'workspace', '{outputs,state,write}'),
        ('run', 'workspace', '{state,write}'), ('revision', 'workspace', '{state,write}'),
        ('resource', 'workspace', '{state,write}'), ('object', 'workspace', '{state,write}'),
        ('object_history', 'workspace', '{state,write}'), ('key_set', 'workspace', '{state,write}'),
        ('output_history', 'workspace', '{state,write}'), ('check_result', 'workspace', '{state,write}'),
        ('operation', 'workspace', '{state,write}'), ('claim', 'workspace', '{state,write}')
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', entry.column1);
        EXECUTE format('CREATE POLICY readers ON %1$I FOR SELECT USING (' || condition || ')',
            entry.column1, entry.column2, entry.column3);
        EXECUTE format('CREATE POLICY writers ON %1$I USING (' || condition || ')',
            entry.column1, entry.column2, '{write}');
    END LOOP;
END $$;

-- grant_access lets a role access a workspace, or all present and future ones if that is NULL. The
-- levels are:
--   outputs  reading outputs, including sensitive ones, as terraform_remote_state does
--   views    reading the views
--   state    reading everything, including sensitive values
--   write    changing everything
-- A role has one level per workspace. The caller must own the tables.
CREATE FUNCTION grant_access(role name, workspace_name text, access_level text) RETURNS void
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    space bigint;
    tables text := 'workspace, output, schema_version, visible';
BEGIN
    IF access_level NOT IN ('outputs', 'views', 'state', 'write') THEN
        RAISE EXCEPTION 'there is no level of access named "%"', access_level
            USING HINT = 'The levels are outputs, views, state and write.';
    END IF;
    IF workspace_name IS NOT NULL THEN
        SELECT id INTO space FROM workspace WHERE name = workspace_name;
        IF space IS NULL THEN
            RAISE EXCEPTION 'there is no workspace named "%"', workspace_name
                USING HINT = 'Create it first, for example with "tofu workspace new".';
        END IF;
    END IF;
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    IF access_level IN ('state', 'write') THEN
        tables := tables || ', run, revision, resource, object, object_history, key_set, output_history, '
            || 'check_result, operation, claim';
    END IF;
    EXECUTE format('GRANT SELECT ON %s, outputs TO %I',
        CASE access_level WHEN 'views' THEN 'schema_version, visible' ELSE tables END, role);
    IF access_level <> 'outputs' THEN
        EXECUTE format('GRANT SELECT ON resources, instances, dependencies, runs, changes TO %I', role);
    END IF;
    IF access_level = 'write' THEN
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON workspace, output, run, revision, resource, object, '
            || 'object_history, key_set, output_history, check_result, operation, claim TO %I', role);
    END IF;
    DELETE FROM access a WHERE a.role = grant_access.role AND a.workspace IS NOT DISTINCT FROM space;
    INSERT INTO access VALUES (role, space, access_level);
END $$;

-- revoke_access undoes grant_access. Privileges on tables stay: without a row in the table access,
-- they show no rows.
CREATE FUNCTION revoke_access(role name, workspace_name text) RETURNS void
LANGUAGE sql SET search_path FROM CURRENT AS $$
    DELETE FROM access a WHERE a.role = $1 AND (a.workspace IS NULL AND $2 IS NULL
        OR a.workspace IN (SELECT id FROM workspace WHERE name = $2))
$$;
REVOKE EXECUTE ON FUNCTION grant_access, revoke_access FROM PUBLIC;
