package oss

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"tofu/internal/backend/objects"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// tablestore is a table of Tablestore. It implements objects.Rows.
type tablestore struct {
	keys     *credentials
	endpoint *url.URL
	table    string
	http     *httpclient.Client
}

// keyColumn is the primary key of the table.
const keyColumn = "LockID"

// Numbers of fields and values in the protocol, from the service's definitions:
const (
	fieldTable, fieldRow, fieldCondition = 1, 2, 3 // fields of requests for one row
	fieldVersions                        = 5       // maximum number of versions, in a read request
	fieldResponseRow                     = 2

	fieldExistence, fieldColumns  = 1, 2    // fields of a condition
	ignore, mustExist, mustBeNew  = 0, 1, 2 // values for the existence of a row
	fieldFilterType, fieldFilter  = 1, 2
	singleColumn, severalFilters  = 1, 2 // types of filters
	fieldCombinator, fieldFilters = 1, 2
	combinedByOr                  = 3

	fieldComparator, fieldName, fieldValue, fieldIfMissing, fieldLatest = 1, 2, 3, 4, 5
	equal                                                               = 1
)

func varint(b []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), value)
}

func text[T string | []byte](b []byte, field protowire.Number, value T) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), []byte(value))
}

// tableError is an error response of the service.
type tableError struct{ code, message string }

func (e *tableError) Error() string { return e.code + ": " + e.message }

// Get implements objects.Rows.
func (t *tablestore) Get(ctx context.Context, key string) (objects.Row, error) {
	body := text(text(nil, fieldTable, t.table), fieldRow, encodeRow(keyColumn, key, nil))
	answer, err := t.call(ctx, "GetRow", varint(body, fieldVersions, 1))
	if err != nil {
		return nil, err
	}
	fields, err := parse(answer)
	if err != nil || len(fields[fieldResponseRow]) == 0 {
		return nil, err
	}
	return decodeRow(fields[fieldResponseRow])
}

// Put implements objects.Rows. The condition that a column is missing must also allow an absent
// row. The service has separate conditions for the two cases, so Put tries both.
func (t *tablestore) Put(ctx context.Context, key string, r objects.Row, c objects.RowCondition) error {
	write := func(condition []byte) error {
		body := text(text(nil, fieldTable, t.table), fieldRow, encodeRow(keyColumn, key, r))
		_, err := t.call(ctx, "PutRow", text(body, fieldCondition, condition))
		return err
	}
	if c.Without == "" {
		return write(condition(c))
	}
	err := write(condition(objects.RowCondition{Absent: true}))
	if errors.Is(err, objects.ErrPrecondition) {
		missing := compare(c.Without, "", 0)
		err = write(text(varint(nil, fieldExistence, mustExist), fieldColumns, missing))
	}
	return err
}

// Delete implements objects.Rows.
func (t *tablestore) Delete(ctx context.Context, key string, c objects.RowCondition) error {
	body := text(text(nil, fieldTable, t.table), fieldRow, encodeDeletion(keyColumn, key))
	_, err := t.call(ctx, "DeleteRow", text(body, fieldCondition, condition(c)))
	return err
}

// condition encodes c, but not c.Without, which Put handles.
func condition(c objects.RowCondition) []byte {
	switch {
	case c.Absent:
		return varint(nil, fieldExistence, mustBeNew)
	case c.Any == nil:
		return varint(nil, fieldExistence, ignore)
	}
	var filters [][]byte
	for _, name := range slices.Sorted(maps.Keys(c.Any)) {
		filters = append(filters, compare(name, c.Any[name], 1))
	}
	one := filters[0]
	if len(filters) > 1 {
		all := varint(nil, fieldCombinator, combinedByOr)
		for _, f := range filters {
			all = text(all, fieldFilters, f)
		}
		one = text(varint(nil, fieldFilterType, severalFilters), fieldFilter, all)
	}
	return text(varint(nil, fieldExistence, mustExist), fieldColumns, one)
}

// compare encodes a filter that passes rows in which a column has the given value. If ifMissing is
// 0, rows without the column also pass.
func compare(name, value string, ifMissing uint64) []byte {
	f := varint(nil, fieldComparator, equal)
	f = text(f, fieldName, name)
	f = text(f, fieldValue, encodeVariant(value))
	f = varint(varint(f, fieldIfMissing, ifMissing), fieldLatest, 1)
	return text(varint(nil, fieldFilterType, singleColumn), fieldFilter, f)
}

// call sends a request for an operation and returns the encoded response.
func (t *tablestore) call(ctx context.Context, operation string, body []byte) ([]byte, error) {
	client := &restapi.Client{HTTP: t.http, Sign: t.sign, Again: busy}
	to := *t.endpoint
	to.Path = "/" + operation
	resp, err := client.Do(ctx, &restapi.Request{Method: http.MethodPost, URL: &to, Body: body})
	if err != nil {
		return nil, err
	}
	if resp.Status == http.StatusOK {
		return resp.Body, nil
	}
	fields, err := parse(resp.Body)
	refused := &tableError{string(fields[1]), string(fields[2])}
	switch {
	case err != nil || refused.code == "":
		return nil, resp.Failure()
	case refused.code == "OTSConditionCheckFail":
		return nil, fmt.Errorf("%w: %w", objects.ErrPrecondition, refused)
	case refused.code == "OTSObjectNotExist":
		return nil, fmt.Errorf("%w; create the table with the primary key LockID of the type String", refused)
	case refused.code == "OTSAuthFailed":
		return nil, fmt.Errorf("%w; check the access key, which comes from %s", refused, t.keys.config.source())
	}
	return nil, refused
}

// busy reports whether the service asks for another attempt.
func busy(resp *restapi.Response) bool {
	fields, err := parse(resp.Body)
	return err == nil && slices.Contains([]string{
		"OTSRowOperationConflict", "OTSNotEnoughCapacityUnit", "OTSTableNotReady",
		"OTSPartitionUnavailable", "OTSServerBusy", "OTSQuotaExhausted"}, string(fields[1]))
}

// parse returns the fields of a message that hold bytes.
func parse(message []byte) (map[protowire.Number][]byte, error) {
	out := make(map[protowire.Number][]byte)
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			out[number] = value
		}
		n = protowire.ConsumeFieldValue(number, kind, message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		message = message[n:]
	}
	return out, nil
}

// tableHeader is the prefix of the names of signed headers, in lower case.
const tableHeader = "x-ots-"

func (t *tablestore) sign(ctx context.Context, req *http.Request, body []byte) error {
	key, err := t.keys.get(ctx)
	if err != nil {
		return err
	}
	instance, _, _ := strings.Cut(req.URL.Hostname(), ".")
	for name, value := range map[string]string{"Date": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		"Apiversion": "2015-12-31", "Accesskeyid": key.id, "Instancename": instance, "Contentmd5": checksum(body),
		"Ststoken": key.token} {
		if value != "" {
			req.Header.Set("X-Ots-"+name, value)
		}
	}
	signed := signedHeaders(req.Header, func(name string) bool { return strings.HasPrefix(name, tableHeader) })
	req.Header.Set("X-Ots-Signature",
		base64Of(restapi.HMAC(sha1.New, key.secret, req.URL.Path+"\n"+req.Method+"\n\n"+signed)))
	return nil
}
