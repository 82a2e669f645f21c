-- Version 6 of the schema: the last configurations of providers.

-- The last evaluated configuration of a provider instance that manages objects, without secrets. Only
-- the last one is kept.
CREATE TABLE provider_config (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    provider  text COLLATE "C" NOT NULL,  -- as in the table object: provider["HOST/hashicorp/aws"].by["a"]
    encrypted boolean NOT NULL,
    document  text NOT NULL,              -- as in a state file; or its ciphertext
    since     bigint NOT NULL,
    PRIMARY KEY (workspace, provider)
);

ALTER TABLE provider_config ENABLE ROW LEVEL SECURITY;
CREATE POLICY readers ON provider_config FOR SELECT
    USING (workspace IN (SELECT v.workspace FROM visible v WHERE v.level IN ('state', 'write')));
CREATE POLICY writers ON provider_config
    USING (workspace IN (SELECT v.workspace FROM visible v WHERE v.level = 'write'));

DO $$
DECLARE
    entry record;
BEGIN
    FOR entry IN SELECT DISTINCT a.role, a.level FROM access a JOIN pg_roles r ON r.rolname = a.role
        WHERE a.level IN ('state', 'write')
    LOOP
        EXECUTE format('GRANT SELECT ON provider_config TO %I', entry.role);
        IF entry.level = 'write' THEN
            EXECUTE format('GRANT INSERT, UPDATE, DELETE ON provider_config TO %I', entry.role);
        END IF;
    END LOOP;
END $$;

-- As in version 5, with the new table.
CREATE OR REPLACE FUNCTION grant_access(role name, workspace_name text, access_level text) RETURNS void
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
            || 'check_result, operation, claim, last_read, provider_config';
    END IF;
    EXECUTE format('GRANT SELECT ON %s, outputs TO %I',
        CASE access_level WHEN 'views' THEN 'schema_version, visible' ELSE tables END, role);
    IF access_level <> 'outputs' THEN
        EXECUTE format('GRANT SELECT ON resources, instances, dependencies, runs, changes TO %I', role);
    END IF;
    IF access_level = 'write' THEN
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON workspace, output, run, revision, resource, object, '
            || 'object_history, key_set, output_history, check_result, operation, claim, last_read, '
            || 'provider_config TO %I', role);
    END IF;
    DELETE FROM access a WHERE a.role = grant_access.role AND a.workspace IS NOT DISTINCT FROM space;
    INSERT INTO access VALUES (role, space, access_level);
END $$;
