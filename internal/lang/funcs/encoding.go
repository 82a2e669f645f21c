package funcs

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"unicode/utf8"

	yaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/ianaindex"

	"tofu/internal/lang/jsonvalue"
)

var (
	csvdecodeFunc = withDescriptions(stdlib.CSVDecodeFunc,
		"`csvdecode` parses comma-separated values and returns a list of objects. The first line contains the "+
			"attribute names.",
		"The CSV text.")
	jsondecodeFunc = withDescriptions(withSizeCheck(jsonDecode, jsonSize, nil),
		"`jsondecode` parses a string as JSON and returns the value.",
		"The JSON text.")
	jsonencodeFunc = withDescriptions(stdlib.JSONEncodeFunc,
		"`jsonencode` encodes a value as JSON.",
		"The value.")
	yamldecodeFunc = withDescriptions(withSizeCheck(yaml.YAMLDecodeFunc, yamlSize, nil),
		"`yamldecode` parses a string as a subset of YAML and returns the value.",
		"The YAML text, a single document.")
	yamlencodeFunc = withDescriptions(yaml.YAMLEncodeFunc,
		"`yamlencode` encodes a value as YAML 1.2 in block style.",
		"The value.")
)

// jsonDecode is like stdlib.JSONDecodeFunc, but reads the document once.
var jsonDecode = function.New(&function.Spec{
	Params: stdlib.JSONDecodeFunc.Params(),
	Type: func(args []cty.Value) (cty.Type, error) {
		return typeOf(args, stdlib.JSONDecodeFunc.ReturnTypeForValues)
	},
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return jsonvalue.Decode(args[0].AsString()) },
})

// stringFunc returns a function that maps a string to a string.
func stringFunc(desc, param, paramDesc string, impl func(string) (string, error)) function.Function {
	return function.New(&function.Spec{
		Description:  desc,
		Params:       []function.Parameter{{Name: param, Type: cty.String, Description: paramDesc}},
		Type:         function.StaticReturnType(cty.String),
		RefineResult: notNull,
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			s, err := impl(args[0].AsString())
			return cty.StringVal(s), err
		},
	})
}

// Errors of the decoders. They don't contain the text that was decoded, because it may be long or
// secret.
var (
	errNotBase64 = errors.New("the text is not valid Base64, standard alphabet with padding")
	errNotUTF8   = errors.New("the decoded data is not valid UTF-8 text")
	errNotGzip   = errors.New("the decoded data is not valid gzip data, or is incomplete")
	errLargeGzip = fmt.Errorf("the decompressed data has more than %d bytes", maxText)
)

// The functions whose names start with base64 accept and return text. base64decode rejects other
// bytes, because the language would normalize them to NFC. Like that of OpenTofu, base64gunzip
// returns them, so that they can be hashed or encoded again. In outputs and states, each byte that
// is not UTF-8 is then replaced with U+FFFD.

var base64encodeFunc = stringFunc(
	"`base64encode` encodes a string in UTF-8 as Base64.",
	"str", "The string.",
	func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil })

var base64decodeFunc = stringFunc(
	"`base64decode` decodes a Base64 string. The decoded data must be UTF-8 text.",
	"str", "The Base64 text.",
	func(s string) (string, error) {
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return "", errNotBase64
		}
		if !utf8.Valid(data) {
			return "", errNotUTF8
		}
		return string(data), nil
	})

var base64gzipFunc = stringFunc(
	"`base64gzip` compresses a string in UTF-8 with gzip and encodes the result as Base64.",
	"str", "The string.",
	func(s string) (string, error) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, s); err != nil {
			return "", err
		}
		// This flush adds bytes to the output. It must stay, because results stored in states
		// contain them.
		if err := w.Flush(); err != nil {
			return "", err
		}
		if err := w.Close(); err != nil {
			return "", err
		}
		return base64.StdEncoding.EncodeToString(b.Bytes()), nil
	})

var base64gunzipFunc = stringFunc(
	"`base64gunzip` decodes a Base64 string and decompresses the result with gzip.",
	"str", "The Base64 text.",
	func(s string) (string, error) {
		data, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return "", errNotBase64
		}
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return "", errNotGzip
		}
		text, err := io.ReadAll(io.LimitReader(r, maxText+1))
		if err != nil {
			return "", errNotGzip
		}
		if len(text) > maxText {
			return "", errLargeGzip
		}
		return string(text), nil
	})

var urlencodeFunc = stringFunc(
	"`urlencode` escapes a string for use in the query part of a URL.",
	"str", "The string.",
	func(s string) (string, error) { return url.QueryEscape(s), nil })

var urldecodeFunc = stringFunc(
	"`urldecode` decodes a string with percent-encoded characters.",
	"str", "The encoded text.",
	func(s string) (string, error) {
		text, err := url.QueryUnescape(s)
		if err != nil {
			return "", errors.New("a percent sign is not followed by two hexadecimal digits")
		}
		return text, nil
	})

// textencodebase64 and textdecodebase64 handle text in other encodings as Base64.

var textencodebase64Func = function.New(&function.Spec{
	Description: "`textencodebase64` converts a string to a given character encoding and encodes the result as Base64.",
	Params: []function.Parameter{
		{Name: "string", Type: cty.String, Description: "The string."},
		{Name: "encoding", Type: cty.String, Description: "The IANA name of the encoding, such as UTF-16LE."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		enc, err := encodingByName(args[1].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		data, err := enc.NewEncoder().Bytes([]byte(args[0].AsString()))
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0,
				"contains characters that can't be represented in the encoding %s", args[1].AsString())
		}
		return cty.StringVal(base64.StdEncoding.EncodeToString(data)), nil
	},
})

var textdecodebase64Func = function.New(&function.Spec{
	Description: "`textdecodebase64` decodes a Base64 string and converts the result from a given character encoding.",
	Params: []function.Parameter{
		{Name: "source", Type: cty.String, Description: "The Base64 text."},
		{Name: "encoding", Type: cty.String, Description: "The IANA name of the encoding, such as UTF-16LE."},
	},
	Type:         function.StaticReturnType(cty.String),
	RefineResult: notNull,
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		enc, err := encodingByName(args[1].AsString())
		if err != nil {
			return cty.NilVal, err
		}
		data, err := base64.StdEncoding.DecodeString(args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgError(0, errNotBase64)
		}
		text, err := enc.NewDecoder().Bytes(data)
		// Decoders replace invalid input with this character.
		if err != nil || bytes.ContainsRune(text, utf8.RuneError) {
			return cty.NilVal, function.NewArgErrorf(0,
				"the decoded data is not valid text in the encoding %s", args[1].AsString())
		}
		return cty.StringVal(string(text)), nil
	},
})

// encodingByName returns the encoding called name. ianaindex also knows names of encodings that it
// doesn't implement.
func encodingByName(name string) (encoding.Encoding, error) {
	enc, err := ianaindex.IANA.Encoding(name)
	if err != nil || enc == nil {
		return nil, function.NewArgErrorf(1, "%q is not the IANA name or an alias of a supported encoding", name)
	}
	return enc, nil
}
