package oss_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/oss"
	"tofu/internal/httpclient"
	"tofu/internal/testenv/hosts"
	"tofu/internal/testenv/osstest"
	"tofu/internal/testenv/storetest"
)

const ws = backend.DefaultWorkspace

var (
	check     = storetest.Check
	wantError = storetest.WantError
	text      = cty.StringVal
)

func start(t *testing.T) (*osstest.Server, *httpclient.Client) {
	s := osstest.New("states", "locks")
	return s, hosts.Client(t, s.Hosts())
}

type settings = storetest.Args

// locked are the additional arguments that enable locks.
var locked = settings{"tablestore_endpoint": text("https://locks.cn-beijing.ots.aliyuncs.com"),
	"tablestore_table": text("locks")}

// arguments are valid arguments without locks.
var arguments = settings{"region": text("cn-beijing"), "bucket": text("states"), "prefix": text("a/b"),
	"access_key": text("LTAItest"), "secret_key": text("s3cret")}

func through(client *httpclient.Client) func(config any) {
	return func(config any) { config.(*oss.Config).HTTP = client }
}

func open(t *testing.T, client *httpclient.Client, more settings) backend.Store {
	t.Helper()
	return storetest.MustOpen(t, oss.Driver, storetest.With(arguments, more), through(client))
}

func TestStore(t *testing.T) {
	for name, more := range map[string]settings{"table": locked, "no locks": nil,
		"version 1": {"region": cty.NullVal(cty.String), "endpoint": text("oss-cn-beijing-internal.aliyuncs.com")}} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
				_, client := start(t)
				return open(t, client, more), open(t, client, more)
			})
		})
	}
}

// TestLayout checks that the bucket and the table have the content that OpenTofu writes.
func TestLayout(t *testing.T) {
	s, client := start(t)
	a := open(t, client, locked)
	id, err := a.(backend.Locker).Lock(t.Context(), "w", backend.LockInfo{ID: "id"})
	check(t, err)
	check(t, a.Put(t.Context(), ws, []byte("1")))
	check(t, a.Put(t.Context(), "w", []byte("2")))
	b := open(t, client, settings{"encrypt": cty.True, "acl": text("public-read"), "key": text("x"),
		"prefix": cty.NullVal(cty.String)})
	check(t, b.Put(t.Context(), ws, []byte("3")))
	got := map[string]string{}
	for key, o := range s.Objects() {
		got[key] = fmt.Sprintf("%s%s%s", o.Data, o.Header["X-Oss-Object-Acl"], o.Header["X-Oss-Server-Side-Encryption"])
	}
	want := map[string]string{"a/b/terraform.tfstate": "1[][]", "a/b/w/terraform.tfstate": "2[][]",
		"env:/x": "3[public-read][AES256]"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the bucket has %q, want %q", got, want)
	}
	rows := map[string]map[string]string{
		"states/a/b/w/terraform.tfstate": {"Info": `{"ID":"id","Operation":"","Info":"","Who":"","Version":"",` +
			`"Created":"0001-01-01T00:00:00Z","Path":"states/a/b/w/terraform.tfstate"}`},
		"states/a/b/w/terraform.tfstate-md5": {"Digest": "c81e728d9d4c2f636f067f89cc14862c"},
		"states/a/b/terraform.tfstate-md5":   {"Digest": "c4ca4238a0b923820dcc509a6f75849b"},
	}
	if !reflect.DeepEqual(s.Rows(), rows) {
		t.Errorf("the table has %q, want %q", s.Rows(), rows)
	}
	check(t, a.(backend.Locker).Unlock(t.Context(), "w", id))
}

// TestRequests checks which requests an apply sends.
func TestRequests(t *testing.T) {
	s, client := start(t)
	a := open(t, client, locked)
	check(t, a.Put(t.Context(), ws, []byte("1")))
	a = open(t, client, locked)
	before := len(s.Requests())
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "id"})
	check(t, err)
	_, version, err := a.(backend.Swapper).GetVersion(t.Context(), ws)
	check(t, err)
	_, err = a.(backend.Swapper).Swap(t.Context(), ws, version, []byte("2"))
	check(t, err)
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	const object, table = " states.oss-cn-beijing.aliyuncs.com/a/b/terraform.tfstate",
		"POST locks.cn-beijing.ots.aliyuncs.com/"
	want := []string{table + "PutRow", "GET" + object, table + "GetRow", table + "PutRow", "HEAD" + object,
		"PUT" + object,
		table + "PutRow", table + "GetRow", table + "DeleteRow"}
	if got := s.Requests()[before:]; !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

// TestDamaged checks that a state is not used if it is damaged, or if another program wrote it
// without its digest.
func TestDamaged(t *testing.T) {
	s, client := start(t)
	a, unlocked := open(t, client, locked), open(t, client, nil)
	check(t, a.Put(t.Context(), ws, []byte("1")))
	check(t, unlocked.Put(t.Context(), ws, []byte("2")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := a.Get(ctx, ws)
	wantError(t, err, "canceled")
	_, err = a.(backend.Swapper).Swap(t.Context(), ws, "x", []byte("3"))
	wantError(t, err, "state data in OSS does not have the expected content: it has the digest")
	s.Objects()["a/b/terraform.tfstate"].Data[0] = '3'
	_, err = unlocked.Get(t.Context(), ws)
	wantError(t, err, "doesn't have the checksum that was stored with it")
}

// TestLostResponses checks that a write whose response is lost is not an error if it was carried
// out.
func TestLostResponses(t *testing.T) {
	s, client := start(t)
	a := open(t, client, locked)
	lose := func(path string) {
		lost := false
		s.Drop = func(r *http.Request) bool {
			drop := !lost && strings.HasPrefix(r.Method+" "+r.URL.Path, path)
			lost = lost || drop
			return drop
		}
	}
	version := ""
	for i, path := range []string{"PUT /a", "POST /PutRow", "PUT /a", "POST /GetRow", "HEAD /a"} {
		lose(path)
		var err error
		version, err = a.(backend.Swapper).Swap(t.Context(), ws, version, fmt.Append(nil, i))
		check(t, err)
	}
	lose("POST /PutRow")
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "id"})
	check(t, err)
	lose("POST /DeleteRow")
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	if len(s.Rows()) != 1 {
		t.Errorf("the table has %q", s.Rows())
	}
}

// TestKilled checks that a process that is killed while it writes leaves a state that matches one
// of its digests.
func TestKilled(t *testing.T) {
	for _, first := range []bool{true, false} {
		for _, path := range []string{"/PutRow", "/a/b/terraform.tfstate"} {
			s, client := start(t)
			a := open(t, client, locked)
			version := ""
			if !first {
				check(t, a.Put(t.Context(), ws, []byte("1")))
				var err error
				_, version, err = a.(backend.Swapper).GetVersion(t.Context(), ws)
				check(t, err)
			}
			ctx, kill := context.WithCancel(t.Context())
			s.Drop = func(r *http.Request) bool {
				killed := r.URL.Path == path && r.Method != http.MethodHead
				if killed {
					kill()
				}
				return killed
			}
			if _, err := a.(backend.Swapper).Swap(ctx, ws, version, []byte("2")); err == nil {
				t.Fatal("no error")
			}
			s.Drop = nil
			b := open(t, client, locked)
			data, version, err := b.(backend.Swapper).GetVersion(t.Context(), ws)
			check(t, err)
			if _, err := b.(backend.Swapper).Swap(t.Context(), ws, version, []byte("3")); err != nil {
				t.Errorf("%v at %s: after reading %q: %v", first, path, data, err)
			}
		}
	}
}

func role(arn string) settings {
	return settings{"assume_role_role_arn": text(arn), "assume_role_session_name": text("s"),
		"assume_role_session_expiration": cty.NumberIntVal(900), "assume_role_policy": text(`{"a": 1}`)}
}

const roleARN = "acs:ram::1:role/"

func TestErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.json")
	check(t, os.WriteFile(file, []byte(`{"profiles": [
{"name": "default", "mode": "AK", "access_key_id": "LTAItest", "access_key_secret": "s3cret"},
{"name": "role", "mode": "RamRoleArn", "access_key_id": "LTAItest", "access_key_secret": "s3cret",
 "ram_role_arn": "acs:ram::1:role/allowed", "ram_session_name": "r", "expired_seconds": 900},
{"name": "instance", "mode": "EcsRamRole", "ram_role_name": "instance"},
{"name": "browser", "mode": "CloudSSO"}]}`), 0o600))
	null := cty.NullVal(cty.String)
	with := storetest.With
	no := settings{"access_key": null, "secret_key": null}
	profile := func(name string) settings {
		return with(no, settings{"shared_credentials_file": text(file), "profile": text(name)})
	}
	block := func(arn string) settings {
		return settings{"assume_role": cty.ListVal([]cty.Value{cty.ObjectVal(settings{"role_arn": text(arn),
			"session_name": text("s"), "session_expiration": cty.NumberIntVal(900)})})}
	}
	for name, test := range map[string]struct {
		settings settings
		want     string
	}{
		"works":           {nil, ""},
		"table":           {locked, ""},
		"role":            {with(locked, role(roleARN+"allowed")), ""},
		"role in a block": {block(roleARN + "allowed"), ""},
		"unknown role":    {role(roleARN + "x"), `assuming the role "acs:ram::1:role/x": EntityNotExist.Role: refused`},
		"empty role":      {role(""), ""},
		"long session": {with(role("x"), settings{"assume_role_session_expiration": cty.NumberIntVal(9000)}),
			"from 900 to 3600"},
		"file":                {with(no, settings{"shared_credentials_file": text(file)}), ""},
		"profile with role":   {profile("role"), ""},
		"profile of instance": {profile("instance"), ""},
		"profile of browser":  {profile("browser"), `the mode "CloudSSO" is not supported`},
		"no profile":          {profile("x"), "there is no such profile"},
		"no file":             {with(no, settings{"shared_credentials_file": text("/nonexistent")}), "/nonexistent"},
		"instance":            {with(no, settings{"ecs_role_name": text("instance")}), ""},
		"role of the instance": {with(with(no, role(roleARN+"allowed")),
			settings{"ecs_role_name": text("instance")}), ""},
		"other instance": {with(no, settings{"ecs_role_name": text("x")}),
			`the key of the role "x" from the metadata service`},
		"no credentials": {no, "there is no access key: set access_key"},
		"unknown key": {settings{"access_key": text("x")},
			"InvalidAccessKeyId: The request is refused. (status 403); check the access key"},
		"wrong secret": {settings{"secret_key": text("x")}, "SignatureDoesNotMatch"},
		"wrong token":  {settings{"security_token": text("x")}, "has expired or is invalid"},
		"no bucket":    {settings{"bucket": text("other")}, `check that the bucket "other" exists in the region "cn-beijing"`},
		"no region":    {settings{"region": null}, `"region" is invalid: set it, "endpoint"`},
		"endpoint":     {settings{"endpoint": text("https://oss-cn-beijing.aliyuncs.com")}, ""},
		"bad endpoint": {settings{"endpoint": text("ftp://x")}, "it must be a host or a URL"},
		"access list":  {settings{"acl": text("x")}, "acl"},
		"prefix":       {settings{"prefix": text("/x")}, "without a slash"},
		"table alone":  {settings{"tablestore_table": text("x")}, `the table needs "tablestore_endpoint"`},
		"no table": {with(locked, settings{"tablestore_table": text("x")}),
			"OTSObjectNotExist: refused; create the table with the primary key LockID"},
		"secret of table": {with(locked, settings{"secret_key": text("x")}), "SignatureDoesNotMatch"},
	} {
		t.Run(name, func(t *testing.T) {
			_, client := start(t)
			store, err := storetest.Open(t, oss.Driver, storetest.With(arguments, test.settings), through(client))
			if err == nil {
				_, err = store.List(t.Context())
			}
			if err == nil {
				_, err = store.Get(t.Context(), ws)
			}
			if err == nil {
				err = store.Put(t.Context(), ws, []byte("1"))
			}
			if test.want == "" {
				check(t, err)
			} else {
				wantError(t, err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error contains a secret: %v", err)
			}
		})
	}
}

func TestHolder(t *testing.T) {
	_, client := start(t)
	a, b := open(t, client, locked), open(t, client, locked)
	_, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "id", Who: "me"})
	check(t, err)
	_, err = b.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "2"})
	storetest.WantHolder(t, err, "me")
	wantError(t, b.(backend.Locker).Unlock(t.Context(), ws, "2"), `the lock has the ID "id", not "2"`)
	check(t, b.(backend.Locker).Unlock(t.Context(), ws, "id"))
	wantError(t, b.(backend.Locker).Unlock(t.Context(), ws, "id"), "the state isn't locked")
}
