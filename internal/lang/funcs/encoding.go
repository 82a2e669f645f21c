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
)

var (
	csvdecodeFunc = described(stdlib.CSVDecodeFunc,
		"`csvdecode` reads a string of comma-separated values and returns a list of objects, whose attributes the first line names.",
		"The lines.")
	jsondecodeFunc = described(bounded(stdlib.JSONDecodeFunc, jsonSize, nil),
		"`jsondecode` reads a string as JSON and returns the value it stands for.",
		"The JSON text.")
	jsonencodeFunc = described(stdlib.JSONEncodeFunc,
		"`jsonencode` writes a value as JSON.",
		"The value.")
	yamldecodeFunc = described(bounded(yaml.YAMLDecodeFunc, yamlSize, nil),
		"`yamldecode` reads a string as a subset of YAML and returns the value it stands for.",
		"The YAML text: one document.")
	yamlencodeFunc = described(yaml.YAMLEncodeFunc,
		"`yamlencode` writes a value as YAML 1.2 in block style.",
		"The value.")
)

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

// Errors of the decoders. They don't contain the text, which may be long or secret.
var (
	errNotBase64 = errors.New("the text is not valid Base64, standard alphabet with padding")
	errNotUTF8   = errors.New("what the text encodes is not text in UTF-8")
	errNotGzip   = errors.New("what the text encodes is not complete data in gzip format")
	errLargeGzip = fmt.Errorf("what the text encodes has more than %d bytes when it is decompressed", maxText)
)

// The functions with the prefix base64 accept and return text. Arbitrary bytes must never become a
// string: the language would normalize them to NFC.

var base64encodeFunc = stringFunc(
	"`base64encode` writes the UTF-8 form of a string in Base64.",
	"str", "The string.",
	func(s string) (string, error) { return base64.StdEncoding.EncodeToString([]byte(s)), nil })

var base64decodeFunc = stringFunc(
	"`base64decode` reads a string in Base64, which must be the UTF-8 form of the result.",
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
	"`base64gzip` compresses the UTF-8 form of a string with gzip and writes the result in Base64.",
	"str", "The string.",
	func(s string) (string, error) {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := io.WriteString(w, s); err != nil {
			return "", err
		}
		// Stored results depend on this flush, which is part of the output format.
		if err := w.Flush(); err != nil {
			return "", err
		}
		if err := w.Close(); err != nil {
			return "", err
		}
		return base64.StdEncoding.EncodeToString(b.Bytes()), nil
	})

var base64gunzipFunc = stringFunc(
	"`base64gunzip` reads a string in Base64 and decompresses the result with gzip.",
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
	"`urldecode` reads a string with percent-encoded characters.",
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
	Description: "`textencodebase64` writes a string in a given character encoding, and the result in Base64.",
	Params: []function.Parameter{
		{Name: "string", Type: cty.String, Description: "The string."},
		{Name: "encoding", Type: cty.String, Description: "The IANA name of the encoding, like UTF-16LE."},
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
			return cty.NilVal, function.NewArgErrorf(0, "has characters that do not exist in the encoding %s", args[1].AsString())
		}
		return cty.StringVal(base64.StdEncoding.EncodeToString(data)), nil
	},
})

var textdecodebase64Func = function.New(&function.Spec{
	Description: "`textdecodebase64` reads a string in Base64, and the result as text in a given character encoding.",
	Params: []function.Parameter{
		{Name: "source", Type: cty.String, Description: "The Base64 text."},
		{Name: "encoding", Type: cty.String, Description: "The IANA name of the encoding, like UTF-16LE."},
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
		if err != nil || bytes.ContainsRune(text, utf8.RuneError) { // decoders replace invalid input by this character
			return cty.NilVal, function.NewArgErrorf(0, "what the text encodes is not text in the encoding %s", args[1].AsString())
		}
		return cty.StringVal(string(text)), nil
	},
})

// encodingByName returns the encoding with the name in the second argument. The index has names
// without an encoding.
func encodingByName(name string) (encoding.Encoding, error) {
	enc, err := ianaindex.IANA.Encoding(name)
	if err != nil || enc == nil {
		return nil, function.NewArgErrorf(1, "%q is not the IANA name or an alias of a supported encoding", name)
	}
	return enc, nil
}
