package s3

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"tofu/internal/awsapi"
	"tofu/internal/backend"
	"tofu/internal/backend/objects"
)

// table is a DynamoDB table. The item with the path BUCKET/KEY of a state is its lock, and the item
// BUCKET/KEY-md5 has its digest.
type table struct {
	service *awsapi.Service
	name    string
	path    func(workspace string) string

	mu    sync.Mutex
	known map[string]known // the states as last read or written, by workspace
}

// known is a version of a state and its digest, "" if the table has none.
type known struct{ version, digest string }

const digestSuffix = "-md5"

// Attributes of items. attributeNext exists only while a state is written.
const (
	attributeKey    = "LockID"
	attributeInfo   = "Info"
	attributeDigest = "Digest"
	attributeNext   = "NextDigest"
)

// item is an item with attributes of the type string, by name.
type item map[string]struct{ S string }

func attributes(pairs ...string) item {
	out := item{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = struct{ S string }{pairs[i+1]}
	}
	return out
}

// request is the body of a call. Its fields are those of the service's API.
type request struct {
	TableName                 string
	Key                       item   `json:",omitempty"`
	Item                      item   `json:",omitempty"`
	ConsistentRead            bool   `json:",omitempty"`
	ConditionExpression       string `json:",omitempty"`
	ExpressionAttributeValues item   `json:",omitempty"`
}

func (t *table) call(ctx context.Context, name string, r request) (item, error) {
	r.TableName = t.name
	var out struct{ Item item }
	err := t.service.JSON(ctx, "1.0", "DynamoDB_20120810."+name, r, &out)
	var refused *awsapi.Error
	if errors.As(err, &refused) && refused.Code == "ResourceNotFoundException" {
		err = fmt.Errorf("the DynamoDB table %q doesn't exist in the region of the backend; create it with the partition "+
			"key LockID of the type String: %w", t.name, err)
	}
	return out.Item, err
}

// conditionFailed reports whether a call was refused because its condition doesn't hold.
func conditionFailed(err error) bool {
	var refused *awsapi.Error
	return errors.As(err, &refused) && refused.Status == http.StatusBadRequest &&
		refused.Code == "ConditionalCheckFailedException"
}

// Lock implements backend.Locker.
func (t *table) Lock(ctx context.Context, workspace string, info backend.LockInfo) (string, error) {
	info.Path = t.path(workspace)
	data, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	_, err = t.call(ctx, "PutItem", request{Item: attributes(attributeKey, info.Path, attributeInfo, string(data)),
		ConditionExpression: "attribute_not_exists(" + attributeKey + ")"})
	if err == nil || ctx.Err() != nil {
		return info.ID, err
	}
	text, holder, readErr := t.holder(ctx, workspace)
	switch {
	case readErr == nil && text == string(data):
		return info.ID, nil // the response of an earlier attempt was lost
	case !conditionFailed(err):
		return "", fmt.Errorf("locking the state in the DynamoDB table %q: %w", t.name, err)
	case errors.Is(readErr, objects.ErrUnlocked):
		return "", &backend.LockedError{Err: errors.New("its lock was released just now")}
	}
	return "", &backend.LockedError{Info: holder, Err: readErr}
}

// holder reads the lock of a workspace. The error is objects.ErrUnlocked if there is none.
func (t *table) holder(ctx context.Context, workspace string) (text string, info *backend.LockInfo, err error) {
	found, err := t.call(ctx, "GetItem", request{Key: attributes(attributeKey, t.path(workspace)), ConsistentRead: true})
	if err != nil {
		return "", nil, fmt.Errorf("reading the lock in the DynamoDB table %q: %w", t.name, err)
	}
	if found == nil {
		return "", nil, objects.ErrUnlocked
	}
	text, info = found[attributeInfo].S, new(backend.LockInfo)
	if err := json.Unmarshal([]byte(text), info); err != nil {
		return text, nil, fmt.Errorf("the item %q of the DynamoDB table %q has no valid information about the lock: %w; if "+
			"no command is using the state, delete the item", t.path(workspace), t.name, err)
	}
	return text, info, nil
}

// Unlock implements backend.Locker.
func (t *table) Unlock(ctx context.Context, workspace, id string) error {
	text, info, err := t.holder(ctx, workspace)
	if err != nil {
		return fmt.Errorf("unlocking the state: %w", err)
	}
	if info.ID != id {
		return fmt.Errorf("unlocking the state: %w", &backend.LockedError{Info: info,
			Err: fmt.Errorf("the lock has the ID %q, not %q", info.ID, id)})
	}
	_, err = t.call(ctx, "DeleteItem", request{Key: attributes(attributeKey, t.path(workspace)),
		ConditionExpression: attributeInfo + " = :info", ExpressionAttributeValues: attributes(":info", text)})
	if err == nil {
		return nil
	}
	if _, _, again := t.holder(ctx, workspace); errors.Is(again, objects.ErrUnlocked) {
		return nil // the response of an earlier attempt was lost
	}
	return fmt.Errorf("unlocking the state in the DynamoDB table %q: %w", t.name, err)
}

// digests are the digests of a state: the current one, and another while the state is being
// replaced. The current one is "" for a state that was never written with the table.
type digests struct{ current, next string }

func (d digests) matches(digest string) bool {
	return d.current == "" || digest == d.current || d.next != "" && digest == d.next
}

// digests reads the digests of a workspace's state.
func (t *table) digests(ctx context.Context, workspace string) (digests, error) {
	found, err := t.call(ctx, "GetItem", request{Key: t.digestKey(workspace), ConsistentRead: true})
	return digests{found[attributeDigest].S, found[attributeNext].S}, err
}

func (t *table) digestKey(workspace string) item {
	return attributes(attributeKey, t.path(workspace)+digestSuffix)
}

// announce adds the digest that the state is about to have. present is that of the state that was
// read, "" if the table has none. If it has another one now, the error is backend.ErrChanged.
func (t *table) announce(ctx context.Context, workspace, present, next string) error {
	r := request{Item: attributes(attributeKey, t.path(workspace)+digestSuffix, attributeNext, next),
		ConditionExpression: "attribute_not_exists(" + attributeDigest + ")"}
	if present != "" {
		maps.Copy(r.Item, attributes(attributeDigest, present))
		r.ConditionExpression = attributeDigest + " = :present OR " + attributeNext + " = :present"
		r.ExpressionAttributeValues = attributes(":present", present)
	}
	_, err := t.call(ctx, "PutItem", r)
	if conditionFailed(err) {
		return backend.ErrChanged
	}
	return err
}

// confirm makes the announced digest the only one. It does nothing if another process has announced
// or confirmed one in the meantime.
func (t *table) confirm(ctx context.Context, workspace, next string) error {
	_, err := t.call(ctx, "PutItem", request{
		Item:                attributes(attributeKey, t.path(workspace)+digestSuffix, attributeDigest, next),
		ConditionExpression: attributeNext + " = :next", ExpressionAttributeValues: attributes(":next", next)})
	if conditionFailed(err) {
		return nil
	}
	return err
}

func (t *table) deleteDigests(ctx context.Context, workspace string) error {
	_, err := t.call(ctx, "DeleteItem", request{Key: t.digestKey(workspace)})
	return err
}

// remember records the state in the bucket.
func (t *table) remember(workspace string, k known) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[string]known)
	}
	t.known[workspace] = k
}

// remembered returns the state in the bucket, as far as it is known.
func (t *table) remembered(workspace string) (known, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k, ok := t.known[workspace]
	return k, ok
}
