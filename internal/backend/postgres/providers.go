package postgres

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"tofu/internal/states"
	"tofu/internal/states/statemgr"
)

// providers writes the last configurations of providers, after the objects of the change. It removes only
// those that no managed object needs any more, whichever run has written it.
func (t *transcript) providers(c *statemgr.Change) error {
	var addresses, documents, gone []string
	var encrypted, changed []bool
	for _, p := range c.Providers {
		address := p.Provider.String()
		if p.Config == nil {
			gone = append(gone, address)
			continue
		}
		text, err := json.Marshal(p.Config)
		if err != nil {
			return err
		}
		doc, err := t.writing.seal(text, providerID(address))
		if err != nil {
			return err
		}
		addresses, documents = append(addresses, address), append(documents, doc.text)
		encrypted, changed = append(encrypted, doc.encrypted), append(changed, p.Changed)
	}
	if len(addresses) > 0 {
		t.exec(`INSERT INTO provider_config (workspace, since, provider, encrypted, document)
			SELECT $1::bigint, $2::bigint, r.provider, r.encrypted, r.document
			FROM unnest($3::text[], $4::boolean[], $5::text[], $6::boolean[])
				AS r (provider, encrypted, document, changed)
			WHERE r.changed OR NOT EXISTS (SELECT FROM provider_config c
				WHERE c.workspace = $1::bigint AND c.provider = r.provider)
			ON CONFLICT (workspace, provider) DO UPDATE SET since = excluded.since, encrypted = excluded.encrypted,
				document = excluded.document`, addresses, encrypted, documents, changed)
	}
	if len(gone) > 0 {
		t.execNoRevision(`DELETE FROM provider_config c WHERE workspace = $1::bigint AND provider = ANY($2::text[])
			AND NOT EXISTS (SELECT FROM object o JOIN resource r ON r.workspace = o.workspace AND r.address = o.resource
				WHERE o.workspace = $1::bigint AND o.provider = c.provider AND r.mode = 'managed')`, gone)
	}
	return nil
}

// providers reads the last configurations of providers.
func (r *reading) providers(ctx context.Context, rows pgx.Rows) error {
	var provider, document string
	var encrypted bool
	_, err := pgx.ForEachRow(rows, []any{&provider, &encrypted, &document}, func() error {
		text, err := r.plain(ctx, []byte(document), encrypted, providerID(provider))
		r.comma()
		r.text = append(append(append(r.text, quoted(provider)...), ':'), text...)
		return err
	})
	return err
}

func providerID(address string) string { return "configuration of " + address }

func providerKey(key []string) string { return providerID(key[0]) }

func checkProvider(document []byte) error {
	return json.Unmarshal(document, new(states.ProviderConfig))
}
