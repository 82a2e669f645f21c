package getmodules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"tofu/internal/httpclient"
)

// gitSchemes are the supported URL schemes. git supports others, but some of them run programs.
var gitSchemes = map[string]bool{"https": true, "http": true, "ssh": true, "git": true, "file": true}

// notInHosts are characters that must not be in the host, although Go accepts them in URLs. The
// host becomes part of a name in git's configuration ("credential.https://HOST.helper=PROGRAM").
// In such a name, these characters could make git run another program.
const notInHosts = "!$&'()*+,;=<>\"`\\ "

// git clones a repository and checks out a ref. It fetches as few commits as possible: one, unless
// the address sets another depth. If that fails, and the server may not have the ref by this name, it
// fetches the whole repository. For example, this is needed to find a commit by an abbreviated
// name.
func (f *fetcher) git(ctx context.Context, j job) error {
	ref := j.query.Get("ref")
	if strings.HasPrefix(ref, "-") {
		return fmt.Errorf("%q is not a valid ref of a git repository", ref)
	}
	remote, login, err := gitRemote(j)
	if err != nil {
		return err
	}
	env, cleanup, err := gitEnv(j.query.Get("sshkey"), j.dir)
	if err != nil {
		return err
	}
	defer cleanup()
	env = append(env, login.env()...)
	depth, err := strconv.Atoi(j.query.Get("depth"))
	if err != nil || depth < 1 {
		depth = 1
	}
	git := func(args ...string) error { return run(ctx, env, "git", args...) }
	fetch := func(args ...string) error { return f.watched(ctx, j, env, "git", append(login.options(), args...)...) }
	if err := git("init", "-q", j.dir); err != nil {
		return err
	}
	// Don't convert line endings: the files, and therefore the hash, must be the same on every
	// system.
	in := []string{"-C", j.dir, "-c", "core.autocrlf=false"}
	if err := git(append(in, "remote", "add", "origin", remote)...); err != nil {
		return err
	}
	want := cmp.Or(j.want, ref, "HEAD")
	err = fetch(append(in, "fetch", "--progress", "--depth="+strconv.Itoa(depth), "--no-tags", "--", "origin", want)...)
	checkout := "FETCH_HEAD"
	if err != nil && notOnServer().MatchString(want) {
		err = fetch(append(in, "fetch", "--progress", "--tags", "--", "origin",
			"+refs/heads/*:refs/remotes/origin/*")...)
		checkout = want
	}
	if err != nil {
		return err
	}
	if err := git(append(in, "checkout", "-q", "--detach", checkout)...); err != nil {
		return err
	}
	commit, err := output(ctx, env, "git", append(in, "rev-parse", "HEAD")...)
	if err != nil {
		return err
	}
	*j.got = strings.TrimSpace(commit)
	if _, err := os.Stat(filepath.Join(j.dir, ".gitmodules")); err == nil {
		if err := fetch(append(in, "submodule", "update", "-q", "--init", "--recursive", "--depth=1")...); err != nil {
			return err
		}
	}
	return os.RemoveAll(filepath.Join(j.dir, ".git"))
}

// notOnServer matches refs that a server may not have, although a clone of the repository does:
// names of commits, and branches with the name that they have in a clone.
var notOnServer = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-fA-F]{4,64}$|^(refs/remotes/)?origin/`)
})

// gitRemote returns the URL to pass to git, without the parameters that are meant for this program.
// If newGitLogin can remove credentials from the URL, gitRemote also returns these; otherwise it
// returns nil.
func gitRemote(j job) (string, *gitLogin, error) {
	u := *j.url
	if !gitSchemes[u.Scheme] {
		return "", nil, fmt.Errorf("git addresses can't have the scheme %q: use https, http, ssh, git or file", u.Scheme)
	}
	password, _ := u.User.Password()
	if strings.HasPrefix(u.Host, "-") || strings.HasPrefix(u.User.Username(), "-") ||
		strings.ContainsAny(u.Host, notInHosts) || strings.ContainsFunc(u.User.Username()+password, unicode.IsControl) {
		return "", nil, fmt.Errorf("%q is not a valid address of a git repository", httpclient.Redact(&u))
	}
	u.RawQuery = without(j.query, "ref", "depth", "sshkey").Encode()
	login := newGitLogin(&u)
	return u.String(), login, nil
}

// Tags lists the tags of the git repository at an address without cloning it.
func Tags(ctx context.Context, address string) ([]string, error) {
	u, err := url.Parse(strings.TrimPrefix(address, "git::"))
	if err != nil {
		// Don't show the address, which may contain a password.
		return nil, errors.New("its address is not a valid URL")
	}
	var out string
	err = asking(ctx, u, func(git func(args ...string) (string, error), _, remote string) (err error) {
		out, err = git("ls-remote", "--tags", "--refs", "--", remote)
		return err
	})
	if err != nil {
		return nil, err
	}
	var tags []string
	for line := range strings.SplitSeq(out, "\n") {
		if _, ref, ok := strings.Cut(line, "\t"); ok {
			tags = append(tags, strings.TrimPrefix(ref, "refs/tags/"))
		}
	}
	return tags, nil
}

// commitDate returns the date of the commit at an address. It fetches the commit without files, if the
// server can do that.
func commitDate(ctx context.Context, u *url.URL) (at time.Time, err error) {
	ref := cmp.Or(u.Query().Get("ref"), "HEAD")
	if strings.HasPrefix(ref, "-") {
		return at, fmt.Errorf("%q is not a valid ref of a git repository", ref)
	}
	err = asking(ctx, u, func(git func(args ...string) (string, error), dir, remote string) error {
		if _, err := git("init", "-q", "--bare", dir); err != nil {
			return err
		}
		_, err := git("-C", dir, "fetch", "-q", "--depth=1", "--filter=tree:0", "--no-tags", "--", remote, ref)
		if err != nil {
			return err
		}
		text, err := git("-C", dir, "show", "-s", "--format=%cI", "FETCH_HEAD")
		if err == nil {
			at, err = time.Parse(time.RFC3339, strings.TrimSpace(text))
		}
		return err
	})
	return at, err
}

// asking calls ask with a function that runs git for the repository at a URL, an empty directory and
// the URL for git.
func asking(
	ctx context.Context, u *url.URL, ask func(git func(args ...string) (string, error), dir, remote string) error,
) error {
	j := job{url: u, query: u.Query()}
	remote, login, err := gitRemote(j)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tofu-git-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	env, cleanup, err := gitEnv(j.query.Get("sshkey"), filepath.Join(dir, "ssh"))
	if err != nil {
		return err
	}
	defer cleanup()
	env = append(env, login.env()...)
	git := func(args ...string) (string, error) {
		return output(ctx, env, "git", append(login.options(), args...)...)
	}
	return ask(git, filepath.Join(dir, "repository"), remote)
}

func without(query url.Values, names ...string) url.Values {
	rest := make(url.Values)
	maps.Copy(rest, query)
	for _, name := range names {
		rest.Del(name)
	}
	return rest
}
