package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
)

// pageSize is the number of rows that Reencrypt reads and writes at a time.
const pageSize = 500

// A sealedTable is a table whose rows have a document, which may be encrypted.
type sealedTable struct {
	name string
	key  string // the columns of the primary key other than the workspace, of type text
	// version is the column that identifies the version of a row, with its type. If the version has
	// changed when a row is written, a run has written the row in the meantime.
	version string
	visible string                                 // the column with the values for queries, or ""
	flag    bool                                   // whether the table has the column encrypted, and documents contain row IDs
	id      func(key []string) string              // returns the ID of a row, for its document or for messages
	values  func(document []byte) (*string, error) // returns the value of the column visible; nil if none exists
	check   func(document []byte) error
}

var sealedTables = []sealedTable{
	{"object", "address, deposed", "since bigint", "attributes", true, objectKey, documentAttributes, checkObject},
	{"object_history", "address, deposed", "since bigint", "attributes", true, objectKey, documentAttributes, checkObject},
	{"output", "name", "since bigint", "value", true, outputKey, documentValue, checkOutput},
	{"output_history", "name", "since bigint", "value", true, outputKey, documentValue, checkOutput},
	{"check_result", "kind, config", "since bigint", "", true, checkKey, nil, checkResult},
	{"provider_config", "provider", "since bigint", "", true, providerKey, nil, checkProvider},
	{"operation", "run, address, deposed", "started timestamptz", "", false, stepKey, nil, checkStep},
}

func objectKey(key []string) string { return objectID(key[0], key[1]) }
func outputKey(key []string) string { return outputID(key[0]) }
func checkKey(key []string) string  { return checkID(key[0], key[1]) }
func stepKey(key []string) string   { return "step " + key[1] }

// sealedRow is a row of a sealedTable.
type sealedRow struct {
	key       []string // values of the key columns, with the version at the end
	encrypted bool
	document  string
}

// Reencrypt implements statemgr.Ledger. Each page is rewritten in its own transaction. Rows keep
// their versions, so neither plans nor runs are affected.
func (s *Store) Reencrypt(ctx context.Context, workspace string, codec statemgr.Codec) (written int, err error) {
	for i := range sealedTables {
		r := &tableScan{s, workspace, codec, &sealedTables[i]}
		n, err := r.reencrypt(ctx)
		written += n
		if err != nil {
			return written, explained(err)
		}
	}
	return written, nil
}

// A tableScan reads the rows of a workspace in a table, page by page.
type tableScan struct {
	store     *Store
	workspace string
	codec     statemgr.Codec
	table     *sealedTable
}

// each calls the function do with the rows of each page, until it returns an error.
func (r *tableScan) each(ctx context.Context, do func([]sealedRow) error) error {
	var last []string // the key of the last row of the previous page
	for {
		rows, err := r.page(ctx, last)
		if err != nil || len(rows) == 0 {
			return err
		}
		last = rows[len(rows)-1].key
		if err := do(rows); err != nil {
			return err
		}
	}
}

// reencrypt encrypts the rows whose encryption is outdated, and returns how many it wrote.
func (r *tableScan) reencrypt(ctx context.Context) (written int, err error) {
	err = r.each(ctx, func(rows []sealedRow) error {
		var outdated []sealedRow
		var visible []*string
		for _, row := range rows {
			values, changed, err := r.seal(ctx, &row)
			if err != nil {
				return err
			}
			if changed {
				outdated, visible = append(outdated, row), append(visible, values)
			}
		}
		if len(outdated) == 0 {
			return nil
		}
		n, err := r.replace(ctx, outdated, visible)
		written += n
		return err
	})
	return written, err
}

// columns returns the names of the key columns and of the version column.
func (t *sealedTable) columns() []string {
	version, _, _ := strings.Cut(t.version, " ")
	return append(strings.Split(t.key, ", "), version)
}

// parameters returns the parameters for the columns, numbered from n. suffix is "" or "[]".
func (t *sealedTable) parameters(n int, suffix string) []string {
	_, typ, _ := strings.Cut(t.version, " ")
	columns := t.columns()
	out := make([]string, len(columns))
	for i := range out {
		out[i] = fmt.Sprintf("$%d::text%s", n+i, suffix)
	}
	if suffix == "" {
		out[len(out)-1] += "::" + typ
	}
	return out
}

// page returns the next pageSize rows in the order of their keys. The parameter last is the key of
// the row before them, or nil for the first page.
func (r *tableScan) page(ctx context.Context, last []string) (out []sealedRow, err error) {
	t := r.table
	columns := t.columns()
	flag, after := "encrypted", ""
	if !t.flag {
		flag = "false"
	}
	args := []any{r.workspace}
	if last != nil {
		after = fmt.Sprintf(" AND (%s) > (%s)", strings.Join(columns, ", "), strings.Join(t.parameters(2, ""), ", "))
		for _, part := range last {
			args = append(args, part)
		}
	}
	sql := fmt.Sprintf("SELECT %s::text, %s, document FROM %s t WHERE workspace = (SELECT id FROM workspace "+
		"WHERE name = $1::text)%s ORDER BY t.%s LIMIT %d", strings.Join(columns, "::text, "), flag, t.name, after,
		strings.Join(columns, ", t."), pageSize)
	err = r.store.transaction(ctx, readOnly, func(ctx context.Context, tx pgx.Tx) error {
		rows, err := tx.Query(ctx, sql, args...)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(from pgx.CollectableRow) (row sealedRow, err error) {
			row.key = make([]string, len(columns))
			var into []any
			for i := range row.key {
				into = append(into, &row.key[i])
			}
			err = from.Scan(append(into, &row.encrypted, &row.document)...)
			return row, err
		})
		return err
	})
	return out, err
}

// seal encrypts the document of a row again, in place, if its encryption is outdated. It reports
// whether it changed the row. values are the values of a changed row for queries, or nil if the row
// is encrypted or its table has no such values.
func (r *tableScan) seal(ctx context.Context, row *sealedRow) (values *string, changed bool, err error) {
	t := r.table
	id := t.id(row.key)
	if !t.flag {
		plain, outdated, err := r.codec.Decrypt(ctx, []byte(row.document))
		if err != nil || !outdated {
			return nil, false, unreadable(id, err)
		}
		sealed, err := r.codec.Encrypt(plain)
		row.document = string(sealed)
		return nil, true, err
	}
	old := &reading{codec: r.codec}
	plain, err := old.plain(ctx, []byte(row.document), row.encrypted, id)
	if err != nil || !old.outdated {
		return nil, false, err
	}
	sealed, err := (&writing{codec: r.codec}).seal(plain, id)
	if err != nil {
		return nil, false, err
	}
	row.document, row.encrypted = sealed.text, sealed.encrypted
	if !sealed.encrypted && t.values != nil {
		values, err = t.values(plain)
	}
	return values, true, err
}

// replace writes the rows whose version hasn't changed, and returns their number.
func (r *tableScan) replace(ctx context.Context, rows []sealedRow, visible []*string) (written int, err error) {
	t := r.table
	columns := t.columns()
	keys := make([][]string, len(columns))
	documents, encrypted := make([]string, len(rows)), make([]bool, len(rows))
	for i, row := range rows {
		for j, part := range row.key {
			keys[j] = append(keys[j], part)
		}
		documents[i], encrypted[i] = row.document, row.encrypted
	}
	args := []any{documents}
	for _, column := range keys {
		args = append(args, column)
	}
	set, names := "document = u.new_document", append([]string{"new_document"}, columns...)
	arrays := append([]string{"$2::text[]"}, t.parameters(3, "[]")...)
	if t.flag {
		set, names = set+", encrypted = u.new_encrypted", append(names, "new_encrypted")
		arrays, args = append(arrays, fmt.Sprintf("$%d::boolean[]", len(args)+2)), append(args, encrypted)
	}
	if t.visible != "" {
		set, names = set+", "+t.visible+" = u.new_values::jsonb", append(names, "new_values")
		arrays, args = append(arrays, fmt.Sprintf("$%d::text[]", len(args)+2)), append(args, visible)
	}
	var same []string
	for _, column := range columns {
		same = append(same, fmt.Sprintf("t.%s::text = u.%[1]s", column))
	}
	sql := fmt.Sprintf("UPDATE %s t SET %s FROM unnest(%s) AS u (%s) WHERE t.workspace = $1::bigint AND %s",
		t.name, set, strings.Join(arrays, ", "), strings.Join(names, ", "), strings.Join(same, " AND "))
	var w *workspaceRow
	err = r.store.pipeline(ctx, readWrite, func(b *pgx.Batch) error {
		written = 0
		b.Queue(lockingWorkspace, r.workspace).QueryRow(func(row pgx.Row) (err error) {
			w, err = workspaceOf(row)
			return err
		})
		return nil
	}, func(_ context.Context, _ session, last *pgx.Batch) error {
		if w != nil {
			last.Queue(sql, append([]any{w.id}, args...)...).Exec(func(tag pgconn.CommandTag) error {
				written = int(tag.RowsAffected())
				return nil
			})
		}
		return nil
	})
	return written, err
}

// parseParts parses parts of a state file, each in JSON.
func parseParts(outputs, instances, results string) (*statefile.File, error) {
	r := &reading{text: []byte(`{"version":4,"terraform_version":"1.0.0","serial":1,"lineage":"","outputs":{` +
		outputs + `},"resources":[`)}
	if instances != "" {
		r.resource(&resourceRow{mode: "managed", typ: "a", name: "a", provider: `provider["a.test/a/a"]`})
		r.text = append(r.text, instances+"]}"...)
	}
	return statefile.Parse(append(r.text, `],"check_results":[`+results+`]}`...))
}

// parseObject parses the document of an object.
func parseObject(document []byte) (*states.Object, error) {
	file, err := parseParts("", string(document), "")
	if err != nil {
		return nil, err
	}
	for res := range file.State.Resources() {
		for _, instance := range res.Instances {
			return instance.Current, nil
		}
	}
	return nil, errors.New("it is not an object")
}

func checkObject(document []byte) error {
	_, err := parseObject(document)
	return err
}

func checkOutput(document []byte) error {
	_, err := parseParts(`"o":`+string(document), "", "")
	return err
}

func checkResult(document []byte) error {
	_, err := parseParts("", "", string(document))
	return err
}

func checkStep(document []byte) error {
	_, err := statemgr.ParseStep(document)
	return err
}

// documentAttributes returns the attributes in the document of an object, for queries.
func documentAttributes(document []byte) (*string, error) {
	obj, err := parseObject(document)
	if err != nil {
		return nil, err
	}
	return attributes(obj), nil
}

// documentValue returns the value in the document of an output, for queries.
func documentValue(document []byte) (*string, error) {
	var in struct {
		Value     json.RawMessage `json:"value"`
		Sensitive bool            `json:"sensitive"`
	}
	if err := json.Unmarshal(document, &in); err != nil || in.Sensitive {
		return nil, err
	}
	return jsonb(in.Value), nil
}
