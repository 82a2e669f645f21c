package s3_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/s3"
	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

// decode decodes a backend block that consists of bucket, key and the given text. It returns the
// configuration, the warnings, and the error. Warnings and errors include the lines of the
// arguments.
func decode(t *testing.T, text string, env map[string]string) (*s3.Config, string, error) {
	t.Helper()
	file, diags := hclparse.NewParser().ParseHCL([]byte("bucket = \"b\"\nkey = \"k\"\n"+text), "main.tf")
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	c := s3.Driver.Config()
	v, diags := blocks.Schema(c).Decode(file.Body, nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	var warnings tfdiags.Diagnostics
	err := blocks.Decode(v, c, func(name string) string { return env[name] }, warnings.Add)
	place := func(d tfdiags.Diagnostics) tfdiags.Diagnostics { return d.InConfigBody(file.Body, "") }
	var texts []string
	for _, w := range place(warnings) {
		texts = append(texts, w.Error())
	}
	return c.(*s3.Config), strings.Join(texts, "\n"), tfdiags.MapError(err, place)
}

func TestInvalidArguments(t *testing.T) {
	const role = `assume_role = { role_arn = "arn:aws:iam::123456789012:role/x" `
	for _, test := range []struct{ text, want string }{
		{`key = "/k"`, `main.tf:2: Invalid configuration: The argument "key" is invalid: it must not start or end`},
		{`workspace_key_prefix = "x/"`, `main.tf:3: Invalid configuration: ` +
			`The argument "workspace_key_prefix" is invalid: it must not start or end`},
		{`region = "useast1"`, `main.tf:3: Invalid configuration: ` +
			`The argument "region" is invalid: no AWS region has this name`},
		{`access_key = "a"`, `main.tf:3: Invalid configuration: ` +
			`The argument "access_key" is invalid: access_key and secret_key must be set together`},
		{`max_retries = -1`, `"max_retries" is invalid: it must not be negative`},
		{`retry_mode = "x"`, `"retry_mode" is invalid: "x" is not one of standard, adaptive`},
		{`kms_key_id = "x"`, `"kms_key_id" is invalid: "x" is not the ID, the ARN or the alias of a KMS key`},
		{`sse_customer_key = "eA=="`, `"sse_customer_key" is invalid: it must be 32 bytes in Base64`},
		{`assume_role = { role_arn = "x" }`, `"assume_role.role_arn" is invalid: "x" is not the ARN of an IAM role`},
		{role + `, duration = "1m" }`, `"assume_role.duration" is invalid: "1m" is not a duration between 15m and 12h`},
		{"\n" + role + "}\nrole_arn = \"x\"", `main.tf:5: Invalid configuration: ` +
			`The argument "role_arn" is invalid: it can't be set together with "assume_role"`},
		{`session_name = "x"`, `"role_arn" is invalid: it is required by the other arguments about a role`},
		{"use_path_style = true\nforce_path_style = true", `main.tf:4: Invalid configuration: ` +
			`The argument "force_path_style" is invalid: it can't be set together with "use_path_style"`},
		{"endpoint = \"http://a\"\nendpoints = { s3 = \"http://b\" }", `main.tf:3: Invalid configuration: ` +
			`The argument "endpoint" is invalid: it can't be set together with "endpoints.s3"`},
		{"allowed_account_ids = [\"1\"]\nforbidden_account_ids = [\"2\"]",
			`it can't be set together with "forbidden_account_ids"`},
		{"assume_role_with_web_identity = {\n web_identity_token = \"x\"\n}",
			`"assume_role_with_web_identity.role_arn"`},
		{"assume_role_with_web_identity = {\n role_arn = \"arn:aws:iam::123456789012:role/x\"\n}",
			`web_identity_token or web_identity_token_file is required`},
	} {
		if strings.HasPrefix(test.text, "key") {
			_, err := tryOpen(t, map[string]cty.Value{"bucket": cty.StringVal("b"), "key": cty.StringVal("/k")})
			if err == nil || !strings.Contains(err.Error(), `it must not start or end with "/"`) {
				t.Errorf("key: %v", err)
			}
			continue
		}
		_, _, err := decode(t, test.text, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", test.text, err, test.want)
		}
	}
}

func TestDeprecatedArguments(t *testing.T) {
	c, warnings, err := decode(t, `
role_arn                        = "arn:aws:iam::123456789012:role/x"
assume_role_duration_seconds    = 900
assume_role_tags                = { a = "b" }
assume_role_transitive_tag_keys = ["a"]
external_id                     = "e"
endpoint                        = "http://s3"
force_path_style                = true
shared_credentials_file         = "f"
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Role.ARN == "" || c.Role.Duration != "15m0s" || c.Role.Tags["a"] != "b" || c.Role.ExternalID != "e" ||
		c.Endpoints.S3 != "http://s3" || !c.PathStyle || !slices.Equal(c.CredentialFiles, []string{"f"}) {
		t.Errorf("%+v, %+v", c, c.Role)
	}
	for _, want := range []string{
		`main.tf:4: Deprecated argument: The argument "role_arn" is deprecated. Use "assume_role.role_arn" instead.`,
		`main.tf:9: Deprecated argument: The argument "endpoint" is deprecated. Use "endpoints.s3" instead.`,
		`main.tf:10: Deprecated argument: The argument "force_path_style" is deprecated. Use "use_path_style" instead.`,
	} {
		if !strings.Contains(warnings, want) {
			t.Errorf("no warning %s in:\n%s", want, warnings)
		}
	}
	if n := strings.Count(warnings, "\n") + 1; n != 8 {
		t.Errorf("%d warnings, want 8", n)
	}
}

func TestEnvironment(t *testing.T) {
	env := map[string]string{"AWS_DEFAULT_REGION": "eu-west-1", "AWS_RETRY_MODE": "adaptive", "AWS_CA_BUNDLE": "ca",
		"AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/x", "AWS_WEB_IDENTITY_TOKEN_FILE": "token"}
	c, _, err := decode(t, `assume_role_with_web_identity = {}`, env)
	if err != nil || c.Region != "eu-west-1" || c.RetryMode != "adaptive" || c.CABundle != "ca" ||
		c.WebIdentity.TokenFile != "token" ||
		c.Prefix != "env:" || c.MaxRetries != 5 {
		t.Errorf("%+v, %v", c, err)
	}
	env["AWS_REGION"] = "us-west-2"
	if c, _, err := decode(t, `workspace_key_prefix = ""`, env); err != nil || c.Region != "us-west-2" ||
		c.Prefix != "" || c.WebIdentity != nil {
		t.Errorf("%+v, %v", c, err)
	}
}

// catchAll starts a proxy that records and refuses the requests to all hosts.
func catchAll(t *testing.T) (address string, seen func() []string) {
	var urls []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		urls = append(urls, r.Method+" "+r.URL.String()+r.Host)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []string { return urls }
}

// TestAddresses checks the host names of services. The program sends all requests through a proxy,
// which sees the names.
func TestAddresses(t *testing.T) {
	for name, test := range map[string]struct {
		args map[string]cty.Value
		want []string
	}{
		"usual":      {nil, []string{"b.s3.us-east-1.amazonaws.com", "dynamodb.us-east-1.amazonaws.com"}},
		"path style": {map[string]cty.Value{"use_path_style": cty.True}, []string{"s3.us-east-1.amazonaws.com"}},
		"dots":       {map[string]cty.Value{"bucket": cty.StringVal("a.b")}, []string{"s3.us-east-1.amazonaws.com"}},
		"China": {map[string]cty.Value{"region": cty.StringVal("cn-north-1")},
			[]string{"b.s3.cn-north-1.amazonaws.com.cn", "dynamodb.cn-north-1.amazonaws.com.cn"}},
		"FIPS": {map[string]cty.Value{"use_fips_endpoint": cty.True},
			[]string{"b.s3-fips.us-east-1.amazonaws.com", "dynamodb-fips.us-east-1.amazonaws.com"}},
		"dual stack": {map[string]cty.Value{"use_dualstack_endpoint": cty.True},
			[]string{"b.s3.dualstack.us-east-1.amazonaws.com", "dynamodb.us-east-1.api.aws"}},
		"Europe": {map[string]cty.Value{"region": cty.StringVal("eusc-de-east-1")},
			[]string{"b.s3.eusc-de-east-1.amazonaws.eu"}},
		"access point": {
			map[string]cty.Value{"bucket": cty.StringVal("arn:aws:s3:us-east-1:123456789012:accesspoint/ap")},
			[]string{"ap-123456789012.s3-accesspoint.us-east-1.amazonaws.com"}},
	} {
		t.Run(name, func(t *testing.T) {
			proxy, seen := catchAll(t)
			args := map[string]cty.Value{"bucket": cty.StringVal("b"), "key": cty.StringVal("k"),
				"region":     cty.StringVal("us-east-1"),
				"access_key": cty.StringVal("a"), "secret_key": cty.StringVal("s"), "max_retries": cty.Zero,
				"https_proxy": cty.StringVal(proxy), "dynamodb_table": cty.StringVal("t")}
			maps.Copy(args, test.args)
			s := open(t, args)
			_, err := s.Get(t.Context(), ws)
			_, lockErr := s.(backend.Locker).Lock(t.Context(), ws, backend.LockInfo{})
			if err == nil || lockErr == nil {
				t.Fatal("requests succeed without a server")
			}
			for _, host := range test.want {
				if !slices.ContainsFunc(seen(), func(u string) bool { return strings.Contains(u, "//"+host+":443") }) {
					t.Errorf("no request to %s: %q", host, seen())
				}
			}
		})
	}
}

func TestInvalidBuckets(t *testing.T) {
	for bucket, want := range map[string]string{
		"arn:aws:s3::123456789012:accesspoint/mrap.mrap": "is not the ARN of an access point in a region",
		"arn:aws:s3:eu-west-1:123456789012:accesspoint/ap": "the access point is in the region eu-west-1, but " +
			"the backend is configured for us-east-1",
		"states--use1-az4--x-s3":                                "is a directory bucket of S3 Express",
		"arn:aws:dynamodb:us-east-1:123456789012:table/nothing": "is not the ARN of an access point",
	} {
		_, err := tryOpen(t, map[string]cty.Value{"bucket": cty.StringVal(bucket), "key": cty.StringVal("k"),
			"region": cty.StringVal("us-east-1"), "access_key": cty.StringVal("a"), "secret_key": cty.StringVal("s")})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bucket, err, want)
		}
	}
}

// TestNoCredentials checks where the program looks for credentials, and that the message names
// these places.
func TestNoCredentials(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	args := map[string]cty.Value{"bucket": cty.StringVal("b"), "key": cty.StringVal("k"),
		"region": cty.StringVal("us-east-1")}
	check := func(want ...string) {
		t.Helper()
		_, err := tryOpen(t, args)
		diags := tfdiags.FromError(err)
		if len(diags) != 1 || diags[0].Summary != "No valid credential sources found" {
			t.Fatalf("got %v", err)
		}
		for _, w := range want {
			if !strings.Contains(diags[0].Detail, w) {
				t.Errorf("%s lacks %s", diags[0].Detail, w)
			}
		}
	}
	check("AWS_ACCESS_KEY_ID (not set)", filepath.Join(dir, "credentials")+" (doesn't exist)",
		"the EC2 metadata service (disabled by AWS_EC2_METADATA_DISABLED)")
	args["profile"] = cty.StringVal("team")
	check(`have no profile "team"`)
	config := "[profile team]\nsso_start_url = https://sso.example\nsso_region = us-east-1\nsso_account_id = " +
		"123456789012\nsso_role_name = r\n"
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	check(`the profile "team" (argument)`, "SSO")
	// The region may come from the profile. If no region is configured, the error names the
	// argument.
	delete(args, "region")
	delete(args, "profile")
	args["access_key"], args["secret_key"] = cty.StringVal("a"), cty.StringVal("s")
	if _, err := tryOpen(t, args); err == nil ||
		!strings.Contains(err.Error(), `The argument "region" is invalid: it is required`) {
		t.Error(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte("[default]\nregion = eu-west-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tryOpen(t, args); err != nil {
		t.Error(err)
	}
}

// stsServer starts a server that responds to calls of STS. calls returns the forms of all calls so
// far.
func stsServer(t *testing.T, key, secret string) (address string, calls func() []url.Values) {
	t.Helper()
	var seen []url.Values
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		form, err := url.ParseQuery(string(body))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		form.Set("signed by", strings.TrimPrefix(strings.SplitN(r.Header.Get("Authorization"), "/", 2)[0],
			"AWS4-HMAC-SHA256 Credential="))
		seen = append(seen, form)
		action := form.Get("Action")
		result := fmt.Sprintf("<Credentials><AccessKeyId>%s</AccessKeyId><SecretAccessKey>%s</SecretAccessKey>"+
			"<SessionToken></SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials>", key, secret)
		switch {
		case action == "GetCallerIdentity":
			result = "<Account>123456789012</Account>"
		case strings.HasSuffix(form.Get("RoleArn"), "/denied"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>User is not authorized to perform "+
				"sts:AssumeRole</Message></Error></ErrorResponse>")
			return
		}
		fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>", action, result)
	}))
	t.Cleanup(server.Close)
	return server.URL, func() []url.Values { return seen }
}

// TestRoles checks that roles are assumed with all arguments, and that the state is then read with
// their credentials.
func TestRoles(t *testing.T) {
	server := newStore(t)
	sts, calls := stsServer(t, server.AccessKey, server.SecretKey)
	args := arguments(server,
		map[string]cty.Value{"access_key": cty.StringVal("own"), "secret_key": cty.StringVal("key")})
	args["endpoints"] = cty.ObjectVal(map[string]cty.Value{"s3": cty.StringVal(server.S3), "sts": cty.StringVal(sts)})
	role := map[string]cty.Value{"role_arn": cty.StringVal("arn:aws:iam::123456789012:role/x"),
		"duration":    cty.StringVal("20m"),
		"external_id": cty.StringVal("ext"), "policy": cty.StringVal("{}"), "session_name": cty.StringVal("me"),
		"policy_arns":         cty.ListVal([]cty.Value{cty.StringVal("arn:p")}),
		"tags":                cty.MapVal(map[string]cty.Value{"a": cty.StringVal("b")}),
		"transitive_tag_keys": cty.ListVal([]cty.Value{cty.StringVal("a")})}
	args["assume_role"] = cty.ObjectVal(role)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("jwt"), 0o600); err != nil {
		t.Fatal(err)
	}
	args["assume_role_with_web_identity"] = cty.ObjectVal(map[string]cty.Value{
		"role_arn":                cty.StringVal("arn:aws:iam::123456789012:role/web"),
		"web_identity_token_file": cty.StringVal(token)})
	args["allowed_account_ids"] = cty.ListVal([]cty.Value{cty.StringVal("123456789012")})
	s := open(t, args)
	if _, err := s.List(t.Context()); err != nil {
		t.Error(err)
	}
	got := calls()
	if len(got) != 3 {
		t.Fatalf("%d calls: %v", len(got), got)
	}
	for name, want := range map[string]string{"Action": "AssumeRoleWithWebIdentity", "WebIdentityToken": "jwt",
		"signed by": "",
		"RoleArn":   "arn:aws:iam::123456789012:role/web"} {
		if got[0].Get(name) != want {
			t.Errorf("first call: %s is %q, want %q", name, got[0].Get(name), want)
		}
	}
	for name, want := range map[string]string{"Action": "AssumeRole", "DurationSeconds": "1200", "ExternalId": "ext",
		"Policy":          "{}",
		"RoleSessionName": "me", "PolicyArns.member.1.arn": "arn:p", "Tags.member.1.Key": "a",
		"Tags.member.1.Value":        "b",
		"TransitiveTagKeys.member.1": "a", "signed by": server.AccessKey} {
		if got[1].Get(name) != want {
			t.Errorf("second call: %s is %q, want %q", name, got[1].Get(name), want)
		}
	}
	args["forbidden_account_ids"] = args["allowed_account_ids"]
	delete(args, "allowed_account_ids")
	if _, err := tryOpen(t, args); err == nil || !strings.Contains(err.Error(),
		`"forbidden_account_ids" is invalid: the credentials belong to the AWS account 123456789012`) {
		t.Error(err)
	}
	role["role_arn"] = cty.StringVal("arn:aws:iam::123456789012:role/denied")
	args["assume_role"] = cty.ObjectVal(role)
	if _, err := tryOpen(t, args); err == nil ||
		!strings.Contains(err.Error(), "not authorized to perform sts:AssumeRole") {
		t.Error(err)
	}
}
