package s3_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/s3"
	"tofu/internal/configs/blocks"
	"tofu/internal/testenv"
	"tofu/internal/testenv/s3test"
	"tofu/internal/testenv/storetest"
	"tofu/internal/tfdiags"
)

const ws = backend.DefaultWorkspace

// TestMain hides the AWS configuration of the machine.
func TestMain(m *testing.M) {
	testenv.HideEnv("AWS_", "AWS_CA_BUNDLE")
	os.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	os.Setenv("AWS_CONFIG_FILE", "/nonexistent/config")
	os.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent/credentials")
	os.Exit(m.Run())
}

var buckets atomic.Int32

// newStore creates a bucket and a table.
func newStore(t *testing.T) *s3test.Store {
	t.Helper()
	server, err := s3test.New(t.Context(), testenv.Service(t, "TEST_S3_URL"), testenv.Service(t, "TEST_DYNAMODB_URL"),
		fmt.Sprintf("bucket-%d-%d", os.Getpid(), buckets.Add(1)))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// arguments returns the arguments for a store, with the given changes.
func arguments(server *s3test.Store, changes map[string]cty.Value) map[string]cty.Value {
	out := map[string]cty.Value{
		"bucket": cty.StringVal(server.Bucket), "key": cty.StringVal("dir/state"), "region": cty.StringVal("us-east-1"),
		"access_key": cty.StringVal(server.AccessKey), "secret_key": cty.StringVal(server.SecretKey),
		"use_path_style": cty.True, "max_retries": cty.NumberIntVal(2),
		"endpoints": cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(server.S3),
			"dynamodb": cty.StringVal(server.DynamoDB)}),
	}
	maps.Copy(out, changes)
	return out
}

func tryOpen(t *testing.T, args map[string]cty.Value) (backend.Store, error) {
	t.Helper()
	c := s3.Driver.Config()
	if err := blocks.Decode(cty.ObjectVal(args), c, os.Getenv, tfdiags.Drop); err != nil {
		return nil, err
	}
	return s3.Driver.Open(t.Context(), c)
}

func open(t *testing.T, args map[string]cty.Value) backend.Store {
	t.Helper()
	s, err := tryOpen(t, args)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// locks returns the arguments for each way to lock.
func locks(server *s3test.Store) map[string]map[string]cty.Value {
	table := cty.StringVal(server.Table)
	return map[string]map[string]cty.Value{
		"None": {}, "Object": {"use_lockfile": cty.True}, "Table": {"dynamodb_table": table},
		"Both": {"use_lockfile": cty.True, "dynamodb_table": table},
	}
}

func TestStore(t *testing.T) {
	for _, name := range []string{"None", "Object", "Table", "Both"} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (a, b backend.Store) {
				server := newStore(t)
				args := arguments(server, locks(server)[name])
				return open(t, args), open(t, args)
			})
		})
	}
}

// TestStored checks what is stored: keys, metadata, lock objects, lock items and digests.
func TestStored(t *testing.T) {
	server := newStore(t)
	args := arguments(server, locks(server)["Both"])
	tags := func(pairs ...string) cty.Value {
		m := map[string]cty.Value{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = cty.StringVal(pairs[i+1])
		}
		return cty.MapVal(m)
	}
	args["acl"], args["encrypt"] = cty.StringVal("private"), cty.True
	args["state_tags"], args["lock_tags"] = tags("a", "b c", "d", "e+f"), tags("l", "1")
	s := open(t, args)
	for _, name := range []string{ws, "other"} {
		info := backend.LockInfo{ID: "id-" + name, Operation: "OperationTypeApply", Who: "me", Version: "1.13.0",
			Created: time.Date(2026, 11, 25, 1, 2, 3, 4, time.UTC)}
		if _, err := s.(backend.Locker).Lock(t.Context(), name, info); err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), name, []byte(`{"version":4}`)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := server.Dump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := `object dir/state Content-Type=application/json X-Amz-Tagging-Count=2 {"version":4}
object dir/state.tflock Content-Type=application/json X-Amz-Tagging-Count=1 {"ID":"id-default","Operation":"OperationTypeApply","Info":"…","Who":"…","Version":"…","Created":"…","Path":"BUCKET/dir/state"}
object env:/other/dir/state Content-Type=application/json X-Amz-Tagging-Count=2 {"version":4}
object env:/other/dir/state.tflock Content-Type=application/json X-Amz-Tagging-Count=1 {"ID":"id-other","Operation":"OperationTypeApply","Info":"…","Who":"…","Version":"…","Created":"…","Path":"BUCKET/env:/other/dir/state"}
item Info={"ID":"id-default","Operation":"OperationTypeApply","Info":"…","Who":"…","Version":"…","Created":"…","Path":"BUCKET/dir/state"} LockID=BUCKET/dir/state
item Digest=… LockID=BUCKET/dir/state-md5
item Info={"ID":"id-other","Operation":"OperationTypeApply","Info":"…","Who":"…","Version":"…","Created":"…","Path":"BUCKET/env:/other/dir/state"} LockID=BUCKET/env:/other/dir/state
item Digest=… LockID=BUCKET/env:/other/dir/state-md5
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	items, err := server.Items(t.Context())
	if digest := items[server.Bucket+"/dir/state-md5"]["Digest"]; err != nil ||
		digest != "c0f45e34ed60c6e660c5cd0b292c5b9c" {
		t.Errorf("the digest is %s, %v", digest, err)
	}
}

// TestRequests checks how many requests operations take, and the headers of the requests.
func TestRequests(t *testing.T) {
	server := newStore(t)
	p := newProxy(t, server.S3)
	tables := newProxy(t, server.DynamoDB)
	args := arguments(server, locks(server)["Both"])
	args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(p.URL),
		"dynamodb": cty.StringVal(tables.URL)})
	s := open(t, args).(interface {
		backend.Locker
		backend.Swapper
	})
	count := func(what string, wantObjects, wantItems string) {
		t.Helper()
		var gotObjects, gotItems []string
		for _, r := range p.requests() {
			gotObjects = append(gotObjects, r.Method)
		}
		for _, r := range tables.requests() {
			gotItems = append(gotItems, strings.TrimPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_20120810."))
		}
		if a, b := strings.Join(gotObjects, " "), strings.Join(gotItems, " "); a != wantObjects || b != wantItems {
			t.Errorf("%s: %s and %s, want %s and %s", what, a, b, wantObjects, wantItems)
		}
	}
	count("open", "", "")
	id, err := s.Lock(t.Context(), ws, backend.LockInfo{ID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	count("lock", "PUT", "PutItem")
	_, version, err := s.GetVersion(t.Context(), ws)
	if err != nil {
		t.Fatal(err)
	}
	count("read", "GET", "GetItem")
	if _, err := s.Swap(t.Context(), ws, version, []byte("x")); err != nil {
		t.Fatal(err)
	}
	count("write", "PUT", "PutItem PutItem")
	if err := s.Unlock(t.Context(), ws, id); err != nil {
		t.Fatal(err)
	}
	count("unlock", "GET DELETE", "GetItem DeleteItem")
}

// TestHeaders checks the encryption headers, which the test server doesn't keep.
func TestHeaders(t *testing.T) {
	server := newStore(t)
	key := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	const kms = "arn:aws:kms:us-east-1:123456789012:key/9d40f1d4-5b9f-4b3e-8f9a-3f4c6f6d1b1a"
	for name, test := range map[string]struct {
		args map[string]cty.Value
		want map[string]string // headers of PUT requests
		get  map[string]string // headers of GET requests
	}{
		"nothing": {nil, map[string]string{"Content-Type": "application/json", "X-Amz-Server-Side-Encryption": "",
			"X-Amz-Acl":     "",
			"X-Amz-Tagging": "", "X-Amz-Sdk-Checksum-Algorithm": "SHA256"}, nil},
		"the key of the service": {map[string]cty.Value{"encrypt": cty.True},
			map[string]string{"X-Amz-Server-Side-Encryption": "AES256"}, nil},
		"a KMS key": {map[string]cty.Value{"encrypt": cty.True, "kms_key_id": cty.StringVal(kms)}, map[string]string{
			"X-Amz-Server-Side-Encryption": "aws:kms", "X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id": kms}, nil},
		"a customer's key": {map[string]cty.Value{"encrypt": cty.True, "sse_customer_key": cty.StringVal(key)},
			map[string]string{"X-Amz-Server-Side-Encryption-Customer-Algorithm": "AES256",
				"X-Amz-Server-Side-Encryption-Customer-Key":     key,
				"X-Amz-Server-Side-Encryption-Customer-Key-Md5": "y4HAEFCYWuvAXWFTtA1Qpg=="},
			map[string]string{"X-Amz-Server-Side-Encryption-Customer-Key": key}},
		"no checksum": {map[string]cty.Value{"skip_s3_checksum": cty.True},
			map[string]string{"X-Amz-Checksum-Sha256": "",
				"X-Amz-Sdk-Checksum-Algorithm": ""}, map[string]string{"X-Amz-Checksum-Mode": ""}},
		"tags and an ACL": {map[string]cty.Value{"acl": cty.StringVal("bucket-owner-full-control"),
			"state_tags": cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b c"), "d/e": cty.StringVal("f=g")})},
			map[string]string{"X-Amz-Acl": "bucket-owner-full-control", "X-Amz-Tagging": "a=b+c&d%2Fe=f%3Dg"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProxy(t, server.S3)
			p.handle = func(_ int, w http.ResponseWriter, r *http.Request) bool {
				w.Header().Set("ETag", `"1"`)
				return true
			}
			args := arguments(server, test.args)
			args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(p.URL)})
			s := open(t, args)
			if err := s.Put(t.Context(), ws, []byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context(), ws); err != nil {
				t.Fatal(err)
			}
			seen := p.requests()
			for i, want := range []map[string]string{test.want, test.get} {
				for name, value := range want {
					if got := seen[i].Header.Get(name); got != value {
						t.Errorf("%s has %s=%q, want %q", seen[i].Method, name, got, value)
					}
				}
			}
		})
	}
}

// TestFailures checks the errors that users can do something about, and that nothing is written.
func TestFailures(t *testing.T) {
	refuse := func(status int, code, message string) func(int, http.ResponseWriter, *http.Request) bool {
		return func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("X-Amz-Bucket-Region", "eu-west-3")
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
			return true
		}
	}
	for name, test := range map[string]struct {
		args   map[string]cty.Value
		handle func(int, http.ResponseWriter, *http.Request) bool
		want   string
	}{
		"unknown bucket": {map[string]cty.Value{"bucket": cty.StringVal("nowhere")}, nil,
			`the S3 bucket "nowhere" does not exist. The referenced S3 bucket must have been previously created`},
		"unknown access key": {map[string]cty.Value{"access_key": cty.StringVal("unknown")}, nil,
			"The service doesn't know the credentials from StaticCredentials"},
		"wrong secret key": {map[string]cty.Value{"secret_key": cty.StringVal("wrong")}, nil,
			"The secret access key from StaticCredentials doesn't belong to the access key"},
		"region of the server": {map[string]cty.Value{"region": cty.StringVal("eu-west-1")}, nil,
			"is not in the region of the backend"},
		"region in the answer": {nil, refuse(301, "PermanentRedirect", "Use the other endpoint."),
			`is in the region eu-west-3, but the backend is configured for another one: set region to "eu-west-3"`},
		"expired": {nil, refuse(400, "ExpiredToken", "The provided token has expired."),
			"The credentials from StaticCredentials have expired: sign in again"},
		"no permission": {nil, refuse(403, "AccessDenied", "Access Denied"),
			"AccessDenied: Access Denied. The credentials from StaticCredentials have no permission for this call"},
		"always busy": {nil, refuse(503, "SlowDown", "Please reduce your request rate."),
			"SlowDown: Please reduce your request rate"},
		"unreachable": {map[string]cty.Value{
			"endpoints":   cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal("http://127.0.0.1:1")}),
			"max_retries": cty.Zero}, nil, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			server := newStore(t)
			p := newProxy(t, server.S3)
			p.handle = test.handle
			args := arguments(server, locks(server)["Object"])
			args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(p.URL)})
			maps.Copy(args, test.args)
			s := open(t, args)
			_, err1 := s.List(t.Context())
			_, err2 := s.Get(t.Context(), ws)
			_, err3 := s.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "1"})
			err4 := s.Put(t.Context(), ws, []byte("x"))
			for i, err := range []error{err1, err2, err3, err4} {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("call %d: %v, want %s", i+1, err, test.want)
				}
				if err != nil && strings.Contains(err.Error(), server.SecretKey) {
					t.Errorf("the error has the secret key: %v", err)
				}
			}
			if keys, err := server.Keys(t.Context()); len(keys) > 0 || err != nil {
				t.Errorf("the bucket has %q, %v", keys, err)
			}
		})
	}
}

// TestClock checks that a wrong clock of this machine does no harm, because requests are then
// signed with the time of the service.
func TestClock(t *testing.T) {
	server := newStore(t)
	p := newProxy(t, server.S3)
	ahead := time.Now().UTC().Add(3 * time.Hour)
	p.handle = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		signed, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		w.Header().Set("Date", ahead.Format(http.TimeFormat))
		if err != nil || signed.Sub(ahead).Abs() > 15*time.Minute {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w,
				"<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>")
		}
		return true
	}
	args := arguments(server, nil)
	args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(p.URL)})
	s := open(t, args)
	if _, err := s.Get(t.Context(), ws); err != nil {
		t.Error(err)
	}
	if n := len(p.requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	p.handle = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Date", "unknown")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, "<Error><Code>RequestTimeTooSkewed</Code></Error>")
		return true
	}
	if _, err := s.Get(t.Context(), ws); err == nil || !strings.Contains(err.Error(), "The clock of this machine") {
		t.Error(err)
	}
}

// TestLostResponses repeats a run with all operations, and loses the response to a different
// request each time. Nothing may fail, and each write must happen once.
func TestLostResponses(t *testing.T) {
	server := newStore(t)
	p, tables := newProxy(t, server.S3), newProxy(t, server.DynamoDB)
	args := arguments(server, locks(server)["Both"])
	args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(p.URL),
		"dynamodb": cty.StringVal(tables.URL)})
	run := func(name string) error {
		s := open(t, args).(interface {
			backend.Locker
			backend.Swapper
		})
		id, err := s.Lock(t.Context(), name, backend.LockInfo{ID: "id of " + name})
		if err != nil {
			return err
		}
		_, version, err := s.GetVersion(t.Context(), name)
		if err != nil {
			return err
		}
		for i := range 2 {
			version, err = s.Swap(t.Context(), name, version, fmt.Appendf(nil, "%s %d", name, i))
			if err != nil {
				return err
			}
		}
		return s.Unlock(t.Context(), name, id)
	}
	if err := run("first"); err != nil {
		t.Fatal(err)
	}
	for _, one := range []*proxy{p, tables} {
		points := len(one.requests())
		for n := 1; n <= points; n++ {
			one.mu.Lock()
			one.seen = nil
			one.lose = func(i int, _ *http.Request) bool { return i == n }
			one.mu.Unlock()
			name := fmt.Sprintf("lost-%d-%v", n, one == p)
			if err := run(name); err != nil {
				t.Errorf("without the response %d: %v", n, err)
			}
			if data, err := open(t, args).Get(t.Context(), name); string(data) != name+" 1" || err != nil {
				t.Errorf("without the response %d: the state is %q, %v", n, data, err)
			}
		}
		one.lose = nil
	}
	items, err := server.Items(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for key := range items {
		if !strings.HasSuffix(key, "-md5") || items[key]["NextDigest"] != "" {
			t.Errorf("the item %v is left over", items[key])
		}
	}
	keys, err := server.Keys(t.Context())
	if slices.ContainsFunc(keys, func(key string) bool { return strings.HasSuffix(key, ".tflock") }) || err != nil {
		t.Errorf("locks are left over: %q, %v", keys, err)
	}
}

// TestKilled checks that a state can be read after a process is killed between any two requests of
// a write.
func TestKilled(t *testing.T) {
	server := newStore(t)
	args := arguments(server, locks(server)["Table"])
	s := open(t, args).(backend.Swapper)
	if _, err := s.Swap(t.Context(), ws, "", []byte("old")); err != nil {
		t.Fatal(err)
	}
	for kill := 1; kill <= 3; kill++ {
		p, tables := newProxy(t, server.S3), newProxy(t, server.DynamoDB)
		left := kill
		handle := func(_ int, _ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut || r.Header.Get("X-Amz-Target") == "DynamoDB_20120810.PutItem" {
				left--
				if left < 0 {
					panic(http.ErrAbortHandler)
				}
			}
			return false
		}
		p.handle, tables.handle = handle, handle
		args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(p.URL),
			"dynamodb": cty.StringVal(tables.URL)})
		args["max_retries"] = cty.Zero
		dying := open(t, args).(backend.Swapper)
		_, version, err := dying.GetVersion(t.Context(), ws)
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint("new ", kill)
		_, _ = dying.Swap(t.Context(), ws, version, []byte(text))
		data, _, err := s.GetVersion(t.Context(), ws)
		if err != nil || string(data) == text != (kill > 1) {
			t.Errorf("killed after %d requests: %q, %v", kill, data, err)
		}
	}
}

// TestRace checks that a write that is refused, because another process has written without a lock,
// doesn't replace the digest that the other process wrote.
func TestRace(t *testing.T) {
	server := newStore(t)
	args := arguments(server, locks(server)["Table"])
	first, second := open(t, args).(backend.Swapper), open(t, args).(backend.Swapper)
	for _, text := range []string{"1", "2"} {
		_, seen, err := first.GetVersion(t.Context(), ws)
		if err != nil {
			t.Fatal(err)
		}
		_, version, err := second.GetVersion(t.Context(), ws)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := second.Swap(t.Context(), ws, version, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if _, err := first.Swap(t.Context(), ws, seen, []byte("other")); !errors.Is(err, backend.ErrChanged) {
			t.Errorf("the late write: %v", err)
		}
		if data, _, err := second.GetVersion(t.Context(), ws); string(data) != text || err != nil {
			t.Errorf("after the late write: %q, %v", data, err)
		}
	}
}

// TestDigest checks that a state that doesn't match its digest isn't used.
func TestDigest(t *testing.T) {
	server := newStore(t)
	s := open(t, arguments(server, locks(server)["Table"]))
	if err := s.Put(t.Context(), ws, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := server.Put(t.Context(), "dir/state", "swapped"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := s.Get(ctx, ws)
	if err == nil || !strings.Contains(err.Error(), "state data in S3 does not have the expected content") ||
		!strings.Contains(err.Error(), server.Bucket+"/dir/state-md5") {
		t.Error(err)
	}
	// A state without a digest, as it was before the table was used, is accepted.
	if err := server.Put(t.Context(), "env:/old/dir/state", "old"); err != nil {
		t.Fatal(err)
	}
	if data, err := s.Get(t.Context(), "old"); string(data) != "old" || err != nil {
		t.Errorf("%q, %v", data, err)
	}
}

// TestOneOfTwoLocks checks that a state with only one of two locks is locked, and that force-unlock
// removes a lock that a killed process left.
func TestOneOfTwoLocks(t *testing.T) {
	server := newStore(t)
	all := locks(server)
	both := open(t, arguments(server, all["Both"])).(backend.Locker)
	for _, name := range []string{"Object", "Table"} {
		one := open(t, arguments(server, all[name])).(backend.Locker)
		if _, err := one.Lock(t.Context(), ws, backend.LockInfo{ID: "1", Who: "somebody"}); err != nil {
			t.Fatal(err)
		}
		_, err := both.Lock(t.Context(), ws, backend.LockInfo{ID: "2"})
		storetest.WantHolder(t, err, "somebody")
		storetest.WantError(t, both.Unlock(t.Context(), ws, "3"), `the lock has the ID "1", not "3"`)
		storetest.Check(t, both.Unlock(t.Context(), ws, "1"))
		storetest.WantError(t, both.Unlock(t.Context(), ws, "1"), "isn't locked")
	}
	if keys, err := server.Keys(t.Context()); len(keys) > 0 || err != nil {
		t.Errorf("%q, %v", keys, err)
	}
}

// TestStoreWithoutConditions checks that a store without conditional writes can still be used, but
// not for locks.
func TestStoreWithoutConditions(t *testing.T) {
	server := newStore(t)
	p := newProxy(t, server.S3)
	p.handle = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if r.Header.Get("If-Match")+r.Header.Get("If-None-Match") == "" {
			return false
		}
		w.WriteHeader(http.StatusNotImplemented)
		fmt.Fprint(w, "<Error><Code>NotImplemented</Code><Message>A header is not implemented.</Message></Error>")
		return true
	}
	args := arguments(server, locks(server)["Object"])
	args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(p.URL)})
	s := open(t, args)
	if _, err := s.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "1"}); err == nil ||
		!strings.Contains(err.Error(), "no conditional writes, which use_lockfile needs") {
		t.Error(err)
	}
	version, err := s.(backend.Swapper).Swap(t.Context(), ws, "", []byte("1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, args).(backend.Swapper).Swap(t.Context(), ws, version, []byte("2")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.(backend.Swapper).Swap(t.Context(), ws, version, []byte("3")); !errors.Is(err, backend.ErrChanged) {
		t.Errorf("a write over another one: %v", err)
	}
}

// TestLargeState checks that reading a state of 50 MB holds it in memory once, and that writing
// doesn't copy it.
func TestLargeState(t *testing.T) {
	server := newStore(t)
	s := open(t, arguments(server, nil))
	const size = 50 << 20
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	allocated := func(f func() error) uint64 {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := f(); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	if n := allocated(func() error { return s.Put(t.Context(), ws, data) }); n > size/4 {
		t.Errorf("writing %d bytes allocates %d", size, n)
	}
	var got []byte
	if n := allocated(func() (err error) { got, err = s.Get(t.Context(), ws); return err }); n > size+size/4 {
		t.Errorf("reading %d bytes allocates %d", size, n)
	}
	if !bytes.Equal(got, data) {
		t.Errorf("%d bytes come back", len(got))
	}
}
