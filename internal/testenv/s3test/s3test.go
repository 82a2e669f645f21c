// Package s3test creates buckets and tables of real services for tests, and describes their content
// as text that doesn't depend on the program that wrote it.
package s3test

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"tofu/internal/awsapi"
	"tofu/internal/restapi"
)

// Store is a bucket and a table. It is not safe for concurrent use.
type Store struct {
	S3, DynamoDB         string // addresses; DynamoDB is "" if there is no table
	Bucket, Table        string
	AccessKey, SecretKey string

	s3, dynamo *awsapi.Service
}

// New creates a bucket, and a table if there is a DynamoDB service. Both have the given name. The
// URL of S3 holds the access key and the secret key, which DynamoDB accepts too.
func New(ctx context.Context, s3, dynamoDB, name string) (*Store, error) {
	u, err := url.Parse(s3)
	if err != nil {
		return nil, err
	}
	s := &Store{DynamoDB: dynamoDB, Bucket: name, AccessKey: u.User.Username()}
	s.SecretKey, _ = u.User.Password()
	u.User = nil
	s.S3 = u.String()
	account, err := awsapi.Open(ctx,
		&awsapi.Config{Region: "us-east-1", AccessKey: s.AccessKey, SecretKey: s.SecretKey},
		awsapi.Options{})
	if err != nil {
		return nil, err
	}
	s.s3, err = account.Service(ctx, awsapi.ServiceID{Name: "S3", Signing: "s3"}, s.S3, nil, nil)
	if err != nil {
		return nil, err
	}
	if _, err := s.call(ctx, http.MethodPut, "/"+name, nil); err != nil || dynamoDB == "" {
		return s, err
	}
	s.Table = name
	s.dynamo, err = account.Service(ctx, awsapi.ServiceID{Name: "DynamoDB", Signing: "dynamodb"}, dynamoDB, nil, nil)
	if err != nil {
		return nil, err
	}
	const table = `{"TableName": %q, "BillingMode": "PAY_PER_REQUEST",
		"AttributeDefinitions": [{"AttributeName": "LockID", "AttributeType": "S"}],
		"KeySchema": [{"AttributeName": "LockID", "KeyType": "HASH"}]}`
	return s, s.dynamoCall(ctx, "CreateTable", json.RawMessage(fmt.Sprintf(table, name)), new(any))
}

func (s *Store) dynamoCall(ctx context.Context, name string, in, out any) error {
	return s.dynamo.JSON(ctx, "1.0", "DynamoDB_20120810."+name, in, out)
}

func (s *Store) call(ctx context.Context, method, path string, body []byte) (*restapi.Response, error) {
	u := *s.s3.Endpoint
	path, u.RawQuery, _ = strings.Cut(path, "?")
	u.Path += path
	u.RawPath = awsapi.EscapePath(u.Path)
	return s.s3.Do(ctx, method, &restapi.Request{Method: method, URL: &u, Body: body, Limit: 1 << 30})
}

// Credentials of a user who may read only the buckets for which AllowReading was called.
// testing/services/run.sh creates the user.
const (
	ReaderKey    = "reader"
	ReaderSecret = "readersecret"
)

// AllowReading lets the user with ReaderKey read the bucket, but not write it.
func (s *Store) AllowReading(ctx context.Context) error {
	const policy = `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": [%q]},
		"Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::%[2]s", "arn:aws:s3:::%[2]s/*"]}]}`
	_, err := s.call(ctx, http.MethodPut, "/"+s.Bucket+"?policy", fmt.Appendf(nil, policy, ReaderKey, s.Bucket))
	return err
}

// Put writes an object.
func (s *Store) Put(ctx context.Context, key, text string) error {
	_, err := s.call(ctx, http.MethodPut, "/"+s.Bucket+"/"+key, []byte(text))
	return err
}

// Get reads an object.
func (s *Store) Get(ctx context.Context, key string) (string, error) {
	resp, err := s.call(ctx, http.MethodGet, "/"+s.Bucket+"/"+key, nil)
	if err != nil {
		return "", err
	}
	return string(resp.Body), nil
}

// PutItem writes an item of the table. Its attributes are strings.
func (s *Store) PutItem(ctx context.Context, attributes map[string]string) error {
	item := make(map[string]map[string]string)
	for name, value := range attributes {
		item[name] = map[string]string{"S": value}
	}
	return s.dynamoCall(ctx, "PutItem", map[string]any{"TableName": s.Table, "Item": item}, new(any))
}

// Items returns the string attributes of each item in the table, keyed by the item's LockID.
func (s *Store) Items(ctx context.Context) (map[string]map[string]string, error) {
	var page struct {
		Items []map[string]struct{ S string }
	}
	err := s.dynamoCall(ctx, "Scan", map[string]any{"TableName": s.Table}, &page)
	out := make(map[string]map[string]string)
	for _, item := range page.Items {
		values := make(map[string]string)
		for name, v := range item {
			values[name] = v.S
		}
		out[values["LockID"]] = values
	}
	return out, err
}

// Keys returns the keys of all objects, sorted.
func (s *Store) Keys(ctx context.Context) ([]string, error) {
	resp, err := s.call(ctx, http.MethodGet, "/"+s.Bucket+"?list-type=2", nil)
	if err != nil {
		return nil, err
	}
	var page struct{ Contents []struct{ Key string } }
	err = xml.Unmarshal(resp.Body, &page)
	var keys []string
	for _, o := range page.Contents {
		keys = append(keys, o.Key)
	}
	slices.Sort(keys)
	return keys, err
}

// shown are the headers that Dump shows.
var shown = []string{"Content-Type", "X-Amz-Server-Side-Encryption", "X-Amz-Tagging-Count"}

// varying matches the parts of a dump that differ between runs and programs.
var varying = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|` +
	`\d{4}-\d\d-\d\dT[\d:.]+Z|[0-9a-f]{32}|"(Who|Version|Info|terraform_version)":"[^"]*"|,"engine":{[^}]*}`)

// Dump describes all objects and items, one per line, without the parts that vary.
func (s *Store) Dump(ctx context.Context) (string, error) {
	keys, err := s.Keys(ctx)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	plain := func(text string) string {
		text = strings.ReplaceAll(text, s.Bucket, "BUCKET")
		return varying.ReplaceAllStringFunc(text, func(found string) string {
			if strings.HasPrefix(found, ",") {
				return "" // only this program writes this member
			}
			if name, _, ok := strings.Cut(found, ":\""); ok {
				return name + `:"…"`
			}
			return "…"
		})
	}
	for _, key := range keys {
		resp, err := s.call(ctx, http.MethodGet, "/"+s.Bucket+"/"+key, nil)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "object %s", key)
		for _, name := range shown {
			if value := resp.Header.Get(name); value != "" {
				fmt.Fprintf(&out, " %s=%s", name, value)
			}
		}
		var compact bytes.Buffer
		if json.Compact(&compact, resp.Body) != nil {
			compact.Write(resp.Body)
		}
		fmt.Fprintf(&out, " %s\n", plain(compact.String()))
	}
	if s.dynamo == nil {
		return out.String(), nil
	}
	items, err := s.Items(ctx)
	if err != nil {
		return "", err
	}
	for _, key := range slices.Sorted(maps.Keys(items)) {
		fmt.Fprintf(&out, "item")
		for _, name := range slices.Sorted(maps.Keys(items[key])) {
			fmt.Fprintf(&out, " %s=%s", name, plain(items[key][name]))
		}
		out.WriteString("\n")
	}
	return out.String(), nil
}
