package awsapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/testenv"
)

const role = "arn:aws:iam::123456789012:role/deploy"

// isolate hides the AWS settings of the machine.
func isolate(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_KMS", "AWS_ENDPOINT_URL_STS"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	return dir
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		config Config
		want   string
	}{
		{Config{Region: "eu-west-1", AccessKey: "a", SecretKey: "s"}, ""},
		{Config{Region: "us-gov-east-1"}, ""},
		{Config{Region: "minio"}, "no AWS region has this name"},
		{Config{Region: "minio", SkipRegion: true}, ""},
		{Config{AccessKey: "a"}, "must be set together"},
		{Config{SecretKey: "s"}, "must be set together"},
		{Config{MaxRetries: -1}, "must not be negative"},
		{Config{Role: &Role{ARN: role, Duration: "1h30m"}}, ""},
		{Config{Role: &Role{ARN: role, Duration: "14m59s"}}, "not a duration between 15m and 12h"},
		{Config{Role: &Role{ARN: role, Duration: "13h"}}, "not a duration between 15m and 12h"},
		{Config{Role: &Role{ARN: "arn:aws:iam::123:role/x"}}, "is not the ARN of an IAM role"},
		{Config{WebIdentity: &WebIdentity{ARN: role}}, "web_identity_token_file is required"},
		{Config{WebIdentity: &WebIdentity{ARN: role, Token: "x"}}, ""},
	} {
		err := test.config.Check()
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%+v: got the error %v; want %q", test.config, err, test.want)
		}
	}
}

func TestHosts(t *testing.T) {
	kms := ServiceID{Host: "kms"}
	for _, test := range []struct{ got, want string }{
		{host(kms, "eu-west-1", false, false), "kms.eu-west-1.amazonaws.com"},
		{host(kms, "us-gov-west-1", true, false), "kms-fips.us-gov-west-1.amazonaws.com"},
		{host(kms, "cn-north-1", false, false), "kms.cn-north-1.amazonaws.com.cn"},
		{host(kms, "cn-north-1", false, true), "kms.cn-north-1.api.amazonwebservices.com.cn"},
		{host(kms, "us-isob-east-1", false, false), "kms.us-isob-east-1.sc2s.sgov.gov"},
		{host(kms, "eusc-de-east-1", false, true), "kms.eusc-de-east-1.api.amazonwebservices.eu"},
		{S3Host("s3", "us-east-2", true, true), "s3-fips.dualstack.us-east-2.amazonaws.com"},
		{S3Host("s3", "us-iso-east-1", false, false), "s3.us-iso-east-1.c2s.ic.gov"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

// TestNoCredentials checks what the error says about the places where credentials were looked for.
func TestNoCredentials(t *testing.T) {
	dir := isolate(t)
	options := Options{User: "the s3 backend", Docs: "https://example.com/docs"}
	_, err := Open(t.Context(), &Config{Region: "eu-west-1"}, options)
	for _, want := range []string{"No valid credential sources found", "AWS_ACCESS_KEY_ID (not set)",
		filepath.Join(dir, "credentials") + " (doesn't exist)", "disabled by AWS_EC2_METADATA_DISABLED",
		"https://example.com/docs"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q: %v", want, err)
		}
	}
	testenv.WriteFile(t, filepath.Join(dir, "config"), "[profile blue]\nregion = eu-west-3\n")
	testenv.WriteFile(t, filepath.Join(dir, "credentials"), "[blue]\naws_access_key_id = a\naws_secret_access_key = s\n")
	_, err = Open(t.Context(), &Config{Profile: "green"}, options)
	if err == nil || !strings.Contains(err.Error(), `have no profile "green", which the s3 backend needs`) {
		t.Error(err)
	}
	a, err := Open(t.Context(), &Config{Profile: "blue"}, options)
	if err != nil || a.Region != "eu-west-3" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = Open(t.Context(), &Config{AccessKey: "a", SecretKey: "s"}, options)
	if err == nil || !strings.Contains(err.Error(), "AWS_DEFAULT_REGION") {
		t.Errorf("without a region: %v", err)
	}
}

// TestService checks requests and refusals of a service, and that calls are repeated when it is busy
// or when the clock is wrong.
func TestService(t *testing.T) {
	isolate(t)
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(code string) {
			w.Header().Set("X-Amzn-Requestid", "r-1")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type": "com.example#`+code+`", "message": "No."}`)
		}
		_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		n := calls.Add(1)
		signed := strings.Contains(r.Header.Get("Authorization"), "Credential=key/") &&
			strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/kms/aws4_request")
		switch {
		case !signed:
			refuse("MissingAuthenticationToken")
		case call == "Busy" && n < 3:
			refuse("ThrottlingException")
		case call == "Busy", call == "Echo":
			_, _ = io.Copy(w, r.Body)
		default:
			refuse(call)
		}
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_KMS", server.URL)
	account, err := Open(t.Context(), &Config{Region: "eu-west-1", AccessKey: "key", SecretKey: "secret",
		MaxRetries: 3}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer account.Close()
	s, err := account.Service(t.Context(), ServiceID{Name: "KMS", Host: "kms", Signing: "kms"}, "", nil, nil)
	if err != nil || !s.Custom {
		t.Fatal(s, err)
	}
	for _, test := range []struct {
		call, err string
		calls     int32
	}{
		{"Echo", "", 1}, {"Busy", "", 3},
		{"NotFoundException", "operation error KMS: NotFoundException, https response error StatusCode: 400, RequestID: r-1, " +
			"NotFoundException: No", 1},
		{"AccessDeniedException", "have no permission for this call", 1},
		{"ExpiredTokenException", "have expired: sign in again", 1},
		{"InvalidSignatureException", "doesn't belong to the access key", 1},
	} {
		calls.Store(0)
		var out struct{ X int }
		err := s.JSON(t.Context(), "1.1", "Service."+test.call, map[string]int{"X": 7}, &out)
		if (err == nil) != (test.err == "") || err == nil && out.X != 7 ||
			err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %d, %v; want the error %q", test.call, out.X, err, test.err)
		}
		if refused, ok := errors.AsType[*Error](err); ok && refused.Code != test.call {
			t.Errorf("%s: the code is %s", test.call, refused.Code)
		}
		if got := calls.Load(); got != test.calls {
			t.Errorf("%s: %d calls, want %d", test.call, got, test.calls)
		}
	}

	for _, bad := range []string{"kms.example.com", "ftp://kms.example.com", "https://"} {
		if _, err := account.Service(t.Context(), ServiceID{Name: "KMS"}, bad, []string{"endpoint"}, nil); err == nil {
			t.Errorf("the endpoint %s is accepted", bad)
		}
	}
}

// TestClock checks that a call is repeated with the time of the service.
func TestClock(t *testing.T) {
	isolate(t)
	ahead := time.Now().Add(time.Hour).UTC()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", ahead.Format(http.TimeFormat))
		at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		if ahead.Sub(at).Abs() > 15*time.Minute {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"__type": "RequestTimeTooSkewed"}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]bool{"OK": true})
	}))
	defer server.Close()
	account, err := Open(t.Context(), &Config{Region: "eu-west-1", AccessKey: "k", SecretKey: "s", MaxRetries: 1}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := account.Service(t.Context(), ServiceID{Name: "KMS", Host: "kms", Signing: "kms"}, server.URL, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ OK bool }
	if err := s.JSON(t.Context(), "1.1", "S.Call", nil, &out); err != nil || !out.OK {
		t.Errorf("%t, %v", out.OK, err)
	}
}
