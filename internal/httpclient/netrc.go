package httpclient

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// NetrcLogin returns the login for a host in the user's .netrc file, which curl and other programs
// also read. It returns nil if there is no file or the file has none.
func NetrcLogin(host string) (*url.Userinfo, error) {
	path := os.Getenv("NETRC")
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, nil
		}
		name := ".netrc"
		if runtime.GOOS == "windows" {
			name = "_netrc"
		}
		path = filepath.Join(home, name)
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading logins: %w", err)
	}
	return parseNetrc(string(data), host), nil
}

// parseNetrc returns the login for a host in the content of a .netrc file, or nil if the file has no
// login for the host.
// Entries have the form "machine HOST login NAME password SECRET" or "default login …". A macro
// definition ends at an empty line.
func parseNetrc(text, host string) *url.Userinfo {
	var words []string
	macro := false
	for line := range strings.SplitSeq(text, "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
			macro = false
			continue
		case macro || strings.HasPrefix(fields[0], "#"):
			continue
		case fields[0] == "macdef":
			macro = true
			continue
		}
		words = append(words, fields...)
	}
	matches := false
	var login, password string
	for i := 0; i < len(words); i++ {
		next := ""
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch words[i] {
		case "machine", "default":
			if matches && login != "" {
				return url.UserPassword(login, password)
			}
			matches, login, password = words[i] == "default" || next == host, "", ""
			if words[i] == "default" {
				continue
			}
		case "login":
			login = next
		case "password":
			password = next
		}
		i++
	}
	if matches && login != "" {
		return url.UserPassword(login, password)
	}
	return nil
}
