package frames

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"golang.org/x/exp/jsonrpc2"
)

const good = `{"jsonrpc":"2.0","id":1,"method":"m"}`

func header(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// TestBadMessages checks that each bad text is answered, and that the message after it is read.
func TestBadMessages(t *testing.T) {
	long := strings.Repeat("x", MaxMessage+1)
	for name, c := range map[string]struct {
		style   Style
		text    string
		answers []string
	}{
		"blank lines":        {Lines, "\n  \r\n" + good + "\n", nil},
		"no end":             {Lines, good, nil},
		"garbage":            {Lines, "garbage\n" + good + "\n", []string{"-32700"}},
		"no request":         {Lines, `{"id":7}` + "\n" + good + "\n", []string{`"id":7`}},
		"batch":              {Lines, "[" + good + "]\n" + good + "\n", []string{"batches"}},
		"answer to nothing":  {Lines, `{"id":{},"result":1}` + "\n" + good + "\n", nil},
		"too long":           {Lines, long + "\n" + good + "\n", []string{"64 MiB"}},
		"too long body":      {Headers, header(long) + header(good), []string{"64 MiB"}},
		"bad length":         {Headers, "Content-Length: x\r\n\r\n" + header(good), []string{"not a number"}},
		"negative length":    {Headers, "Content-Length: -1\r\n\r\n" + header(good), []string{"not a number"}},
		"endless header":     {Headers, long + "\r\n" + header(good), nil},
		"other headers":      {Headers, "Content-Type: x\r\ncontent-length : " + fmt.Sprint(len(good)) + "\r\n\r\n" + good, nil},
		"empty body":         {Headers, header("") + header(good), []string{"-32700"}},
		"garbage and a body": {Headers, "garbage\r\n" + header("{") + header(good), []string{"-32700"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			conn := New(c.style, strings.NewReader(c.text), &out)
			var got string
			decode := func(text []byte) error {
				got = string(text)
				_, err := jsonrpc2.DecodeMessage(text)
				return err
			}
			if err := conn.Next(decode); err != nil || got != good {
				t.Fatalf("%q, %v", got, err)
			}
			if n := strings.Count(out.String(), `"error"`); n != len(c.answers) {
				t.Errorf("%d answers: %s", n, out.String())
			}
			for _, want := range c.answers {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s lacks %s", out.String(), want)
				}
			}
			if err := conn.Next(decode); !errors.Is(err, io.EOF) {
				t.Error(err)
			}
		})
	}
}
