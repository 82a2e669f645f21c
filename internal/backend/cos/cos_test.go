package cos_test

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/cos"
	"tofu/internal/httpclient"
	"tofu/internal/testenv/costest"
	"tofu/internal/testenv/hosts"
	"tofu/internal/testenv/storetest"
)

const ws = backend.DefaultWorkspace

var (
	check     = storetest.Check
	wantError = storetest.WantError
	text      = cty.StringVal
)

func start(t *testing.T) (*costest.Server, *httpclient.Client) {
	s := costest.New("bucket-125")
	return s, hosts.Client(t, s.Hosts())
}

type settings = storetest.Args

// arguments are the arguments of a valid backend block.
var arguments = settings{"region": text("ap-guangzhou"), "bucket": text("bucket-125"), "prefix": text("tofu/state"),
	"secret_id": text("AKIDtest"), "secret_key": text("s3cret")}

func through(client *httpclient.Client) func(config any) {
	return func(config any) { config.(*cos.Config).HTTP = client }
}

func open(t *testing.T, client *httpclient.Client, more settings) backend.Store {
	t.Helper()
	return storetest.MustOpen(t, cos.Driver, storetest.With(arguments, more), through(client))
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (backend.Store, backend.Store) {
		_, client := start(t)
		return open(t, client, nil), open(t, client, nil)
	})
}

// TestLayout checks that the bucket has the objects that OpenTofu writes.
func TestLayout(t *testing.T) {
	s, client := start(t)
	a := open(t, client, nil)
	id, err := a.(backend.Locker).Lock(t.Context(), "w", backend.LockInfo{ID: "id"})
	check(t, err)
	check(t, a.Put(t.Context(), ws, []byte("1")))
	check(t, a.Put(t.Context(), "w", []byte("2")))
	objects := s.Objects()
	for key, want := range map[string]string{"tofu/state/terraform.tfstate": "1", "tofu/state/w/terraform.tfstate": "2",
		"tofu/state/w/terraform.tfstate.tflock": `{"ID":"id","Operation":"","Info":"","Who":"","Version":"",` +
			`"Created":"0001-01-01T00:00:00Z","Path":"tofu/state/w/terraform.tfstate.tflock"}`} {
		o := objects[key]
		sum := md5.Sum(o.Data)
		if string(o.Data) != want || o.Header.Get("X-Cos-Meta-Md5") != hex.EncodeToString(sum[:]) ||
			o.Header.Get("X-Cos-Acl") != "private" || o.Header.Get("X-Cos-Server-Side-Encryption") != "AES256" {
			t.Errorf("%s is %q, %v", key, o.Data, o.Header)
		}
	}
	if len(objects) != 3 || s.Tags() != 0 {
		t.Errorf("%d objects, %d tags", len(objects), s.Tags())
	}
	check(t, a.(backend.Locker).Unlock(t.Context(), "w", id))
	b := open(t, client,
		settings{"encrypt": cty.False, "acl": text("public-read"), "key": text("x"), "prefix": cty.NullVal(cty.String)})
	check(t, b.Put(t.Context(), ws, []byte("3")))
	if o := s.Objects()["env:/x"]; string(o.Data) != "3" || o.Header.Get("X-Cos-Acl") != "public-read" ||
		o.Header.Get("X-Cos-Server-Side-Encryption") != "" {
		t.Errorf("env:/x is %q, %v", o.Data, o.Header)
	}
}

func TestDamaged(t *testing.T) {
	s, client := start(t)
	a := open(t, client, nil)
	check(t, a.Put(t.Context(), ws, []byte("1")))
	s.Objects()["tofu/state/terraform.tfstate"].Data[0] = '2'
	_, err := a.Get(t.Context(), ws)
	wantError(t, err, "doesn't have the checksum that was stored with it")
}

// TestLostResponses checks that a write whose response is lost is not an error if it was carried
// out.
func TestLostResponses(t *testing.T) {
	s, client := start(t)
	a := open(t, client, nil)
	lose := func(method, host string) {
		lost := false
		s.Drop = func(r *http.Request) bool {
			drop := !lost && r.Method == method && strings.HasPrefix(r.Host, host)
			lost = lost || drop
			return drop
		}
	}
	version := ""
	for _, data := range []string{"1", "2"} {
		var err error
		lose(http.MethodPut, "bucket")
		version, err = a.(backend.Swapper).Swap(t.Context(), ws, version, []byte(data))
		check(t, err)
	}
	lose(http.MethodPut, "bucket")
	id, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "id"})
	check(t, err)
	lose(http.MethodDelete, "bucket")
	check(t, a.(backend.Locker).Unlock(t.Context(), ws, id))
	if len(s.Objects()) != 1 || s.Tags() != 0 {
		t.Errorf("%d objects, %d tags", len(s.Objects()), s.Tags())
	}
}

// TestLeftTag checks the error if a killed process has left its tag behind.
func TestLeftTag(t *testing.T) {
	s, client := start(t)
	a := open(t, client, nil)
	sum := md5.Sum([]byte("bucket-125:tofu/state/terraform.tfstate.tflock"))
	s.SetTag("tencentcloud-terraform-lock", hex.EncodeToString(sum[:]))
	_, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "id"})
	wantError(t, err, "exists: a process is creating a lock, or was killed while creating one. If no process is "+
		"running, delete the tag")
}

func TestErrors(t *testing.T) {
	_, client := start(t)
	role := func(arn string) cty.Value {
		return cty.ListVal([]cty.Value{cty.ObjectVal(settings{"role_arn": text(arn), "session_name": text("s"),
			"session_duration": cty.NumberIntVal(900), "policy": text(`{"a": 1}`)})})
	}
	for name, test := range map[string]struct {
		settings settings
		want     string
	}{
		"works":       {nil, ""},
		"accelerated": {settings{"accelerate": cty.True}, ""},
		"role":        {settings{"assume_role": role("qcs::cam::uin/1:roleName/allowed")}, ""},
		"unknown role": {settings{"assume_role": role("qcs::cam::uin/1:roleName/x")},
			`assuming the role "qcs::cam::uin/1:roleName/x": InvalidParameter.RoleNotExist`},
		"no credentials": {settings{"secret_id": cty.NullVal(cty.String)},
			"TENCENTCLOUD_SECRET_ID and TENCENTCLOUD_SECRET_KEY"},
		"unknown key": {settings{"secret_id": text("x")},
			"InvalidAccessKeyId: The request is refused. (status 403); check secret_id"},
		"wrong secret": {settings{"secret_key": text("x")}, "SignatureDoesNotMatch"},
		"wrong token":  {settings{"security_token": text("x")}, "the temporary credentials have expired"},
		"no bucket":    {settings{"bucket": text("other-125")}, `the region "ap-guangzhou" has the bucket "other-125"`},
		"no region": {settings{"region": cty.NullVal(cty.String)},
			"it is required, here or in the environment variable TENCENTCLOUD_REGION"},
		"access list": {settings{"acl": text("x")}, "acl"},
		"prefix":      {settings{"prefix": text("/x")}, "without a slash at either end"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := storetest.Open(t, cos.Driver, storetest.With(arguments, test.settings), through(client))
			if err == nil {
				_, err = store.List(t.Context())
			}
			if err == nil {
				_, err = store.Get(t.Context(), ws)
			}
			if test.want == "" {
				check(t, err)
			} else {
				wantError(t, err, test.want)
			}
		})
	}
	a := open(t, client, settings{"assume_role": role("qcs::cam::uin/1:roleName/allowed")})
	_, err := a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "id", Who: "me"})
	check(t, err)
	_, err = a.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{ID: "id2"})
	storetest.WantHolder(t, err, "me")
}
