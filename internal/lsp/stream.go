package lsp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/exp/jsonrpc2"
)

// maxMessage is the largest message that is read, in bytes.
const maxMessage = 64 << 20

// framer reads and writes messages with headers. A message that is not valid JSON-RPC gets an error as its
// answer, and the next message is read; the framer of the library would end the connection.
type framer struct{ shared *sharedWriter }

// sharedWriter writes one message at a time.
type sharedWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *sharedWriter) write(body []byte) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := fmt.Fprintf(w.to, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return int64(n), err
}

// Reader implements jsonrpc2.Framer.
func (f *framer) Reader(r io.Reader) jsonrpc2.Reader {
	return &messageReader{bufio.NewReader(r), f.shared}
}

// Writer implements jsonrpc2.Framer.
func (f *framer) Writer(w io.Writer) jsonrpc2.Writer { return &messageWriter{f.shared} }

type messageWriter struct{ to *sharedWriter }

func (w *messageWriter) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	body, err := jsonrpc2.EncodeMessage(msg)
	if err != nil {
		return 0, err
	}
	return w.to.write(body)
}

type messageReader struct {
	in    *bufio.Reader
	reply *sharedWriter
}

func (r *messageReader) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		body, err := r.body()
		if err != nil {
			return nil, 0, err
		}
		msg, err := jsonrpc2.DecodeMessage(body)
		if err == nil {
			return msg, int64(len(body)), nil
		}
		var parts map[string]json.RawMessage
		code := -32600
		if json.Unmarshal(body, &parts); parts["error"] != nil || parts["result"] != nil {
			continue // an answer to nothing, which gets no answer
		} else if !json.Valid(body) {
			code = -32700
		}
		text, _ := json.Marshal("The message can't be read: " + err.Error())
		answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":null,"error":{"code":%d,"message":%s}}`, code, text)
		if _, err := r.reply.write([]byte(answer)); err != nil {
			return nil, 0, err
		}
	}
}

// body returns the content of the next message.
func (r *messageReader) body() ([]byte, error) {
	length := -1
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimRight(line, "\r\n")
		if line == "" && length >= 0 {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "Content-Length") {
			continue // another header, or what is left of a broken message
		}
		if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || length < 0 || length > maxMessage {
			return nil, fmt.Errorf("the length of a message is %q, but must be a number up to %d", value, maxMessage)
		}
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r.in, body)
	return body, err
}
