package getmodules

import (
	"encoding/base64"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gitVariables are the environment variables that select the repository on which git works. git
// sets them when it runs hooks and aliases, and "git rev-parse --local-env-vars" lists most of
// them. If a hook starts this program, the git that this program runs must not work on the hook's
// repository. GIT_CONFIG_PARAMETERS and GIT_CONFIG_COUNT are not removed, although git lists them:
// they contain settings, often credentials, and git itself passes them on to submodules.
var gitVariables = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_COMMON_DIR", "GIT_CONFIG", "GIT_DIR", "GIT_GRAFT_FILE",
	"GIT_IMPLICIT_WORK_TREE",
	"GIT_INDEX_FILE", "GIT_INTERNAL_SUPER_PREFIX", "GIT_NAMESPACE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_OBJECT_DIRECTORY", "GIT_PREFIX",
	"GIT_QUARANTINE_PATH", "GIT_REPLACE_REF_BASE", "GIT_SHALLOW_FILE", "GIT_WORK_TREE",
}

func gitVariable(name string) bool { return slices.Contains(gitVariables, name) }

// withoutVariables returns env without the variables for which drop returns true.
func withoutVariables(env []string, drop func(name string) bool) []string {
	return slices.DeleteFunc(env, func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return drop(name)
	})
}

// gitEnv returns the environment for git, without the variables that select a repository. If key is
// not "", gitEnv writes this SSH key to a file next to the package. cleanup removes the file.
func gitEnv(key, dir string) (env []string, cleanup func(), err error) {
	env, cleanup = withoutVariables(os.Environ(), gitVariable), func() {}
	if key == "" {
		return env, cleanup, nil
	}
	data, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		return nil, nil, errors.New("the parameter sshkey is not valid Base64")
	}
	file := dir + ".key"
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return nil, nil, err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, nil, err
	}
	ssh := os.Getenv("GIT_SSH_COMMAND")
	if ssh == "" {
		ssh = "ssh"
	}
	return append(env, "GIT_SSH_COMMAND="+ssh+" -i '"+strings.ReplaceAll(abs, "'", `'\''`)+"'"),
		func() { os.Remove(file) }, nil
}

// gitLogin holds the user name and password in an address. In process arguments, other users could
// see them. Therefore git gets them from the environment, by way of a credential helper that
// returns them only for the server in the address. They are also used for submodules on that
// server.
type gitLogin struct{ server, user, password string }

const (
	gitUserEnv     = "TOFU_GIT_USERNAME"
	gitPasswordEnv = "TOFU_GIT_PASSWORD"
	// gitHelper prints the credentials if its argument is "get". git also calls it with "store" and
	// "erase".
	gitHelper = `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$` + gitUserEnv + `" "$` +
		gitPasswordEnv + `"; }; f`
)

// newGitLogin removes the user name and password from u and returns them. It returns nil, and
// leaves u unchanged, if there is no password or the scheme is not http or https. git then asks for
// the password.
func newGitLogin(u *url.URL) *gitLogin {
	password, ok := u.User.Password()
	if !ok || u.Scheme != "https" && u.Scheme != "http" {
		return nil
	}
	login := &gitLogin{server: u.Scheme + "://" + u.Host, user: u.User.Username(), password: password}
	u.User = nil
	return login
}

// options returns the git options that make these credentials take precedence over the user's own
// helpers.
func (l *gitLogin) options() []string {
	if l == nil {
		return nil
	}
	helper := "credential." + l.server + ".helper="
	return []string{"-c", helper, "-c", helper + gitHelper}
}

func (l *gitLogin) env() []string {
	if l == nil {
		return nil
	}
	return []string{gitUserEnv + "=" + l.user, gitPasswordEnv + "=" + l.password}
}
