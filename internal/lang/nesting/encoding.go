package nesting

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// TrimMark removes the byte order mark with which some editors begin a file in UTF-8.
func TrimMark(src []byte) []byte { return bytes.TrimPrefix(src, byteOrderMark) }

var otherMarks = []struct{ mark, encoding string }{
	{"\x00\x00\xfe\xff", "UTF-32 (big-endian)"},
	{"\xff\xfe\x00\x00", "UTF-32 (little-endian)"},
	{"\xfe\xff", "UTF-16 (big-endian)"},
	{"\xff\xfe", "UTF-16 (little-endian)"},
}

// OtherEncoding returns the encoding of a text that is certainly not UTF-8, such as "UTF-16
// (little-endian)", or "". Some programs on Windows write such files.
func OtherEncoding(src []byte) string {
	for _, m := range otherMarks {
		if bytes.HasPrefix(src, []byte(m.mark)) {
			return m.encoding
		}
	}
	switch { // no text in UTF-8 has a zero as one of its first characters
	case len(src) < 2 || (src[0] == 0) == (src[1] == 0):
		return ""
	case src[0] == 0:
		return "UTF-16 (big-endian)"
	}
	return "UTF-16 (little-endian)"
}

// EncodingProblem describes why a text can't be read as UTF-8 or as JSON in UTF-8, and what to do. It
// returns "" if the first characters are no problem. A parser would report other causes.
func EncodingProblem(src []byte, isJSON bool) string {
	problem := ""
	if encoding := OtherEncoding(src); encoding != "" {
		problem = "it is encoded in " + encoding + " instead of UTF-8"
	} else if isJSON && bytes.HasPrefix(src, byteOrderMark) {
		problem = "it begins with a byte order mark (BOM), which JSON does not allow"
	} else {
		return ""
	}
	return problem + "; save it as UTF-8 without a byte order mark"
}

func checkEncoding(name string, src []byte, isJSON bool) *hcl.Diagnostic {
	problem := EncodingProblem(src, isJSON)
	if problem == "" {
		return nil
	}
	start := hcl.Range{Filename: name, Start: hcl.InitialPos, End: hcl.InitialPos}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Invalid character encoding",
		Detail: "The file can't be read: " + problem + ".", Subject: &start}
}
