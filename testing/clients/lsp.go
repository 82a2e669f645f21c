package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// patience limits how long a language server may take to answer or to read schemas.
const patience = time.Minute

// edited is the file that is open in the editor. Its format is not the canonical one.
const edited = files + `
resource "files_file" "a" {
    path = "a.txt"
  content   = "a"
}
module "m" {
source = "./m"
}
`

// message is a request, a response or a notification of the protocol.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type object map[string]any

// editor is the client of a language server.
type editor struct {
	in       io.WriteCloser
	messages chan message
	next     int
}

// languageServer opens a configuration in an editor, initializes and formats it through the server,
// and asks for what depends on the schemas that the program prints. The server's own command
// terraform.validate runs nothing at present.
func languageServer(t *target, s *session, record recorder) error {
	if err := errors.Join(s.useMirror(), s.write("main.tf", edited), s.write("m/main.tf", child)); err != nil {
		return err
	}
	server := exec.Command(t.program, "serve")
	server.Dir, server.Env = s.dir, s.environment()
	in, err := server.StdinPipe()
	if err != nil {
		return err
	}
	out, err := server.StdoutPipe()
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	e := &editor{in: in, messages: make(chan message)}
	go e.receive(out)
	err = e.work(s, record)
	in.Close()
	for range e.messages { // until the server ends
	}
	if waitErr := server.Wait(); err == nil && waitErr != nil {
		err = fmt.Errorf("the language server failed: %w", waitErr)
	}
	return err
}

func (e *editor) work(s *session, record recorder) error {
	folder := "file://" + filepath.ToSlash(s.dir)
	file := object{"uri": folder + "/main.tf"}
	if _, err := e.ask("initialize", object{"processId": nil, "rootUri": folder, "capabilities": object{},
		"initializationOptions": object{"terraform": object{"path": s.bin}}}); err != nil {
		return err
	}
	opened := object{"uri": file["uri"], "languageId": "terraform", "version": 1, "text": edited}
	if err := errors.Join(e.send(message{Method: "initialized", Params: object{}}),
		e.send(message{Method: "textDocument/didOpen", Params: object{"textDocument": opened}})); err != nil {
		return err
	}
	command := func(name string) (json.RawMessage, error) {
		return e.ask("workspace/executeCommand", object{"command": "terraform-ls." + name,
			"arguments": []string{"uri=" + folder}})
	}
	answer, err := command("terraform.init")
	record("init", answer, err)
	created := object{"uri": folder + "/.terraform.lock.hcl", "type": 1}
	if err := e.send(message{Method: "workspace/didChangeWatchedFiles",
		Params: object{"changes": []object{created}}}); err != nil {
		return err
	}
	answer, err = e.ask("textDocument/formatting", object{"textDocument": file,
		"options": object{"tabSize": 2, "insertSpaces": true}})
	record("formatting", answer, err)
	before, _, _ := strings.Cut(edited, `path = "a.txt"`)
	at := object{"textDocument": file, "position": object{"line": strings.Count(before, "\n"), "character": 5}}
	answer, err = e.await("textDocument/hover", at)
	record("hover over an argument", answer, err)
	answer, err = e.ask("textDocument/completion", object{"textDocument": file,
		"position": object{"line": strings.Count(before, "\n") + 1, "character": 2}})
	record("completion", answer, err)
	for _, name := range []string{"module.providers", "module.calls"} {
		answer, err = command(name)
		record(name, answer, err)
	}
	_, err = e.ask("shutdown", nil)
	record("shutdown", nil, err)
	return e.send(message{Method: "exit"})
}

// await asks until there is an answer, because the server reads schemas in the background.
func (e *editor) await(method string, params object) (json.RawMessage, error) {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		answer, err := e.ask(method, params)
		if err == nil && string(answer) != "null" {
			return answer, nil
		}
		if time.Now().After(end) {
			return nil, errors.Join(fmt.Errorf("no answer to %s", method), err)
		}
	}
}

// ask sends a request and waits for its response.
func (e *editor) ask(method string, params any) (json.RawMessage, error) {
	e.next++
	id := strconv.Itoa(e.next)
	if err := e.send(message{ID: json.RawMessage(id), Method: method, Params: params}); err != nil {
		return nil, err
	}
	for end := time.After(patience); ; {
		select {
		case m, ok := <-e.messages:
			switch {
			case !ok:
				return nil, errors.New("the language server ended")
			case m.Method == "" && string(m.ID) == id && m.Error != nil:
				return nil, fmt.Errorf("%s: %s", method, m.Error)
			case m.Method == "" && string(m.ID) == id:
				return m.Result, nil
			}
			if err := e.reply(m); err != nil {
				return nil, err
			}
		case <-end:
			return nil, fmt.Errorf("no answer to %s", method)
		}
	}
}

// reply answers a request of the server, such as one for a progress bar, with nothing.
func (e *editor) reply(m message) error {
	if m.Method == "" || m.ID == nil {
		return nil
	}
	return e.send(message{ID: m.ID, Result: json.RawMessage("null")})
}

func (e *editor) send(m message) error {
	m.Version = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.in, "Content-Length: %d\r\n\r\n%s", len(text), text)
	return err
}

// receive reads messages until the server closes its output.
func (e *editor) receive(out io.Reader) {
	defer close(e.messages)
	r := textproto.NewReader(bufio.NewReader(out))
	for {
		header, err := r.ReadMIMEHeader()
		if err != nil {
			return
		}
		size, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return
		}
		text := make([]byte, size)
		var params json.RawMessage
		m := message{Params: &params}
		if _, err := io.ReadFull(r.R, text); err != nil || json.Unmarshal(text, &m) != nil {
			return
		}
		m.Params = params
		e.messages <- m
	}
}
