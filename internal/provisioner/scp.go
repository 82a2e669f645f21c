package provisioner

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Permissions of uploaded files and directories. They do not depend on the local permissions, which
// vary between machines.
const (
	fileMode = "0644"
	dirMode  = "0755"
)

// scp implements the sending side of the scp program's protocol. The remote machine runs scp as the
// receiver. A line announces a file (C), a directory (D) or the end of a directory (E). The remote
// machine answers each line and each file with a byte, which is 0 for success.
type scp struct {
	to   io.Writer
	from *bufio.Reader
}

// file sends a file of exactly the given size.
func (s *scp) file(mode, name string, size int64, content io.Reader) error {
	if strings.ContainsAny(name, "\n/") {
		return fmt.Errorf("the file name %q can't be sent with scp, because it contains a line break or a slash", name)
	}
	if err := s.line("C%s %d %s", mode, size, name); err != nil {
		return err
	}
	n, err := io.Copy(s.to, io.LimitReader(content, size))
	if err != nil {
		return err
	}
	if n < size {
		return fmt.Errorf("%s shrank while it was being sent", name)
	}
	return s.line("\x00")
}

// tree sends the content of a directory. It follows symbolic links.
func (s *scp) tree(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = s.dir(path, entry.Name())
		} else if info.Mode().IsRegular() {
			err = s.localFile(path, entry.Name(), info.Size())
		} else {
			err = fmt.Errorf("%s is neither a regular file nor a directory", path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// dir sends a directory and its content.
func (s *scp) dir(path, name string) error {
	if err := s.line("D%s 0 %s", dirMode, name); err != nil {
		return err
	}
	if err := s.tree(path); err != nil {
		return err
	}
	return s.line("E")
}

func (s *scp) localFile(path, name string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.file(fileMode, name, size, f)
}

// line sends a line, and reads the answer. The line may also be the zero byte that ends a file.
func (s *scp) line(format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if text != "\x00" {
		text += "\n"
	}
	if _, err := io.WriteString(s.to, text); err != nil {
		return err
	}
	return s.answer()
}

var errSCPEnded = errors.New("the scp program on the remote host ended early")

// answer reads an answer. It is the byte 0, or one of the bytes 1 and 2 followed by a line with an
// error.
func (s *scp) answer() error {
	code, err := s.from.ReadByte()
	if errors.Is(err, io.EOF) {
		return errSCPEnded
	}
	if err != nil || code == 0 {
		return err
	}
	text, _ := s.from.ReadString('\n')
	if code > 2 {
		text = string(rune(code)) + text // not an answer, but output of the login shell
	}
	return errors.New(strings.TrimSpace(text))
}

var homeDir = regexp.MustCompile(`^~[A-Za-z0-9._-]*(/|$)`)

// checkWindowsPath returns an error if a path in double quotes would not remain a single word for
// cmd.exe or PowerShell.
func checkWindowsPath(path string) error {
	if strings.ContainsAny(path, "\"`\r\n") || strings.Contains(path, "$(") {
		return fmt.Errorf("the path %q can't be used on Windows: it contains a double quote, a backquote, a "+
			"line break or \"$(\"", path)
	}
	return nil
}

// checkWindowsScript returns an error if a shell would split the path of a script into several
// words. The path can't be quoted: cmd.exe would treat the quotes as part of the command, and
// PowerShell would treat the quoted path as a string.
func checkWindowsScript(path string) error {
	if i := strings.IndexAny(path, " \t\r\n\"'`&|<>^;,=(){}"); i >= 0 {
		return fmt.Errorf("the connection's script_path %q can't be run on Windows because of the character %q: "+
			"choose a path of letters, digits and the characters / \\ : . - _", path, path[i])
	}
	return nil
}

// quote quotes a path so that it is a single word for the remote shell. The shell still expands a
// leading ~.
func quote(path string, windows bool) string {
	if windows {
		return `"` + path + `"`
	}
	home := homeDir.FindString(path)
	path = path[len(home):]
	if home == "" && strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	if path == "" {
		return home
	}
	return home + "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
