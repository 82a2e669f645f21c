-- Version 1 of the schema. Tables have singular names and belong to the program: their columns
-- change with the version. Views have plural names and are stable.
--
-- Every transaction that changes a workspace first increments its revision, which locks that row.
-- So the revisions of a workspace are ordered as its transactions, and the rows that have
-- since <= R, together with the rows of the history that have since <= R < until, are the state as
-- of revision R.

CREATE TABLE workspace (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name     text COLLATE "C" NOT NULL UNIQUE,
    lineage  text NOT NULL,
    serial   bigint NOT NULL,             -- as in state files; "state push" and migrations set it
    revision bigint NOT NULL DEFAULT 0,   -- never decreases
    fence    bigint NOT NULL DEFAULT 0,   -- the fencing number of the latest run
    program  text NOT NULL,               -- version of the program that wrote last
    created  timestamptz NOT NULL DEFAULT now()
);

-- A run of the program that changes a workspace. A run that makes a single change has ended when
-- it becomes visible.
CREATE TABLE run (
    id        text COLLATE "C" PRIMARY KEY,
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    operation text NOT NULL,              -- such as OperationTypeApply or state-mv
    who       text NOT NULL,              -- user@host
    process   text NOT NULL,              -- process ID and its space
    program   text NOT NULL,
    fence     bigint NOT NULL,
    started   timestamptz NOT NULL DEFAULT clock_timestamp(),
    lease     timestamptz NOT NULL,       -- others may end the run after this time
    ended     timestamptz,
    outcome   text                        -- of an ended run: done, failed or lost
);
CREATE INDEX run_workspace ON run (workspace, started);
CREATE INDEX run_running ON run (workspace) WHERE ended IS NULL;

-- A transaction that changed a workspace.
CREATE TABLE revision (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    id        bigint NOT NULL,
    serial    bigint NOT NULL,
    run       text COLLATE "C" NOT NULL REFERENCES run ON DELETE CASCADE,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (workspace, id)
);
CREATE INDEX revision_run ON revision (run);

-- A resource in one module instance.
CREATE TABLE resource (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    address   text COLLATE "C" NOT NULL,  -- module.a["x"].aws_vpc.main
    config    text COLLATE "C" NOT NULL,  -- module.a.aws_vpc.main
    module    text COLLATE "C" NOT NULL,  -- module.a["x"]
    mode      text NOT NULL,              -- managed or data
    type      text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    provider  text NOT NULL,              -- as in state files: provider["HOST/hashicorp/aws"].west
    since     bigint NOT NULL,
    PRIMARY KEY (workspace, address)
);
CREATE INDEX resource_type ON resource (type);

-- A current or deposed object of a resource instance.
CREATE TABLE object (
    workspace            bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    address              text COLLATE "C" NOT NULL,           -- module.a["x"].aws_vpc.main[0]
    deposed              text COLLATE "C" NOT NULL,           -- '' for the current object
    resource             text COLLATE "C" NOT NULL,           -- address of its resource
    config               text COLLATE "C" NOT NULL,           -- config of its resource
    instance_key         jsonb,                               -- a number, a string, or NULL for none
    provider             text NOT NULL,                       -- with the key of the provider instance
    status               text NOT NULL,                       -- ready or tainted
    schema_version       bigint NOT NULL,
    dependencies         text[] COLLATE "C" NOT NULL,         -- configs of resources
    dependency_instances text[] COLLATE "C" NOT NULL,         -- addresses of instances
    attributes           jsonb,   -- without sensitive values; NULL if encrypted or not JSONB
    encrypted            boolean NOT NULL,
    document             text NOT NULL, -- the object as in a state file, exactly; or its ciphertext
    since                bigint NOT NULL,
    PRIMARY KEY (workspace, address, deposed)
);
CREATE INDEX object_since ON object (workspace, since);
CREATE INDEX object_resource ON object (workspace, resource);
CREATE INDEX object_config ON object (workspace, config);
CREATE INDEX object_dependencies ON object USING gin (dependencies);

-- Versions of objects that were replaced by the transaction of revision until.
CREATE TABLE object_history (
    LIKE object,
    until bigint NOT NULL,
    PRIMARY KEY (workspace, address, deposed, since),
    FOREIGN KEY (workspace) REFERENCES workspace ON DELETE CASCADE
);
CREATE INDEX object_history_until ON object_history (workspace, until);

-- The last revision that added or removed an instance of a resource. It outlives the resource, so
-- that a plan learns of instances that came and went since.
CREATE TABLE key_set (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    config    text COLLATE "C" NOT NULL,
    since     bigint NOT NULL,
    PRIMARY KEY (workspace, config)
);

-- An output value of the root module.
CREATE TABLE output (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    name      text COLLATE "C" NOT NULL,
    sensitive boolean NOT NULL,
    value     jsonb,              -- NULL if it is sensitive, encrypted, or not JSONB
    encrypted boolean NOT NULL,
    document  text NOT NULL,      -- the output as in a state file, exactly; or its ciphertext
    since     bigint NOT NULL,
    PRIMARY KEY (workspace, name)
);

CREATE TABLE output_history (
    LIKE output,
    until bigint NOT NULL,
    PRIMARY KEY (workspace, name, since),
    FOREIGN KEY (workspace) REFERENCES workspace ON DELETE CASCADE
);
CREATE INDEX output_history_until ON output_history (workspace, until);

-- The result of the conditions of a block or of a check block. Only the last result is kept.
CREATE TABLE check_result (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    kind      text COLLATE "C" NOT NULL,
    config    text COLLATE "C" NOT NULL,
    status    text NOT NULL,
    encrypted boolean NOT NULL,
    document  text NOT NULL,
    since     bigint NOT NULL,
    PRIMARY KEY (workspace, kind, config)
);

-- A step in which a provider changes an object, from before its start until its result is
-- recorded. The steps of a run that was lost stay until another run succeeds.
CREATE TABLE operation (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    run       text COLLATE "C" NOT NULL REFERENCES run ON DELETE CASCADE,
    address   text COLLATE "C" NOT NULL,
    deposed   text COLLATE "C" NOT NULL,
    action    text NOT NULL,
    started   timestamptz NOT NULL,
    document  text NOT NULL,      -- with provider and planned values; or its ciphertext
    PRIMARY KEY (run, address, deposed)
);
CREATE INDEX operation_workspace ON operation (workspace);

-- What a running run depends on. Two claims of an object or output conflict unless both are for
-- reading. A claim of the kind "resource", to write some of its objects, conflicts with one of the
-- kind "whole", to read all of its objects and which instances exist.
CREATE TABLE claim (
    workspace bigint NOT NULL REFERENCES workspace ON DELETE CASCADE,
    kind      text COLLATE "C" NOT NULL,  -- object, output, resource or whole
    address   text COLLATE "C" NOT NULL,  -- config of the resource, address of the instance, or name
    run       text COLLATE "C" NOT NULL REFERENCES run ON DELETE CASCADE,
    writes    boolean NOT NULL,
    PRIMARY KEY (workspace, address, kind, run)
);
CREATE INDEX claim_run ON claim (run);
