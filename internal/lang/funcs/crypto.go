package funcs

import (
	"crypto/md5"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/gocty"
	"golang.org/x/crypto/bcrypt"
	"golang.org/x/crypto/ssh"

	"tofu/internal/limits"
)

var (
	md5Func          = hashFunc("md5", "MD5", md5.New, hex.EncodeToString)
	sha1Func         = hashFunc("sha1", "SHA1", sha1.New, hex.EncodeToString)
	sha256Func       = hashFunc("sha256", "SHA256", sha256.New, hex.EncodeToString)
	sha512Func       = hashFunc("sha512", "SHA512", sha512.New, hex.EncodeToString)
	base64sha256Func = hashFunc("base64sha256", "SHA256", sha256.New, base64.StdEncoding.EncodeToString)
	base64sha512Func = hashFunc("base64sha512", "SHA512", sha512.New, base64.StdEncoding.EncodeToString)

	filemd5Func          = fileHashFunc("filemd5", "MD5", md5.New, hex.EncodeToString)
	filesha1Func         = fileHashFunc("filesha1", "SHA1", sha1.New, hex.EncodeToString)
	filesha256Func       = fileHashFunc("filesha256", "SHA256", sha256.New, hex.EncodeToString)
	filesha512Func       = fileHashFunc("filesha512", "SHA512", sha512.New, hex.EncodeToString)
	filebase64sha256Func = fileHashFunc("filebase64sha256", "SHA256", sha256.New, base64.StdEncoding.EncodeToString)
	filebase64sha512Func = fileHashFunc("filebase64sha512", "SHA512", sha512.New, base64.StdEncoding.EncodeToString)
)

// hashFunc returns a function that hashes a string. The string is in Unicode normalization form C,
// like all strings in the language.
func hashFunc(name, algorithm string, newHash func() hash.Hash, encode func([]byte) string) function.Function {
	return stringFunc(
		fmt.Sprintf("`%s` computes the %s hash of a string in UTF-8, encoded in %s.", name, algorithm, form(name)),
		"str", "The string.",
		func(s string) (string, error) {
			h := newHash()
			io.WriteString(h, s) // never fails
			return encode(h.Sum(nil)), nil
		})
}

// fileHashFunc is like hashFunc, but hashes the bytes of a file, which need not be text.
func fileHashFunc(name, algorithm string, newHash func() hash.Hash,
	encode func([]byte) string) func(*binding) function.Function {
	desc := fmt.Sprintf("`%s` computes the %s hash of a file, encoded in %s.", name, algorithm, form(name))
	return func(b *binding) function.Function {
		return pathFunc(desc, cty.String, func(path shownPath) (cty.Value, error) {
			f, err := b.open(path) // read in parts, because the file may be larger than the memory
			if err != nil {
				return cty.NilVal, err
			}
			defer f.Close()
			var from io.Reader = f
			if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() {
				from = io.LimitReader(f, limits.Size+1) // a device may be endless
			}
			h := newHash()
			n, err := io.Copy(h, from)
			switch {
			case err != nil:
				return cty.NilVal, path.failed("cannot read", err)
			case from != f && n > limits.Size:
				return cty.NilVal, fmt.Errorf("%s is not a regular file and has more than %d MB", path, limits.Size>>20)
			}
			return cty.StringVal(encode(h.Sum(nil))), nil
		})
	}
}

// form returns the encoding of a hash function's result.
func form(name string) string {
	if strings.Contains(name, "base64") {
		return "Base64"
	}
	return "hexadecimal"
}

// bcryptFunc uses a random salt. A cost below the minimum becomes the default.
var bcryptFunc = function.New(&function.Spec{
	Description: "`bcrypt` computes a hash of a string with the Blowfish cipher. Each call returns a different hash.",
	Params: []function.Parameter{
		{Name: "str", Type: cty.String, Description: "The string, of at most 72 bytes."},
	},
	VarParam: &function.Parameter{
		Name: "cost", Type: cty.Number, Description: "The cost; the default is 10.",
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		cost := bcrypt.DefaultCost
		if len(args) > 2 {
			return cty.NilVal, function.NewArgErrorf(2, "only one cost is allowed")
		}
		if len(args) == 2 {
			if err := gocty.FromCtyValue(args[1], &cost); err != nil {
				return cty.NilVal, function.NewArgError(1, err)
			}
		}
		if cost > maxCost {
			return cty.NilVal, function.NewArgErrorf(1,
				"must be at most %d, because each increment doubles the time", maxCost)
		}
		h, err := bcrypt.GenerateFromPassword([]byte(args[0].AsString()), cost)
		if err != nil {
			return cty.NilVal, function.NewArgError(0, err)
		}
		return cty.StringVal(string(h)), nil
	},
})

// rsadecryptFunc accepts private keys in the formats PKCS #1, PKCS #8 and OpenSSH.
var rsadecryptFunc = function.New(&function.Spec{
	Description: "`rsadecrypt` decrypts a ciphertext encrypted with RSA and PKCS #1 v1.5 padding.",
	Params: []function.Parameter{
		{Name: "ciphertext", Type: cty.String, Description: "The ciphertext, in Base64."},
		{Name: "privatekey", Type: cty.String, Description: "The private RSA key, unencrypted, in PEM format."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ciphertext, err := base64.StdEncoding.DecodeString(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, errNotBase64)
		}
		parsed, err := ssh.ParseRawPrivateKey([]byte(args[1].AsString()))
		if _, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
			return cty.NilVal, function.NewArgErrorf(1, "the key is encrypted with a passphrase; decrypt it first")
		}
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(1, "must be an unencrypted private key in PEM format")
		}
		key, ok := parsed.(*rsa.PrivateKey)
		if !ok {
			return cty.NilVal, function.NewArgErrorf(1, "the key is not an RSA key")
		}
		//lint:ignore SA1019 the language promises this padding; whoever can see the result of a run has the key anyway
		text, err := rsa.DecryptPKCS1v15(nil, key, ciphertext)
		if err != nil {
			return cty.NilVal, fmt.Errorf("failed to decrypt: %w", err)
		}
		return cty.StringVal(string(text)), nil
	},
})

var uuidFunc = function.New(&function.Spec{
	Description:  "`uuid` returns a random UUID. Each call returns a different UUID.",
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func([]cty.Value, cty.Type) (cty.Value, error) {
		id, err := uuid.NewRandom()
		if err != nil {
			return cty.NilVal, err
		}
		return cty.StringVal(id.String()), nil
	},
})

// uuidNamespaces maps the names of RFC 4122's namespaces to their UUIDs.
var uuidNamespaces = map[string]uuid.UUID{
	"dns":  uuid.NameSpaceDNS,
	"url":  uuid.NameSpaceURL,
	"oid":  uuid.NameSpaceOID,
	"x500": uuid.NameSpaceX500,
}

var uuidv5Func = function.New(&function.Spec{
	Description: "`uuidv5` returns the UUID of a name in a namespace, as RFC 4122 defines it.",
	Params: []function.Parameter{
		{Name: "namespace", Type: cty.String, Description: "A UUID, or dns, url, oid or x500."},
		{Name: "name", Type: cty.String, Description: "The name."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		ns, ok := uuidNamespaces[args[0].AsString()]
		if !ok {
			var err error
			ns, err = uuid.Parse(args[0].AsString())
			if err != nil {
				return cty.NilVal, errors.New("the namespace must be a UUID, or one of dns, url, oid and x500")
			}
		}
		return cty.StringVal(uuid.NewSHA1(ns, []byte(args[1].AsString())).String()), nil
	},
})
