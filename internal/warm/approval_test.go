package warm

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tofu/internal/filelock"
)

// take uses the given approval or a stored one, as an apply does.
func (p *Proposals) take(digest string, given *Approval) error {
	a, err := p.approved(digest, given, time.Now())
	if err != nil {
		return err
	}
	return p.use(a)
}

// TestApprovalOnce checks that of many applies at the same time one uses an approval, stored or given, and that
// it is of no use afterwards.
func TestApprovalOnce(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string][]ed25519.PublicKey{"stored": nil, "given": {public}, "both": {public}} {
		t.Run(name, func(t *testing.T) {
			p := &Proposals{Dir: t.TempDir(), Keys: keys}
			digest, err := p.add([]byte("a plan"))
			if err != nil {
				t.Fatal(err)
			}
			a := &Approval{Digest: digest, Expires: time.Now().Add(time.Minute)}
			a.Sign(private)
			if name != "given" {
				if err := p.Approve(a); err != nil {
					t.Fatal(err)
				}
			}
			var wait sync.WaitGroup
			var taken atomic.Int32
			take := func(i int) error {
				if name == "stored" || name == "both" && i%2 == 0 {
					return p.take(digest, nil)
				}
				return p.take(digest, a)
			}
			for i := range 20 {
				wait.Go(func() {
					if take(i) == nil {
						taken.Add(1)
					}
				})
			}
			wait.Wait()
			if n := taken.Load(); n != 1 {
				t.Errorf("%d applies have used the approval", n)
			}
			if take(0) == nil || take(1) == nil {
				t.Error("the approval is still valid")
			}
			again := &Approval{Digest: digest, Expires: a.Expires.Add(time.Minute)}
			again.Sign(private)
			if err := p.Approve(again); err != nil {
				t.Fatal(err)
			}
			if err := p.take(digest, nil); err != nil {
				t.Errorf("another approval: %v", err)
			}
		})
	}
}

// TestApprovalsInOneSecond checks that an approval right after one that was used up is another one.
func TestApprovalsInOneSecond(t *testing.T) {
	p := &Proposals{Dir: t.TempDir()}
	digest, err := p.add([]byte("a plan"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		a := &Approval{Digest: digest}
		p.Renew(a, time.Minute)
		if err := p.Approve(a); err != nil {
			t.Fatal(err)
		}
		if err := p.take(digest, nil); err != nil {
			t.Errorf("approval %d: %v", i+1, err)
		}
	}
}

// TestApprovalWithoutLock checks that an apply that doesn't get the lock of the state doesn't use its approval up.
func TestApprovalWithoutLock(t *testing.T) {
	c, _ := open(t, map[string]string{"main.tf": `resource "terraform_data" "a" {}`})
	m, err := c.Open(".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := m.Propose(t.Context(), PlanOptions{})
	if err != nil || plan.Digest == "" {
		t.Fatal(err, plan.Diagnostics)
	}
	p := &Proposals{Dir: ".terraform"}
	if err := p.Approve(&Approval{Digest: plan.Digest, Expires: time.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	other, err := os.Create(".terraform.tfstate.lock")
	if err == nil {
		err = filelock.Lock(other)
	}
	if err != nil {
		t.Fatal(err)
	}
	applied, err := m.Apply(t.Context(), plan.Digest, nil, nil)
	if err != nil || applied.Begun || !strings.Contains(fmt.Sprint(applied.Diagnostics), "lock") {
		t.Fatal(err, applied.Diagnostics)
	}
	_ = other.Close()
	if applied, err = m.Apply(t.Context(), plan.Digest, nil, nil); err != nil || applied.Diagnostics.HasErrors() {
		t.Error(err, applied.Diagnostics)
	}
}

// TestOldProposals checks that a plan that is too old can't be found, and that only files of proposals are
// removed.
func TestOldProposals(t *testing.T) {
	p := &Proposals{Dir: t.TempDir()}
	digest, err := p.add([]byte("a plan"))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Find(digest[:8]); err != nil {
		t.Error(err)
	}
	foreign := p.path("notes", ".txt")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{foreign, p.path(digest, planExt)} {
		old := time.Now().Add(-ProposalLife - time.Minute)
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := p.Find(digest); err == nil || !strings.Contains(err.Error(), "older than") {
		t.Error(err)
	}
	if _, err := p.add([]byte("another plan")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(p.path(digest, planExt)); err == nil {
		t.Error("the old plan is left")
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// TestProposalsBehindLink checks that nothing is written, read or removed behind a link in a data directory.
func TestProposalsBehindLink(t *testing.T) {
	p, other := &Proposals{Dir: t.TempDir()}, t.TempDir()
	elsewhere := &Proposals{Dir: other}
	digest, err := elsewhere.add([]byte("a plan"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(other, proposalsDir), filepath.Join(p.Dir, proposalsDir)); err != nil {
		t.Skip(err)
	}
	old := time.Now().Add(-ProposalLife - time.Minute)
	if err := os.Chtimes(elsewhere.path(digest, planExt), old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := p.add([]byte("another plan")); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
	}
	if _, _, err := p.Find(digest); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Join(other, proposalsDir)); len(entries) != 1 {
		t.Errorf("behind the link: %v", entries)
	}
}
