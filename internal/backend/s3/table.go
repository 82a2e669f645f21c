package s3

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"tofu/internal/awsapi"
	"tofu/internal/backend/objects"
)

// table is a DynamoDB table. It implements objects.Rows.
type table struct {
	service *awsapi.Service
	name    string
}

const attributeKey = "LockID"

// item holds the string attributes of an item or of its key, by name.
type item map[string]struct{ S string }

func attributes(values map[string]string) item {
	out := item{}
	for name, value := range values {
		out[name] = struct{ S string }{value}
	}
	return out
}

func keyOf(key string) item { return attributes(map[string]string{attributeKey: key}) }

// request is the body of a call. Its fields are named as in the service's API.
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
	switch {
	case !errors.As(err, &refused):
	case refused.Code == "ResourceNotFoundException":
		err = fmt.Errorf("the DynamoDB table %q doesn't exist in the region of the backend; create it with the "+
			"partition key LockID of the type String: %w", t.name, err)
	case refused.Status == http.StatusBadRequest && refused.Code == "ConditionalCheckFailedException":
		err = fmt.Errorf("%w: %w", objects.ErrPrecondition, err)
	}
	return out.Item, err
}

// Get implements objects.Rows.
func (t *table) Get(ctx context.Context, key string) (objects.Row, error) {
	found, err := t.call(ctx, "GetItem", request{Key: keyOf(key), ConsistentRead: true})
	if err != nil || found == nil {
		return nil, err
	}
	out := objects.Row{}
	for name, value := range found {
		out[name] = value.S
	}
	return out, nil
}

// Put implements objects.Rows.
func (t *table) Put(ctx context.Context, key string, r objects.Row, c objects.RowCondition) error {
	in := condition(c)
	in.Item = attributes(r)
	maps.Copy(in.Item, keyOf(key))
	_, err := t.call(ctx, "PutItem", in)
	return err
}

// Delete implements objects.Rows.
func (t *table) Delete(ctx context.Context, key string, c objects.RowCondition) error {
	in := condition(c)
	in.Key = keyOf(key)
	_, err := t.call(ctx, "DeleteItem", in)
	return err
}

// condition returns a request in which only the fields for the condition are set.
func condition(c objects.RowCondition) request {
	switch {
	case c.Absent:
		return request{ConditionExpression: "attribute_not_exists(" + attributeKey + ")"}
	case c.Without != "":
		return request{ConditionExpression: "attribute_not_exists(" + c.Without + ")"}
	case c.Any == nil:
		return request{}
	}
	values := map[string]string{}
	var alternatives []string
	for _, name := range slices.Sorted(maps.Keys(c.Any)) {
		values[":"+name] = c.Any[name]
		alternatives = append(alternatives, name+" = :"+name)
	}
	return request{ConditionExpression: strings.Join(alternatives, " OR "),
		ExpressionAttributeValues: attributes(values)}
}
