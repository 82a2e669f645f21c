package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"tofu/internal/backend"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
)

var (
	_ statemgr.Ledger     = (*Store)(nil)
	_ backend.OutputStore = (*Store)(nil)
)

// reading builds a state file from rows. Parsing that file makes objects share equal parts in
// memory, as when a state file is read from a disk.
type reading struct {
	codec    statemgr.Codec
	text     []byte   // the state file; while resources are read, the last section
	file     []byte   // the state file up to the resources, while they are read
	sections [][]byte // resources; see statefile.ParseSections
	at       int      // the place of the sections in the state file
	open     bool     // whether a resource has been begun
	rows     map[string]*resourceRow
	outdated bool
	lost     []statemgr.LostRun
}

// resourceRow is a row of the table of resources.
type resourceRow struct {
	module, mode, typ, name, provider string

	written bool // whether the state file has it
}

// sectionSize is the size of a section in bytes from which the next resource begins another one. A single
// text for all resources would be copied again and again while it grows.
const sectionSize = 1 << 21

// workspaceRow is a row of the table of workspaces.
type workspaceRow struct {
	id, serial, revision int64
	lineage, program     string
}

const findWorkspace = "SELECT id, serial, revision, lineage, program FROM workspace WHERE name = $1::text"

// find returns the row of a workspace, or nil if the workspace doesn't exist.
func find(ctx context.Context, tx session, name string) (*workspaceRow, error) {
	return workspaceOf(tx.QueryRow(ctx, findWorkspace, name))
}

// lockingWorkspace is the query findWorkspace, but also locks the row for the transaction.
// Meanwhile, other transactions can still start steps, whose rows refer to it.
const lockingWorkspace = findWorkspace + " FOR NO KEY UPDATE"

// lockWorkspace returns the row of a workspace after locking it, or nil if the workspace doesn't
// exist.
func lockWorkspace(ctx context.Context, tx session, name string) (*workspaceRow, error) {
	return workspaceOf(tx.QueryRow(ctx, lockingWorkspace, name))
}

func workspaceOf(row pgx.Row) (*workspaceRow, error) {
	w := new(workspaceRow)
	err := row.Scan(&w.id, &w.serial, &w.revision, &w.lineage, &w.program)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return w, err
}

// LoadState implements statemgr.Ledger.
func (s *Store) LoadState(ctx context.Context, workspace string, codec statemgr.Codec) (*statemgr.Loaded, error) {
	return s.load(ctx, workspace, codec, everything)
}

// LoadOutputs implements statemgr.Ledger.
func (s *Store) LoadOutputs(ctx context.Context, workspace string, codec statemgr.Codec) (*statemgr.Loaded, error) {
	return s.load(ctx, workspace, codec, onlyOutputs)
}

func (s *Store) load(
	ctx context.Context, workspace string, codec statemgr.Codec, parts parts,
) (*statemgr.Loaded, error) {
	out := &statemgr.Loaded{State: states.New()}
	r, w, err := s.read(ctx, workspace, codec, parts)
	if err != nil || w == nil {
		return out, explained(err)
	}
	file, err := statefile.ParseSections(r.text, r.sections)
	if err != nil {
		damaged, _ := s.damage(ctx, workspace, codec, func(t *sealedTable) bool {
			return parts == everything || t.name == "output"
		})
		if len(damaged) > 0 { // the error says which part is damaged
			err = statefile.DamagedError{Err: &damaged[0]}
		}
		return nil, err
	}
	out.Exists, out.State, out.Outdated, out.Lost = w.revision > 0, file.State, r.outdated, r.lost
	out.Serial, out.Revision, out.Lineage, out.Version = uint64(w.serial), uint64(w.revision), w.lineage, w.program
	return out, nil
}

// Get implements backend.Store. It returns a state file in version 4. If the state is encrypted, it
// returns an empty encrypted file; only LoadState can read such a state.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	return s.get(ctx, workspace, stateFile)
}

// GetOutputs implements backend.OutputStore. It reads no objects.
func (s *Store) GetOutputs(ctx context.Context, workspace string) ([]byte, error) {
	return s.get(ctx, workspace, onlyOutputs)
}

func (s *Store) get(ctx context.Context, workspace string, parts parts) ([]byte, error) {
	r, w, err := s.read(ctx, workspace, nil, parts)
	switch {
	case errors.Is(err, statefile.ErrEncrypted):
		return fmt.Appendf(nil, `{"serial":%d,"lineage":%s,"meta":{},"encrypted_data":"","encryption_version":"v0"}`,
			w.serial, quoted(w.lineage)), nil
	case err != nil:
		return nil, fmt.Errorf("reading the state: %w", explained(err))
	case w == nil || w.revision == 0: // a first run has claimed parts but written nothing
		return nil, nil
	}
	return r.whole(), nil
}

// whole returns the state file with the resources.
func (r *reading) whole() []byte {
	parts := slices.Clone(r.sections)
	for i, s := range parts {
		parts[i] = s[1 : len(s)-1]
	}
	return slices.Concat(r.text[:r.at], bytes.Join(parts, []byte{','}), r.text[r.at:])
}

// read reads the rows of a workspace. It also returns the workspace's own row, or nil if the
// workspace doesn't exist.
func (s *Store) read(
	ctx context.Context, workspace string, codec statemgr.Codec, parts parts,
) (r *reading, w *workspaceRow, err error) {
	err = s.pipeline(ctx, readOnly, func(b *pgx.Batch) error {
		b.Queue(findWorkspace, workspace).QueryRow(func(row pgx.Row) (err error) {
			w, err = workspaceOf(row)
			return err
		})
		return nil
	}, func(ctx context.Context, _ session, last *pgx.Batch) error {
		r = &reading{codec: codec}
		if w != nil {
			r.state(ctx, last, w, parts)
		}
		return nil
	})
	return r, w, err
}

// errNoAccess is the error for a user who may read only the outputs or the views of a workspace.
var errNoAccess = errors.New("permission denied: the user of the connection string may not read the state of this " +
	"workspace. The owner of the schema can allow that with the function grant_access; see docs/POSTGRES.md")

// parts are the parts of a state to read.
type parts int

const (
	onlyOutputs parts = iota
	stateFile         // everything that a state file contains
	everything        // also the steps of runs that were killed
)

// state queues queries for the rows of a workspace. Their callbacks build the state file.
func (r *reading) state(ctx context.Context, b *pgx.Batch, w *workspaceRow, parts parts) {
	r.text = fmt.Appendf(nil, `{"version":4,"terraform_version":%s,"serial":%d,"lineage":%s,"outputs":{`,
		quoted(w.program), w.serial, quoted(w.lineage))
	query := func(sql string, read func(context.Context, pgx.Rows) error, end string) {
		b.Queue(sql, w.id).Query(func(rows pgx.Rows) error {
			err := read(ctx, rows)
			r.text = append(r.text, end...)
			return err
		})
	}
	const outputs = "SELECT name, encrypted, document FROM output WHERE workspace = $1::bigint ORDER BY name"
	if parts == onlyOutputs {
		query(outputs, r.outputs, `},"resources":[],"check_results":null}`)
		return
	}
	// Without this check, a user who may only read outputs would get a state without objects.
	b.Queue("SELECT EXISTS (SELECT FROM visible WHERE workspace = $1::bigint AND level IN ('state', 'write'))", w.id).
		QueryRow(func(row pgx.Row) error {
			var may bool
			err := row.Scan(&may)
			if err == nil && !may {
				return errNoAccess
			}
			return err
		})
	query(outputs, r.outputs, `},"resources":[`)
	// Whole rows are sorted only for a file: that takes the server longer than reading them. So does a join.
	order := ""
	if parts == stateFile {
		order = " ORDER BY resource, address, deposed"
	}
	query("SELECT address, module, mode, type, name, provider FROM resource WHERE workspace = $1::bigint",
		r.resourceRows, "")
	query("SELECT resource, address, deposed, instance_key::text, provider, encrypted, document FROM object "+
		"WHERE workspace = $1::bigint"+order, r.objects, `],"check_results":[`)
	query("SELECT kind, config, encrypted, document FROM check_result WHERE workspace = $1::bigint "+
		"ORDER BY kind, config", r.checks, `],"provider_configs":{`)
	query("SELECT provider, encrypted, document FROM provider_config WHERE workspace = $1::bigint "+
		"ORDER BY provider", r.providers, "}}")
	if parts == everything {
		query(`SELECT r.id, r.who, r.process, r.ended IS NOT NULL OR r.lease < clock_timestamp(),
				coalesce(r.outcome, '') = 'done',
				o.address, o.deposed, o.document
			FROM operation o JOIN run r ON r.id = o.run
			WHERE o.workspace = $1::bigint ORDER BY r.started, r.id, o.address, o.deposed`, r.steps, "")
	}
}

// plain returns a document, after decrypting it if it is encrypted. The result may share its memory.
func (r *reading) plain(ctx context.Context, data []byte, encrypted bool, id string) ([]byte, error) {
	if r.codec == nil {
		if encrypted {
			return nil, statefile.ErrEncrypted
		}
		return data, nil
	}
	data, outdated, err := r.codec.Decrypt(ctx, data)
	if err != nil {
		return nil, unreadable(id, err)
	}
	r.outdated = r.outdated || outdated
	if !encrypted {
		return data, nil
	}
	return opened(data, id)
}

// unreadable adds to an error the ID of the row that can't be read.
func unreadable(id string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", strings.TrimSpace(id), err)
}

// sealed is the plain text of an encrypted document. It contains the ID of the row, so that a
// ciphertext that was copied from another row is detected.
type sealed struct {
	Row     string          `json:"row"`
	Content json.RawMessage `json:"content"`
}

func opened(data []byte, id string) ([]byte, error) {
	var in sealed
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("the decrypted content of the row %s is invalid: %w", id, err)
	}
	if in.Row != id {
		return nil, fmt.Errorf("the row %s has the content of the row %s: the database was tampered with", id, in.Row)
	}
	return in.Content, nil
}

func (r *reading) comma() {
	if last := r.text[len(r.text)-1]; last != '[' && last != '{' {
		r.text = append(r.text, ',')
	}
}

func (r *reading) member(name, value string) {
	r.comma()
	r.text = states.AppendString(r.text, name)
	r.text = append(r.text, ':')
	r.text = states.AppendString(r.text, value)
}

func quoted(text string) []byte { return states.AppendString(nil, text) }

// outputs reads the rows of outputs, which have the name, whether the document is encrypted, and
// the document.
func (r *reading) outputs(ctx context.Context, rows pgx.Rows) error {
	var name, document string
	var encrypted bool
	_, err := pgx.ForEachRow(rows, []any{&name, &encrypted, &document}, func() error {
		text, err := r.plain(ctx, []byte(document), encrypted, outputID(name))
		r.comma()
		r.text = append(append(append(r.text, quoted(name)...), ':'), text...)
		return err
	})
	return err
}

func (r *reading) checks(ctx context.Context, rows pgx.Rows) error {
	var kind, config, document string
	var encrypted bool
	_, err := pgx.ForEachRow(rows, []any{&kind, &config, &encrypted, &document}, func() error {
		text, err := r.plain(ctx, []byte(document), encrypted, checkID(kind, config))
		r.comma()
		r.text = append(r.text, text...)
		return err
	})
	return err
}

func (r *reading) resourceRows(_ context.Context, rows pgx.Rows) error {
	r.rows = map[string]*resourceRow{}
	var address string
	var row resourceRow
	columns := []any{&address, &row.module, &row.mode, &row.typ, &row.name, &row.provider}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		next := row
		r.rows[address] = &next
		return nil
	})
	return err
}

// objects reads the objects of all resources. A resource is in the text several times if its objects
// don't follow one another.
func (r *reading) objects(ctx context.Context, rows pgx.Rows) error {
	var resource, address, deposed, provider string
	var key *string
	var document pgtype.DriverBytes
	var encrypted bool
	var last *resourceRow
	r.beginResources()
	columns := []any{&resource, &address, &deposed, &key, &provider, &encrypted, &document}
	_, err := pgx.ForEachRow(rows, columns, func() error {
		of := r.rows[resource]
		if of == nil {
			return nil
		}
		text, err := r.plain(ctx, document, encrypted, objectID(address, deposed))
		if err != nil {
			return err
		}
		if of != last {
			last = of
			r.resource(of)
		}
		own := provider
		if own == of.provider {
			own = ""
		}
		r.object(key, deposed, own, text)
		return nil
	})
	for _, address := range slices.Sorted(maps.Keys(r.rows)) {
		if row := r.rows[address]; !row.written {
			r.resource(row)
		}
	}
	r.rows = nil
	r.endResources()
	return err
}

// beginResources begins the list of resources.
func (r *reading) beginResources() { r.file, r.text = r.text, []byte{'['} }

// endResources ends the list of resources.
func (r *reading) endResources() {
	r.endSection(nil)
	r.text, r.at = r.file, len(r.file)
}

// endSection ends a section, and sets the memory of the next one.
func (r *reading) endSection(next []byte) {
	r.endResource()
	if len(r.text) > 1 {
		r.sections = append(r.sections, append(r.text, ']'))
	}
	r.text = append(next, '[')
}

// endResource ends the resource that has been begun, if there is one.
func (r *reading) endResource() {
	if r.open {
		r.text, r.open = append(r.text, "]}"...), false
	}
}

// resource writes the beginning of a resource, up to its list of instances.
func (r *reading) resource(of *resourceRow) {
	if r.endResource(); len(r.text) > sectionSize {
		r.endSection(make([]byte, 0, cap(r.text)))
	}
	r.open, of.written = true, true
	r.comma()
	r.text = append(r.text, '{')
	if of.module != "" {
		r.member("module", of.module)
	}
	r.member("mode", of.mode)
	r.member("type", of.typ)
	r.member("name", of.name)
	r.member("provider", of.provider)
	r.text = append(r.text, `,"instances":[`...)
}

// object adds an object to the list of instances. key may be nil, and provider is "" if it is the
// same as the resource's.
func (r *reading) object(key *string, deposed, provider string, document []byte) {
	r.comma()
	r.text = append(r.text, '{')
	if key != nil {
		r.text = append(append(r.text, `"index_key":`...), *key...)
	}
	if deposed != "" {
		r.member("deposed", deposed)
	}
	if provider != "" {
		r.member("provider", provider)
	}
	r.comma()
	r.text = append(r.text, bytes.TrimPrefix(document, []byte("{"))...) // the brace is already written
}

// steps reads the steps in doubt of runs that have ended or were killed.
func (r *reading) steps(ctx context.Context, rows pgx.Rows) error {
	var id, who, process, address, deposed, document string
	var over, done bool
	_, err := pgx.ForEachRow(rows, []any{&id, &who, &process, &over, &done, &address, &deposed, &document}, func() error {
		if !over && !statemgr.ProcessGone(process) {
			return nil
		}
		if len(r.lost) == 0 || r.lost[len(r.lost)-1].ID != id {
			r.lost = append(r.lost, statemgr.LostRun{ID: id, Who: who, Process: process, Done: done})
		}
		text := []byte(document)
		if r.codec != nil {
			var err error
			if text, _, err = r.codec.Decrypt(ctx, text); err != nil {
				return err
			}
		}
		op, err := statemgr.ParseStep(text)
		if err != nil {
			return fmt.Errorf("reading which operation on %s was started: %w", address, err)
		}
		last := &r.lost[len(r.lost)-1]
		last.Steps = append(last.Steps, *op)
		return nil
	})
	return err
}

// The IDs that encrypted documents contain; see sealed.

func objectID(address, deposed string) string { return "object " + address + " " + deposed }
func outputID(name string) string             { return "output " + name }
func checkID(kind, config string) string      { return "check " + kind + " " + config }
