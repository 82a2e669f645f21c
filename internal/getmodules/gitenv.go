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

// gitVariables are the environment variables that select the repository git works on: those listed
// by "git rev-parse --local-env-vars" and those set for hooks. git sets them for hooks and aliases,
// and a git started there must not work on that repository. GIT_CONFIG_PARAMETERS and
// GIT_CONFIG_COUNT are listed too but stay: they hold settings, often credentials, and git itself
// passes them on to submodules.
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

// gitEnv returns the environment for git. An SSH key is kept in a file beside the package until
// cleanup is called.
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

// gitLogin holds the user name and password of an address. As arguments they would be visible to
// other users, so they reach git through the environment and a credential helper that answers only
// for the server of the address. Submodules on the same server use them too.
type gitLogin struct{ server, user, password string }

const (
	gitUserEnv     = "TOFU_GIT_USERNAME"
	gitPasswordEnv = "TOFU_GIT_PASSWORD"
	// gitHelper prints the credentials on "get". git also calls it with "store" and "erase".
	gitHelper = `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$` + gitUserEnv + `" "$` +
		gitPasswordEnv + `"; }; f`
)

// newGitLogin removes user name and password from u and returns them. It returns nil if there is no
// password; git then asks for one.
func newGitLogin(u *url.URL) *gitLogin {
	password, ok := u.User.Password()
	if !ok || u.Scheme != "https" && u.Scheme != "http" {
		return nil
	}
	login := &gitLogin{server: u.Scheme + "://" + u.Host, user: u.User.Username(), password: password}
	u.User = nil
	return login
}

// options returns the git options that put these credentials before the user's own helpers.
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
