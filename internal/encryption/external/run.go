package external

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// header is the first line that a program prints.
type header struct {
	Magic   string `json:"magic"`
	Version int    `json:"version"`
}

const version = 1

// call runs a program, sends it the request and decodes the response.
func call(ctx context.Context, command []string, magic string, request, response any) error {
	input, err := json.Marshal(request)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &complaint
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(complaint.String()); text != "" {
			return fmt.Errorf("the program %s failed: %w: %s", command[0], err, text[max(0, len(text)-2000):])
		}
		return fmt.Errorf("the program %s failed: %w", command[0], err)
	}
	line, rest, _ := bytes.Cut(out.Bytes(), []byte("\n"))
	var h header
	if json.Unmarshal(line, &h) != nil || h.Magic != magic {
		return fmt.Errorf("the output of the program %s doesn't start with the line {\"magic\":%q,\"version\":%d}", command[0],
			magic, version)
	}
	if h.Version != version {
		return fmt.Errorf("the program %s uses version %d of the protocol; version %d is required", command[0],
			h.Version, version)
	}
	if err := json.Unmarshal(rest, response); err != nil {
		return fmt.Errorf("the program %s returned an invalid response after the first line: %w", command[0], err)
	}
	return nil
}

func checkCommand(name string, command []string) error {
	if len(command) == 0 || command[0] == "" {
		return errors.New("\"" + name + "\" must name a program")
	}
	return nil
}
