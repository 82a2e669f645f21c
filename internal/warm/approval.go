package warm

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/tfdiags"
)

// proposalsDir is the directory below the data directory that has proposed plans and approvals.
const proposalsDir = "proposals"

// ProposalLife is the time for which a proposed plan is kept.
const ProposalLife = 24 * time.Hour

// Proposals are the proposed plans of one root module. Proposals and approvals are files that only the
// user can read.
type Proposals struct {
	Dir string // the data directory of the root module
	// Keys are the keys that may approve. Without keys, a person at a terminal may.
	Keys []ed25519.PublicKey
}

// Approval says that one plan may be applied once, until it expires.
type Approval struct {
	Digest  string    `json:"digest"` // of the saved plan
	Expires time.Time `json:"expires"`
	By      string    `json:"by,omitempty"` // who approved, for people
	// Signature is that of one of the keys over the digest and the time; empty for an approval at a
	// terminal.
	Signature []byte `json:"signature,omitempty"`
}

// message returns the bytes that a signature signs.
func (a *Approval) message() []byte {
	return fmt.Appendf(nil, "tofu approval 1\n%s\n%s\n", a.Digest, a.Expires.UTC().Format(time.RFC3339))
}

// Sign signs the approval.
func (a *Approval) Sign(key ed25519.PrivateKey) { a.Signature = ed25519.Sign(key, a.message()) }

func (p *Proposals) path(digest, ext string) string {
	return filepath.Join(p.Dir, proposalsDir, digest+ext)
}

const (
	planExt     = ".tfplan"
	approvalExt = ".approval"
	usedExt     = ".used" // of an empty file whose name has the hash of an approval
)

// ownFile matches the names of the files that are removed when they are too old.
var ownFile = regexp.MustCompile(`^[0-9a-f]{64}\.(tfplan|approval|html|used)$`)

// files returns the files of proposals, except for those that are too old. It returns an error if a link
// leads out of the data directory: such a link may be part of a repository that the user has cloned.
func (p *Proposals) files() (young, old []string, err error) {
	dir := filepath.Join(p.Dir, proposalsDir)
	if err := atomicfile.CheckBelow(p.Dir, dir); err != nil {
		return nil, nil, tfdiags.Errorf("Proposals behind a link", "%s. Plans and approvals would be read, written and "+
			"deleted there. Remove the link.", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, tfdiags.Errorf("Can't read the proposals", "%s.", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular() || !ownFile.MatchString(e.Name()):
		case time.Since(info.ModTime()) > ProposalLife:
			old = append(old, e.Name())
		default:
			young = append(young, e.Name())
		}
	}
	return young, old, nil
}

// add stores a saved plan and returns its digest. It removes what is too old.
func (p *Proposals) add(plan []byte) (digest string, err error) {
	_, old, err := p.files()
	if err != nil {
		return "", err
	}
	for _, name := range old {
		_ = os.Remove(p.path(name, "")) // it is ignored anyway
	}
	sum := sha256.Sum256(plan)
	digest = hex.EncodeToString(sum[:])
	if err := os.MkdirAll(filepath.Join(p.Dir, proposalsDir), 0o700); err != nil {
		return "", fmt.Errorf("storing the proposed plan: %w", err)
	}
	if err := atomicfile.Write(p.path(digest, planExt), plan, 0o600); err != nil {
		return "", fmt.Errorf("storing the proposed plan: %w", err)
	}
	return digest, nil
}

// Find returns the digest that begins with a prefix of at least 8 characters, and the saved plan.
func (p *Proposals) Find(prefix string) (digest string, plan []byte, err error) {
	if len(prefix) < 8 || strings.Trim(prefix, "0123456789abcdef") != "" {
		return "", nil, tfdiags.Errorf("Not a digest", "%q is not the digest of a proposed plan, which consists of 64 "+
			"characters 0-9 and a-f, or its first 8 characters.", prefix)
	}
	names, _, err := p.files()
	if err != nil {
		return "", nil, err
	}
	var found []string
	for _, name := range names {
		if name, ok := strings.CutSuffix(name, planExt); ok && strings.HasPrefix(name, prefix) {
			found = append(found, name)
		}
	}
	switch len(found) {
	case 0:
		return "", nil, tfdiags.Errorf("No such proposal", "No plan with the digest %s is proposed in this directory, or it is "+
			"older than %s. Propose it again.", prefix, ProposalLife)
	case 1:
	default:
		return "", nil, tfdiags.Errorf("Ambiguous digest", "Several proposed plans have digests that begin with %s. Write "+
			"more of it.", prefix)
	}
	plan, err = atomicfile.Read(p.path(found[0], planExt))
	if err != nil {
		return "", nil, tfdiags.Errorf("Can't read the proposal", "%s.", err)
	}
	if sum := sha256.Sum256(plan); hex.EncodeToString(sum[:]) != found[0] {
		return "", nil, tfdiags.Errorf("The proposal was changed", "The plan in %s does not have the digest that its name "+
			"says, so something has changed it. Propose it again.", p.path(found[0], planExt))
	}
	return found[0], plan, nil
}

// Renew sets when an approval of a proposed plan expires. Approvals have whole seconds, so one that was used up may
// have the same time; then it is a second later.
func (p *Proposals) Renew(a *Approval, valid time.Duration) {
	for a.Expires = time.Now().Add(valid).UTC().Truncate(time.Second); ; a.Expires = a.Expires.Add(time.Second) {
		if _, err := os.Lstat(p.usedPath(a)); err != nil {
			return
		}
	}
}

// usedPath returns the name of the file that says that an approval is used up.
func (p *Proposals) usedPath(a *Approval) string {
	sum := sha256.Sum256(a.message())
	return p.path(hex.EncodeToString(sum[:]), usedExt)
}

// Approve stores an approval of a proposed plan.
func (p *Proposals) Approve(a *Approval) error {
	text, err := json.Marshal(a)
	if err == nil {
		err = atomicfile.Write(p.path(a.Digest, approvalExt), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("storing the approval: %w", err)
	}
	return nil
}

// approved returns an error unless the plan is approved, by the given approval or a stored one. It returns the approval.
func (p *Proposals) approved(digest string, given *Approval, now time.Time) (*Approval, error) {
	if given == nil {
		path := p.path(digest, approvalExt)
		text, err := atomicfile.Read(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, tfdiags.Errorf("Not approved", "The plan %s is not approved. Someone must run \"tofu approve %[1]s\".",
				digest)
		}
		given = &Approval{}
		if err == nil {
			err = json.Unmarshal(text, given)
		}
		if err != nil {
			return nil, tfdiags.Errorf("Can't read the approval", "%s: %s. Approve the plan again.", path, err)
		}
	} else if len(p.Keys) == 0 {
		return nil, tfdiags.Errorf("No approval keys", "An approval can be part of the request only if the CLI configuration "+
			"has approval_keys. Run \"tofu approve %s\" at a terminal.", digest)
	}
	if _, err := os.Lstat(p.usedPath(given)); err == nil {
		return nil, given.usedUp()
	}
	return given, given.check(digest, p.Keys, now)
}

func (a *Approval) usedUp() error {
	return tfdiags.Errorf("The approval is used up", "The approval of the plan %s is for one apply, which has begun. "+
		"Approve the plan again.", a.Digest)
}

// use uses an approval up. It returns an error if it is used up already.
func (p *Proposals) use(a *Approval) error {
	used, err := os.OpenFile(p.usedPath(a), os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return a.usedUp()
	case err != nil:
		return fmt.Errorf("using up the approval: %w", err)
	}
	_ = used.Close()
	_ = os.Remove(p.path(a.Digest, approvalExt)) // of no use any more
	return nil
}

func (a *Approval) check(digest string, keys []ed25519.PublicKey, now time.Time) error {
	signed := slices.ContainsFunc(keys, func(k ed25519.PublicKey) bool { return ed25519.Verify(k, a.message(), a.Signature) })
	switch {
	case a.Digest != digest:
		return tfdiags.Errorf("Not approved", "The approval is for the plan %s, not for %s.", a.Digest, digest)
	case now.After(a.Expires):
		return tfdiags.Errorf("The approval has expired", "The approval of the plan %s was valid until %s. Approve the plan "+
			"again.", digest, a.Expires.Local().Format("15:04:05"))
	case len(keys) > 0 && !signed:
		return tfdiags.Errorf("Not approved", "The CLI configuration has approval_keys, and none of them has signed the "+
			"approval. Run \"tofu approve -key=FILE %s\".", digest)
	}
	return nil
}
