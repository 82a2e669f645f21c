package encryption_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/encryption"
	"tofu/internal/encryption/all"
	"tofu/internal/states/statefile"
	"tofu/internal/tfdiags"
)

// TestMain lets the test binary act as an external program that encrypts or provides keys.
func TestMain(m *testing.M) {
	if role := os.Getenv("ENCRYPTION_TEST_PROGRAM"); role != "" {
		program(role)
		return
	}
	os.Exit(m.Run())
}

func program(role string) {
	var input map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&input); err != nil {
		panic(err)
	}
	answer := func(magic string, v any) {
		_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"magic": magic, "version": 1})
		_ = json.NewEncoder(os.Stdout).Encode(v)
	}
	switch role {
	case "keys":
		keys := map[string]any{
			"encryption_key": []byte("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10")}
		if input != nil {
			keys["decryption_key"] = keys["encryption_key"]
		}
		answer("OpenTofu-External-Key-Provider",
			map[string]any{"keys": keys, "meta": map[string]any{"external_data": map[string]any{}}})
	case "xor":
		var data struct{ Payload []byte }
		text, _ := json.Marshal(input)
		_ = json.Unmarshal(text, &data)
		for i := range data.Payload {
			data.Payload[i] ^= 0x55
		}
		answer("OpenTofu-External-Encryption-Method", map[string]any{"payload": data.Payload})
	case "mute":
		answer("Something-Else", nil)
	case "broken":
		os.Stderr.WriteString("the token has expired")
		os.Exit(3)
	}
}

// load loads a configuration from the content of encryption blocks. It replaces @PROGRAM@ with the
// test binary, and defines local.pass.
func load(t *testing.T, env string, bodies ...string) (*encryption.Config, error) {
	t.Helper()
	src := &encryption.Source{Env: env, Getenv: func(string) string { return "" }, Registry: all.Registry()}
	for _, text := range bodies {
		f, diags := hclsyntax.ParseConfig([]byte(strings.ReplaceAll(text, "@PROGRAM@", os.Args[0])), "main.tf",
			hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if err := configs.CheckEncryption(f.Body); err != nil {
			return nil, err
		}
		src.Blocks = append(src.Blocks, &hcl.Block{Body: f.Body, DefRange: f.Body.MissingItemRange()})
	}
	ctx := &hcl.EvalContext{Variables: map[string]cty.Value{
		"local": cty.ObjectVal(map[string]cty.Value{"pass": cty.StringVal("correct horse battery").Mark("sensitive")})}}
	src.Eval = func(expr hcl.Expression, want cty.Type) (cty.Value, error) {
		v, diags := expr.Value(ctx)
		if diags.HasErrors() {
			return v, tfdiags.FromHCL(diags).Err()
		}
		v, err := convert.Convert(v, want)
		if err != nil {
			return v, tfdiags.Errorf("Invalid value", "%s", err).At(expr.Range())
		}
		return v, nil
	}
	return encryption.Load(src)
}

func mustLoad(t *testing.T, env string, bodies ...string) *encryption.Config {
	t.Helper()
	c, err := load(t, env, bodies...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	passphrase = `
		key_provider "pbkdf2" "main" {
			passphrase = local.pass
			iterations = 200000
		}
		method "aes_gcm" "main" {
			keys = key_provider.pbkdf2.main
		}
	`
	other = `
		key_provider "pbkdf2" "other" {
			passphrase = "quite another horse"
			iterations = 200000
		}
		method "aes_gcm" "other" {
			keys = key_provider.pbkdf2.other
		}
	`
	open = `
		method "unencrypted" "open" {}
	`
	state = `{"version":4,"terraform_version":"1.12.6","serial":7,"lineage":"l","outputs":{},"resources":[],` +
		`"check_results":null}`
)

// TestFilesOfOpenTofu checks that files written by OpenTofu 1.12.6 can be decrypted.
func TestFilesOfOpenTofu(t *testing.T) {
	bao := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct{ Ciphertext string }
		if r.URL.Path != "/v1/my/transit/decrypt/my-key" || r.Header.Get("X-Vault-Token") != "tok" ||
			json.NewDecoder(r.Body).Decode(&q) != nil {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{
			"data": map[string]any{"plaintext": strings.TrimPrefix(q.Ciphertext, "vault:v1:")}})
	}))
	defer bao.Close()
	for file, test := range map[string]struct{ program, config string }{
		"pbkdf2.tfstate": {"", strings.Replace(passphrase, "iterations = 200000", "", 1) + `
			state {
				method = method.aes_gcm.main
			}`},
		"chain.tfstate": {"keys", `
			key_provider "external" "e" {
				command = ["@PROGRAM@"]
			}
			key_provider "pbkdf2" "renamed" {
				chain                    = key_provider.external.e
				key_length               = 16
				hash_function            = "sha256"
				iterations               = 200000
				salt_length              = 8
				encrypted_metadata_alias = "ali"
			}
			method "aes_gcm" "main" {
				keys = key_provider.pbkdf2.renamed
				aad  = [1, 2, 3]
			}
			state {
				method = method.aes_gcm.main
			}`},
		"pbkdf2-chain.tfstate": {"", `
			key_provider "pbkdf2" "a" {
				passphrase = "a long enough passphrase"
			}
			key_provider "pbkdf2" "k" {
				chain         = key_provider.pbkdf2.a
				hash_function = "sha256"
				key_length    = 24
			}
			method "aes_gcm" "m" {
				keys = key_provider.pbkdf2.k
			}
			state {
				method = method.aes_gcm.m
			}`},
		"external.tfstate": {"keys", `
			key_provider "external" "k" {
				command = ["@PROGRAM@"]
			}
			method "aes_gcm" "m" {
				keys = key_provider.external.k
				aad  = [1, 2]
			}
			state {
				method = method.aes_gcm.m
			}`},
		"external-method.tfstate": {"xor", `
			method "external" "m" {
				encrypt_command = ["@PROGRAM@", "e"]
				decrypt_command = ["@PROGRAM@", "d"]
			}
			state {
				method = method.external.m
			}`},
		"openbao.tfstate": {"", `
			key_provider "openbao" "b" {
				key_name            = "my-key"
				token               = "tok"
				address             = "` + bao.URL + `"
				transit_engine_path = "/my/transit"
				key_length          = 16
			}
			method "aes_gcm" "main" {
				keys = key_provider.openbao.b
			}
			state {
				method = method.aes_gcm.main
			}`},
	} {
		t.Run(file, func(t *testing.T) {
			t.Setenv("ENCRYPTION_TEST_PROGRAM", test.program)
			data, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			target := mustLoad(t, "", test.config).State()
			plain, migrate, err := target.Decrypt(t.Context(), data)
			if err != nil || migrate {
				t.Fatalf("migrate %v, %v", migrate, err)
			}
			f, err := statefile.Parse(plain)
			if err != nil || len(f.State.Sorted()) != 1 {
				t.Fatalf("%v\n%s", err, plain)
			}
			if strings.HasPrefix(file, "openbao") {
				return // this test server creates no keys
			}
			again, err := target.Encrypt(plain)
			if err != nil {
				t.Fatal(err)
			}
			var theirs, ours map[string]any
			if err := json.Unmarshal(data, &theirs); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(again, &ours); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"serial", "lineage", "encryption_version"} {
				if ours[key] != theirs[key] {
					t.Errorf("%s is %v, was %v", key, ours[key], theirs[key])
				}
			}
			if len(ours) != len(theirs) || len(ours["meta"].(map[string]any)) != len(theirs["meta"].(map[string]any)) {
				t.Errorf("ours has another form: %s", again)
			}
		})
	}
	data, err := os.ReadFile("testdata/pbkdf2.tfplan")
	if err != nil {
		t.Fatal(err)
	}
	plain, _, err := mustLoad(t, "", passphrase+`
		plan {
			method = method.aes_gcm.main
		}`).Plan().Decrypt(t.Context(), data)
	if err != nil || !bytes.HasPrefix(plain, []byte("PK")) {
		t.Errorf("the plan: %v", err)
	}
}

// TestRollover checks the steps from clear text to a key, from this key to another one, and back to
// clear text.
func TestRollover(t *testing.T) {
	use := func(methods ...string) *encryption.Target {
		t.Helper()
		text := "method = method." + methods[len(methods)-1] + "\n"
		for i := len(methods) - 2; i >= 0; i-- {
			text = "method = method." + methods[i] + "\nfallback {\n" + text + "}\n"
		}
		return mustLoad(t, "", passphrase+other+open+"state {\n"+text+"}").State()
	}
	data := []byte(state)
	step := func(target *encryption.Target, wantMigrate bool, problem string) {
		t.Helper()
		plain, migrate, err := target.Decrypt(t.Context(), data)
		if problem != "" {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Fatalf("got %v, want %s", err, problem)
			}
			return
		}
		if err != nil || string(plain) != state || migrate != wantMigrate {
			t.Fatalf("migrate %v, %v: %s", migrate, err, plain)
		}
		data, err = target.Encrypt(plain)
		if err != nil {
			t.Fatal(err)
		}
	}
	step(use("aes_gcm.main"), false, "method.aes_gcm.main: it isn't encrypted")
	step(use("aes_gcm.main", "unencrypted.open"), true, "")
	if !encryption.IsEncrypted(data) || encryption.IsEncrypted([]byte(state)) ||
		bytes.Contains(data, []byte("check_results")) || !bytes.Contains(data, []byte(`{"serial":7,"lineage":"l",`)) {
		t.Fatalf("%s", data)
	}
	step(use("aes_gcm.main", "unencrypted.open"), false, "")
	step(use("aes_gcm.other"), false, "it was encrypted with other key providers (key_provider.pbkdf2.main)")
	step(use("aes_gcm.other", "aes_gcm.main"), true, "")
	step(use("aes_gcm.other"), false, "")
	step(use("unencrypted.open"), false, "method.unencrypted.open: it is encrypted")
	step(use("unencrypted.open", "aes_gcm.main", "aes_gcm.other"), true, "")
	if string(data) != state {
		t.Errorf("back in clear text: %s", data)
	}
}

func TestChangedParametersAreTakenOver(t *testing.T) {
	with := func(iterations string) *encryption.Target {
		return mustLoad(t, "", strings.Replace(other, "200000", iterations, 1)+`
			state {
				method = method.aes_gcm.other
			}`).State()
	}
	data, err := with("200000").Encrypt([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	if _, migrate, err := with("200001").Decrypt(t.Context(), data); !migrate || err != nil {
		t.Errorf("more iterations: migrate %v, %v", migrate, err)
	}
}

// TestReusedKeys checks that data is encrypted with the most frequent key of the data that was
// read, if this key may be used again.
func TestReusedKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("takes several seconds")
	}
	t.Setenv("ENCRYPTION_TEST_PROGRAM", "keys")
	const use = "state {\nmethod = method.aes_gcm.main\n}"
	chained := func(source, first string) string {
		return first + `
			key_provider "pbkdf2" "second" {
				chain      = key_provider.` + source + `
				iterations = 200000
			}
			method "aes_gcm" "main" {
				keys = key_provider.pbkdf2.second
			}
		` + use
	}
	config := passphrase + use
	encrypt := func(target *encryption.Target) (data []byte, meta string) {
		t.Helper()
		data, err := target.Encrypt([]byte(state))
		if err != nil {
			t.Fatal(err)
		}
		var w struct{ Meta json.RawMessage }
		if err := json.Unmarshal(data, &w); err != nil {
			t.Fatal(err)
		}
		if plain, migrate, err := target.Decrypt(t.Context(), data); err != nil || migrate || string(plain) != state {
			t.Fatalf("migrate %v, %v: %s", migrate, err, plain)
		}
		return data, string(w.Meta)
	}
	after := func(config string, all ...[]byte) *encryption.Target { // returns a new target that has read all
		t.Helper()
		target := mustLoad(t, "", config).State()
		for _, data := range all {
			if _, _, err := target.Decrypt(t.Context(), data); err != nil {
				t.Fatal(err)
			}
		}
		return target
	}
	a, metaA := encrypt(after(config))
	b, metaB := encrypt(after(config))
	if metaA == metaB {
		t.Fatal("two keys have one salt")
	}
	for _, all := range [][][]byte{{a}, {a, a, b}, {b, a, a}} {
		if _, meta := encrypt(after(config, all...)); meta != metaA {
			t.Errorf("of %d documents the key isn't the most frequent one", len(all))
		}
	}
	if _, meta := encrypt(after(config, b)); meta != metaB {
		t.Error("the key that was read isn't used again")
	}
	_, ab := encrypt(after(config, a, b))
	if _, ba := encrypt(after(config, b, a)); ab != ba || ab != metaA && ab != metaB {
		t.Error("of two equally frequent keys, the order of reading decides")
	}

	// Data that is read later doesn't change the encryption key of a process.
	target := after(config)
	_, before := encrypt(target)
	if _, _, err := target.Decrypt(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if _, meta := encrypt(target); meta != before {
		t.Error("the key has changed within a process")
	}

	// Keys with other parameters, keys of fallbacks, and keys of data that can't be decrypted are
	// not used.
	damaged := bytes.Clone(a)
	if c := &damaged[bytes.Index(a, []byte(`encrypted_data":"`))+30]; *c == 'A' {
		*c = 'B'
	} else {
		*c = 'A'
	}
	target = after(config)
	if _, _, err := target.Decrypt(t.Context(), damaged); err == nil {
		t.Error("damaged data was decrypted")
	}
	fallback := passphrase + `
		method "aes_gcm" "new" {
			keys = key_provider.pbkdf2.main
			aad  = [1]
		}
		state {
			method = method.aes_gcm.new
			fallback {
				method = method.aes_gcm.main
			}
		}`
	for name, target := range map[string]*encryption.Target{"damaged data": target,
		"other iterations":  after(strings.Replace(config, "200000", "200001", 1), a),
		"another salt size": after(strings.Replace(config, "200000", "200000\nsalt_length = 16", 1), a),
		"a fallback":        after(fallback, a)} {
		if _, meta := encrypt(target); meta == metaA {
			t.Errorf("%s: its key is used again", name)
		}
	}

	// A chain of key providers is reused as a whole, unless one of them always creates new keys.
	for config, reused := range map[string]bool{
		chained("pbkdf2.first", `
			key_provider "pbkdf2" "first" {
				passphrase = local.pass
				iterations = 200000
			}`): true,
		chained("external.first", `
			key_provider "external" "first" {
				command = ["@PROGRAM@"]
			}`): false,
	} {
		data, meta := encrypt(after(config))
		if _, again := encrypt(after(config, data)); (again == meta) != reused {
			t.Errorf("reused is %v, want %v:\n%s", !reused, reused, config)
		}
	}
}

func TestDamage(t *testing.T) {
	target := mustLoad(t, "", other+`
		state {
			method = method.aes_gcm.other
		}`).State()
	good, err := target.Encrypt([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	var w map[string]any
	change := func(f func()) []byte {
		if err := json.Unmarshal(good, &w); err != nil {
			t.Fatal(err)
		}
		f()
		out, _ := json.Marshal(w)
		return out
	}
	for want, data := range map[string][]byte{
		`the key or "aad" is wrong, or the data was changed`: change(func() {
			w["encrypted_data"] = "AAAA" +
				w["encrypted_data"].(string)[4:]
		}),
		"the encrypted data is truncated": change(func() { w["encrypted_data"] = "AAAA" }),
		"it is damaged: ":                 change(func() { w["encrypted_data"] = 7 }),
		`in the format "v1"`:              change(func() { w["encryption_version"] = "v1" }),
		"its metadata is damaged": change(func() {
			w["meta"] = map[string]string{
				"key_provider.pbkdf2.other": "e30="}
		}),
		// The error must be found without deriving the key, which would take more than a minute.
		"must be 16, 24 or 32 bytes, not 33": change(func() {
			w["meta"] = map[string]string{"key_provider.pbkdf2.other": base64.StdEncoding.EncodeToString(
				[]byte(`{"salt":"AA==","iterations":90000000,"hash_function":"sha512","key_length":33}`))}
		}),
		"encrypted without a key provider": change(func() { w["meta"] = nil }),
	} {
		if _, _, err := target.Decrypt(t.Context(), data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		if !encryption.IsEncrypted(data) {
			t.Errorf("not recognized as encrypted: %s", data)
		}
	}
	for n := range good {
		if _, _, err := target.Decrypt(t.Context(), good[:n]); err == nil {
			t.Fatalf("the first %d bytes are decrypted", n)
		}
	}
}

func TestEnvironment(t *testing.T) {
	for name, env := range map[string]string{
		"native": other + `
			method "aes_gcm" "main" {
				keys = key_provider.pbkdf2.other
			}`,
		"json": `{"key_provider": {"pbkdf2": {"main": {"passphrase": "quite another horse", "iterations": 200000, ` +
			`"encrypted_metadata_alias": "key_provider.pbkdf2.other"}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			config := passphrase + `
				state {
					enforced = true
					method   = method.aes_gcm.main
				}`
			data, err := mustLoad(t, env, config).State().Encrypt([]byte(state))
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := mustLoad(t, "",
				other+"state {\nmethod = method.aes_gcm.other\n}").State().Decrypt(t.Context(), data); err != nil {
				t.Errorf("the variable's settings aren't used: %v", err)
			}
		})
	}
	whole := mustLoad(t, other+"state {\nmethod = method.aes_gcm.other\n}", "state {\nenforced = true\n}")
	if whole.State() == nil || whole.Plan() != nil {
		t.Error("the method isn't taken from the variable")
	}
	if c := mustLoad(t, " \n"); c.State() != nil || c.Plan() != nil {
		t.Error("a blank variable configures something")
	}
}

func TestRemote(t *testing.T) {
	c := mustLoad(t, "", passphrase+other+open+`
		remote_state_data_sources {
			default {
				method = method.aes_gcm.main
			}
			remote_state_data_source "plain" {
				method = method.unencrypted.open
			}
			remote_state_data_source "m.x[0]" {
				method = method.aes_gcm.other
			}
		}`)
	find := func(text string) *encryption.Target {
		addr, err := addrs.ParseInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
		return c.Remote(addr)
	}
	data, err := find("module.m.data.terraform_remote_state.x[0]").Encrypt([]byte(state))
	if err != nil || !strings.Contains(string(data), "key_provider.pbkdf2.other") {
		t.Errorf("%s, %v", data, err)
	}
	if find("data.terraform_remote_state.a") != find("module.m.data.terraform_remote_state.x[1]") {
		t.Error("the default isn't used")
	}
	if _, _, err := find("data.terraform_remote_state.plain[3]").Decrypt(t.Context(), []byte(state)); err != nil {
		t.Error(err)
	}
}

func TestLoadErrors(t *testing.T) {
	use := "\nstate {\nmethod = method.aes_gcm.x\n}"
	keys := func(typ, args string) string {
		return "key_provider \"" + typ + "\" \"k\" {\n" +
			args + "\n}\nmethod \"aes_gcm\" \"x\" {\nkeys = key_provider." + typ + ".k\n}" + use
	}
	fixed := func(encryption, decryption string) string {
		return "method \"aes_gcm\" \"x\" {\nkeys = { encryption_key = " + encryption + ", decryption_key = " +
			decryption + " }\n}" + use
	}
	for config, want := range map[string]string{
		`method "rot13" "x" {}` + strings.Replace(use, "aes_gcm", "rot13",
			1): `There is no encryption method "rot13". Use one of: aes_gcm, external, unencrypted.`,
		use:                             `There is no block method "aes_gcm" "x"`,
		`method "aes_gcm" "x" {}` + use: `The method needs keys`,
		"method \"aes_gcm\" \"x\" {\nkeys = key_provider.pbkdf2.k\n}" +
			use: `There is no block key_provider "pbkdf2" "k"`,
		"method \"aes_gcm\" \"x\" {\nkeys = 5\n}" + use: "object required",
		"method \"aes_gcm\" \"x\" {\nkeys = null\n}" +
			use: "A reference to a key provider, key_provider.TYPE.NAME, or an object",
		fixed(`[1, 256]`, `[1]`): `"encryption_key" must be a list of ` +
			`bytes: numbers from 0 to 255`,
		fixed(`[1]`, `[1.5]`): `"decryption_key" must be a list of ` +
			`bytes: numbers from 0 to 255`,
		fixed(`[1]`, `[null]`): `"decryption_key" must be a list of ` +
			`bytes: numbers from 0 to 255`,
		keys("pbkdf2", `passphrase = "short"`): "key_provider.pbkdf2.k: the passphrase " +
			"is too short: at least 16 characters are needed",
		keys("pbkdf2", ``): "it needs a passphrase, or a chain",
		keys("pbkdf2", "passphrase = local.pass\niterations = 1"):           `"iterations" must be 200000 or more`,
		keys("pbkdf2", "passphrase = local.pass\nhash_function = \"sha1\""): `must be sha256 or sha512`,
		keys("pbkdf2",
			"passphrase = local.pass\nfoo = 1"): `An argument named "foo" is not expected here`,
		keys("pbkdf2", "chain = key_provider.pbkdf2.k"): `chained to itself`,
		keys("pbkdf2", "passphrase = local.nope"):       `does not have an attribute named "nope"`,
		keys("stone", ""):                                   `There is no key provider "stone"`,
		keys("external", "command = []"):                    `"command" must name a program`,
		keys("external", ""):                                `"command" is invalid: it is required`,
		keys("openbao", "key_name = \"x\"\nkey_length = 5"): `"key_length" must be 16, 32 or 64`,
		"state {\nenforced = true\n}":                       `The encryption of the state needs a method`,
		open + "state {\nenforced = true\nmethod = method.unencrypted.open\n}": `The state must be encrypted, because ` +
			`"enforced" is set, but method.unencrypted.open is one of its methods`,
		open + "plan {\nmethod = \"x\"\n}": `A reference to a method block is needed here`,
		open + open:                        `already has the block "method.unencrypted.open" at main.tf:2`,
		open + "state {\nmethod = method.unencrypted.open\nfallback {\n}\n}": `needs a method in each block`,
		"states {}": `Blocks of type "states" are not expected here`,
	} {
		_, err := load(t, "", config)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n got %v\nwant %s", config, err, want)
			continue
		}
		if tfdiags.FromError(err)[0].Subject == nil {
			t.Errorf("no place for %v", err)
		}
		if strings.Contains(err.Error(), "horse") {
			t.Errorf("a secret in an error: %v", err)
		}
	}
	// An error in a key provider or method is reported once, even if several targets use it.
	for _, config := range []string{keys("pbkdf2", `passphrase = "short"`), keys("stone", ""),
		`method "aes_gcm" "x" {}` + use} {
		if _, err := load(t, "", config+strings.Replace(use, "state", "plan", 1)); len(tfdiags.FromError(err)) != 1 {
			t.Errorf("%s\n %v", config, err)
		}
	}
	duplicate := `already has the block "method.unencrypted.open" at TF_ENCRYPTION:2`
	if _, err := load(t, open+open); err == nil || !strings.Contains(err.Error(), duplicate) {
		t.Errorf("two methods of one name in the variable: %v", err)
	}
	if _, err := load(t, "key_provider {"); err == nil || !strings.Contains(err.Error(), "TF_ENCRYPTION:1") {
		t.Errorf("a bad variable: %v", err)
	}
	// Unused key providers and methods may be invalid.
	mustLoad(t, "", `key_provider "pbkdf2" "k" {
			passphrase = "short"
			foo        = 1
		}
		method "rot13" "x" {}`)
}

func TestProgramsThatFail(t *testing.T) {
	target := mustLoad(t, "", `
		method "external" "m" {
			encrypt_command = ["@PROGRAM@"]
			decrypt_command = ["./no/such/program"]
		}
		state {
			method = method.external.m
		}`).State()
	for role, want := range map[string]string{
		"mute":   `doesn't start with the line {"magic":"OpenTofu-External-Encryption-Method","version":1}`,
		"broken": "exit status 3: the token has expired",
	} {
		t.Setenv("ENCRYPTION_TEST_PROGRAM", role)
		if _, err := target.Encrypt([]byte(state)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", role, err)
		}
	}
	t.Setenv("ENCRYPTION_TEST_PROGRAM", "xor")
	data, err := target.Encrypt([]byte(state))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := target.Decrypt(t.Context(), data); err == nil ||
		!strings.Contains(err.Error(), "./no/such/program failed") {
		t.Error(err)
	}
}

func FuzzDecrypt(f *testing.F) {
	for _, name := range []string{"external-method.tfstate", "openbao.tfstate"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(state))
	f.Fuzz(func(t *testing.T, data []byte) {
		target := mustLoad(t, "", `
			method "aes_gcm" "m" {
				keys = { encryption_key = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16] }
			}
			method "unencrypted" "open" {}
			state {
				method = method.aes_gcm.m
				fallback {
					method = method.unencrypted.open
				}
			}`).State()
		if plain, migrate, err := target.Decrypt(t.Context(), data); err == nil &&
			(!migrate || !bytes.Equal(plain, data)) {
			t.Errorf("decrypted without the key: %q", plain)
		}
		sealed, err := target.Encrypt(data)
		if err != nil {
			t.Fatal(err)
		}
		if plain, migrate, err := target.Decrypt(t.Context(), sealed); err != nil || migrate ||
			!bytes.Equal(plain, data) {
			t.Errorf("%q comes back as %q, %v, %v", data, plain, migrate, err)
		}
	})
}
