package consul

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/restapi"
)

// operation is an operation of a transaction on one key.
type operation struct {
	Verb    string
	Key     string
	Value   []byte `json:"-"` // sent separately
	Flags   uint64
	Index   uint64
	Session string
}

// errTooLarge reports that the server refused a transaction because of its size.
var errTooLarge = errors.New("the transaction is too large")

// refusal is the error of a transaction that was not carried out because at least one of its
// operations failed.
type refusal struct {
	first int // position of the first operation that failed
	text  string
}

func (r *refusal) Error() string { return r.text }

// transact carries out all operations or none, and returns the entries that the operations changed.
// The value of the last operation may be large.
func (s *Store) transact(ctx context.Context, ops []operation) ([]entry, error) {
	var head bytes.Buffer
	for i, op := range ops {
		text, err := json.Marshal(op)
		if err != nil {
			return nil, err
		}
		head.WriteString([]string{"[", ","}[min(i, 1)] + `{"KV":` + string(text[:len(text)-1]) + `,"Value":"`)
		if i < len(ops)-1 {
			head.WriteString(base64.StdEncoding.EncodeToString(op.Value) + `"}}`)
		}
	}
	const tail = `"}}]`
	value := ops[len(ops)-1].Value
	resp, err := s.do(ctx, http.MethodPut, "/v1/txn", restapi.Request{
		Length: int64(head.Len() + base64.StdEncoding.EncodedLen(len(value)) + len(tail)),
		Stream: func() io.Reader {
			return io.MultiReader(bytes.NewReader(head.Bytes()), encoded(value), strings.NewReader(tail))
		}})
	if err != nil {
		return nil, err
	}
	return s.outcome(resp)
}

// encoded returns a reader of the base64 form of data.
func encoded(data []byte) io.Reader {
	r, w := io.Pipe()
	go func() {
		e := base64.NewEncoder(base64.StdEncoding, w)
		_, err := e.Write(data)
		_ = w.CloseWithError(errors.Join(err, e.Close()))
	}()
	return r
}

// outcome decodes the response to a transaction. The error is a *refusal or errTooLarge if the
// server refused the transaction.
func (s *Store) outcome(resp *restapi.Response) ([]entry, error) {
	switch resp.Status {
	case http.StatusRequestEntityTooLarge:
		return nil, errTooLarge
	case http.StatusOK, http.StatusConflict:
	default:
		return nil, s.failure(resp)
	}
	var out struct {
		Results []struct{ KV *entry }
		Errors  []struct {
			OpIndex int
			What    string
		}
	}
	if err := json.Unmarshal(resp.Body, &out); err != nil {
		return nil, fmt.Errorf("the server's response to a transaction is invalid: %w", err)
	}
	if len(out.Errors) > 0 {
		return nil, &refusal{out.Errors[0].OpIndex, out.Errors[0].What}
	}
	var entries []entry
	for _, result := range out.Results {
		if result.KV != nil {
			entries = append(entries, *result.KV)
		}
	}
	return entries, nil
}

// replace writes the key of a state and returns the index of the change. If this process has locked
// the workspace, the key is written only while the process holds the lock.
func (s *Store) replace(ctx context.Context, workspace string, op operation) (uint64, error) {
	for {
		ops := []operation{op}
		lock := s.held(workspace)
		if lock != nil {
			ops = []operation{{Verb: "check-session", Key: lock.key, Session: lock.session()}, op}
		}
		entries, err := s.transact(ctx, ops)
		var refused *refusal
		switch {
		case err == nil:
			for _, e := range entries {
				if e.Key == op.Key {
					return e.ModifyIndex, nil
				}
			}
			return 0, fmt.Errorf("the server's response to a transaction doesn't include the key %s", op.Key)
		case !errors.As(err, &refused):
			return 0, err
		case lock == nil || refused.first > 0:
			return s.decide(ctx, op, refused)
		}
		if err := lock.regain(ctx); err != nil {
			return 0, err
		}
	}
}

// decide returns the index of the key's change if an earlier attempt, whose response was lost, has
// written the key. Otherwise, it returns an error that explains why the write was refused.
func (s *Store) decide(ctx context.Context, op operation, refused *refusal) (uint64, error) {
	e, err := s.get(ctx, op.Key)
	switch {
	case err != nil:
		return 0, err
	case e != nil && e.ModifyIndex != op.Index && bytes.Equal(e.Value, op.Value):
		return e.ModifyIndex, nil
	case op.Verb == "cas" && (e == nil) != (op.Index == 0) || e != nil && e.ModifyIndex != op.Index:
		return 0, backend.ErrChanged
	}
	return 0, refused
}
