package provisioner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// clientConfig returns the settings for logging in to a machine and for verifying its host key.
func clientConfig(e *endpoint, agent *sshAgent) (*ssh.ClientConfig, error) {
	// The keys of new machines are unknown, so any key is accepted unless host_key is set.
	config := &ssh.ClientConfig{User: e.user, HostKeyCallback: ssh.InsecureIgnoreHostKey()}
	if e.hostKey != "" {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(e.hostKey))
		if err != nil {
			return nil, fmt.Errorf("the host_key is not a public key in the form \"ssh-ed25519 AAAA...\": %w", err)
		}
		config.HostKeyCallback, config.HostKeyAlgorithms = knownHost(key), hostKeyAlgorithms(key)
	}
	signers, err := e.signers()
	if err != nil {
		return nil, err
	}
	// The client tries each authentication method only once, so one method must return all keys.
	if len(signers) > 0 || agent != nil {
		config.Auth = append(config.Auth, ssh.PublicKeysCallback(func() ([]ssh.Signer, error) {
			if agent == nil {
				return signers, nil
			}
			more, err := agent.ordered()
			return append(slices.Clone(signers), more...), err
		}))
	}
	if e.password != "" {
		config.Auth = append(config.Auth, ssh.Password(e.password), ssh.KeyboardInteractive(
			func(_, _ string, questions []string, _ []bool) ([]string, error) {
				return slices.Repeat([]string{e.password}, len(questions)), nil
			}))
	}
	return config, nil
}

// signers returns the configured private key, if there is one, as a signer. If there is a
// certificate for the key, a signer with the certificate comes first.
func (e *endpoint) signers() ([]ssh.Signer, error) {
	if e.privateKey == "" {
		return nil, nil
	}
	key, err := ssh.ParsePrivateKey([]byte(e.privateKey))
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		return nil, errors.New("the private_key is protected by a passphrase; decrypt it first, or add it to " +
			"an SSH agent and remove it from the connection block")
	case err != nil:
		return nil, fmt.Errorf("the private_key can't be read; it must be the key's text, not the name of its "+
			"file: %w", err)
	}
	if e.certificate == "" {
		return []ssh.Signer{key}, nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(e.certificate))
	if err != nil {
		return nil, fmt.Errorf("the certificate can't be read: %w", err)
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, errors.New("the certificate is a plain public key; sign it with a certificate authority first")
	}
	signer, err := ssh.NewCertSigner(cert, key)
	if err != nil {
		return nil, fmt.Errorf("the certificate doesn't belong to the private_key: %w", err)
	}
	return []ssh.Signer{signer, key}, nil
}

// knownHost returns a callback that accepts hosts with the given key, and hosts with a certificate
// for their name that this key has signed.
func knownHost(key ssh.PublicKey) ssh.HostKeyCallback {
	same := func(other ssh.PublicKey) bool { return bytes.Equal(key.Marshal(), other.Marshal()) }
	isAuthority := func(authority ssh.PublicKey, _ string) bool { return same(authority) }
	checker := &ssh.CertChecker{IsHostAuthority: isAuthority}
	return func(host string, remote net.Addr, offered ssh.PublicKey) error {
		cert, ok := offered.(*ssh.Certificate)
		if ok && !same(cert.SignatureKey) && same(cert.Key) || !ok && same(offered) {
			return nil
		}
		err := fmt.Errorf("the host has a different key, %s", ssh.FingerprintSHA256(offered))
		if ok {
			err = checker.CheckHostKey(host, remote, offered)
		}
		if err == nil {
			return nil
		}
		return &permanentError{fmt.Errorf("the key of %s can't be verified with host_key: %w", host, err)}
	}
}

// hostKeyAlgorithms returns the host key algorithms that work with a key. The client must request
// only these, because a host with several keys might otherwise use another key.
func hostKeyAlgorithms(key ssh.PublicKey) []string {
	certs := []string{
		ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01,
		ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01, ssh.CertAlgoRSAv01,
	}
	if key.Type() == ssh.KeyAlgoRSA {
		return append(certs, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSA)
	}
	return append(certs, key.Type())
}

// sshAgent is a running SSH agent.
type sshAgent struct {
	agent.ExtendedAgent
	close    func() error
	identity string // the preferred key: the name of a file, or the comment of a key
}

// openAgent connects to the agent of this machine. It returns nil if the configuration disables the
// agent, or if no agent can be reached and the configuration doesn't require one. The connection is
// closed when ctx ends, because an agent that asks its user for a passphrase may take arbitrarily
// long.
func openAgent(ctx context.Context, c *connection) (*sshAgent, error) {
	if c.agent != nil && !*c.agent {
		return nil, nil
	}
	conn, err := dialAgent()
	switch {
	case err == nil && conn != nil:
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		return &sshAgent{agent.NewClient(conn), func() error { stop(); return conn.Close() }, c.agentIdentity}, nil
	case c.agent == nil:
		return nil, nil // the agent is optional
	case err == nil:
		return nil, errors.New("the connection requires an SSH agent, but none was found: " + noAgent)
	}
	return nil, fmt.Errorf("the connection requires an SSH agent, but it can't be reached: %w", err)
}

// ordered returns the keys of the agent. The preferred key comes first, because servers allow only
// a few attempts.
func (a *sshAgent) ordered() ([]ssh.Signer, error) {
	signers, err := a.Signers()
	if err != nil {
		return nil, fmt.Errorf("asking the SSH agent for its keys: %w", err)
	}
	if a.identity == "" {
		return signers, nil
	}
	preferred := a.identityKey()
	slices.SortStableFunc(signers, func(x, y ssh.Signer) int {
		return rank(a.identity, preferred, x) - rank(a.identity, preferred, y)
	})
	return signers, nil
}

func rank(identity string, preferred ssh.PublicKey, signer ssh.Signer) int {
	key := signer.PublicKey()
	if preferred != nil && bytes.Equal(preferred.Marshal(), key.Marshal()) {
		return 0
	}
	if held, ok := key.(*agent.Key); ok && held.Comment == identity {
		return 0
	}
	return 1
}

// identityKey returns the public key in the file that identity names, or nil if there is no such
// file.
func (a *sshAgent) identityKey() ssh.PublicKey {
	name := a.identity
	if rest, ok := strings.CutPrefix(name, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil
		}
		name = filepath.Join(home, rest)
	}
	for _, file := range []string{strings.TrimSuffix(name, ".pub") + ".pub", name} {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if key, _, _, _, err := ssh.ParseAuthorizedKey(data); err == nil {
			return key
		}
	}
	return nil
}
