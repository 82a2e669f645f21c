package getmodules

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/httpclient"
)

// hg clones a Mercurial repository at a revision. The address may contain a password, which other
// users could see in process arguments. Therefore hg writes the address to the configuration of the
// new repository.
func (f *fetcher) hg(ctx context.Context, j job) error {
	rev := cmp.Or(j.want, j.query.Get("rev"))
	u := *j.url
	u.RawQuery = without(j.query, "rev").Encode()
	if strings.HasPrefix(rev, "-") {
		return fmt.Errorf("%q is not a valid revision of a Mercurial repository", rev)
	}
	if strings.HasPrefix(u.Host, "-") || u.Scheme != "https" &&
		u.Scheme != "http" && u.Scheme != "ssh" && u.Scheme != "file" {
		return fmt.Errorf("%q is not a valid address of a Mercurial repository", httpclient.Redact(&u))
	}
	env := withoutVariables(os.Environ(), hgVariable)
	if err := run(ctx, env, "hg", "init", "--", j.dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(j.dir, ".hg", "hgrc"), []byte("[paths]\ndefault = "+u.String()+"\n"),
		0o600); err != nil {
		return err
	}
	if err := run(ctx, env, "hg", "--cwd", j.dir, "pull", "-q"); err != nil {
		return err
	}
	args := []string{"--cwd", j.dir, "update", "-q"}
	if rev != "" {
		args = append(args, "--rev="+rev)
	}
	if err := run(ctx, env, "hg", args...); err != nil {
		return err
	}
	node, err := output(ctx, env, "hg", "--cwd", j.dir, "log", "--rev=.", "--template={node}")
	if err != nil {
		return err
	}
	*j.got = strings.TrimSpace(node)
	return os.RemoveAll(filepath.Join(j.dir, ".hg"))
}

// hgVariable reports whether Mercurial sets the variable for its hooks. It returns false for
// variables with user settings, such as HGRCPATH.
func hgVariable(name string) bool { return name == "HG" || strings.HasPrefix(name, "HG_") }
