package statefile_test

import (
	"strings"
	"testing"

	"tofu/internal/states/statefile"
	"tofu/internal/version"
)

func TestErrors(t *testing.T) {
	resource := func(fields string) string {
		return `{"version": 4, "resources": [{"mode": "managed", "type": "a", "name": "b", "provider": ` +
			`"provider[\"x/y\"]"` + fields + `}]}`
	}
	for _, test := range []struct{ input, want string }{
		{"", "the state file is empty"},
		{"{ oops", "the state is not valid JSON (line 1, column 3): invalid character 'o' looking for beginning of " +
			"object key string"},
		{"{\n  \"version\": 4,\n  \"ser",
			"the state is not valid JSON (line 3, column 6): unexpected end of JSON input"},
		{" \n", "the state is not valid JSON (line 1, column 2): unexpected end of JSON input"},
		{`{"version": 4} more`,
			"the state is not valid JSON (line 1, column 16): invalid character 'm' after top-level value"},
		{"[]", "this is not a state file: it has no \"version\" attribute"},
		{"{}", "this is not a state file: it has no \"version\" attribute"},
		{`{"version": 0}`, `this is not a state file: its "version" is 0, not a positive whole number`},
		{`{"version": "4"}`, `this is not a state file: its "version" is "4", not a positive whole number`},
		{`{"version": 5, "resources": {}}`, "the state has format version 5, but version " + version.String +
			" of this program reads versions 1 to 4; a newer program may have written it"},
		{"tfstate binary",
			"the state is in a binary format, which Terraform supported only before version 0.7: upgrade the state " +
				"with Terraform 0.6.16 first"},
		{`{"meta": {}, "encrypted_data": "aGE="}`, statefile.ErrEncrypted.Error()},
		{`{"version": 4, "serial": -1}`, `the state has an invalid value for "serial" (line 1, column 26): -1`},
		{`{"version": 4, "resources": {}}`, `the state has an invalid value for "resources" (line 1, column 29): {}`},
		{`{"resources": [], "version": 4, "outputs": []}`,
			`the state has an invalid value for "outputs" (line 1, column 44): []`},
		{`{"version": 4, "resources": [], "outputs": {}, "resources": []}`,
			`the state has "resources" twice in one object (line 1, column 60)`},
		{resource(`, "instances": [], "m\u006fde": "data"`),
			`the state has "mode" twice in one object (line 1, column 138)`},
		{resource(`, "instances": [{"private": "", "status": "tainted", "private": ""}]`),
			`the state has "private" twice in one object (line 1, column 170)`},
		{`{"version": 4, "outputs": {"a": {"value": 1, "type": "number"}, "a": {"value": 2, "type": "number"}}}`,
			`the state has "a" twice in one object (line 1, column 69)`},
		{resource(`, "instances": [{"schema_version": 4294967296}]`),
			`the state has an invalid value for "schema_version" (line 1, column 142): 4294967296`},
		{resource(`, "instances": [{"private": "%"}]`),
			`the state has an invalid value for "private" (line 1, column 135): "%"`},
		{resource(`, "instances": [{"attributes_flat": {"a": 1}}]`),
			`the state has an invalid value for "attributes_flat" (line 1, column 143): {"a": 1}`},
		{resource(`, "instances": [{"attributes": {"a": 01}}]`),
			"the state is not valid JSON (line 1, column 145): invalid character '1' after object key:value pair"},
		{`{"version": 4, "terraform_version": "new"}`,
			`the state's "terraform_version" is "new", which is not a version number`},
		{strings.Replace(resource(""), "managed", "ghostly", 1),
			`the state has a resource a.b of the unknown mode "ghostly"`},
		{strings.Replace(resource(""), `provider[\"x/y\"]`, "terraform", 1),
			`a.b in the state: invalid provider configuration address "terraform"`},
		{strings.Replace(resource(""), `provider[\"x/y\"]`, "", 1),
			`a.b in the state has no provider, and neither do its instances`},
		{strings.Replace(resource(`, "instances": [{"attributes": {}}]`), `provider[\"x/y\"]`, "", 1),
			`a.b in the state has no provider, and neither do its instances`},
		{resource(`, "module": "modul.x"`), `the state has a resource with the invalid module address "modul.x"`},
		{resource(`, "instances": [{"index_key": true}]`),
			`a.b in the state has an instance with the invalid key true`},
		{resource(`, "instances": [{}, {}]`), `a.b is in the state twice`},
		{resource(`, "instances": [{"status": "wobbly"}]`), `a.b in the state: unknown status "wobbly"`},
		{resource(`, "instances": [{"dependencies": ["nope"]}]`), `a.b in the state: invalid dependency "nope"`},
		{resource(`, "instances": [{"deposed": "zz"}]`),
			`a.b in the state has a deposed object with the invalid key "zz"`},
		{resource(`, "instances": [{"sensitive_attributes": [[{"type": "x"}]]}]`),
			`a.b in the state: invalid sensitive_attributes: unknown step type "x"`},
		{`{"version": 4, "outputs": {"o": {"value": 1, "type": "nmbr"}}}`,
			`the state's output value "o" can't be read: invalid primitive type name "nmbr"`},
		{`{"version": 4, "outputs": {"o": {"value": "x", "type": "number"}}}`,
			`the state's output value "o" can't be read: a number is required`},
		{`{"version": 4, "outputs": {"o": {"value": [1e999999999], "type": ["list", "number"]}}}`,
			`the state's output value "o" can't be read: a number is too large or too close to zero`},
		{`{"version": 3, "modules": [{"path": ["root"], "resources": {"z": {}}}]}`,
			`the state has a resource with the invalid address "z"`},
	} {
		_, err := statefile.Parse([]byte(test.input))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got %v\nwant %s", test.input, err, test.want)
		}
	}
}
