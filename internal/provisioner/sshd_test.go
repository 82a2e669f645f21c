package provisioner

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"tofu/internal/testenv"
)

// sshd is a running OpenSSH server on this machine's loopback interface.
type sshd struct {
	dir  string
	port int
	user string
	key  string // path of a private key that the server accepts
	host ssh.PublicKey
	ca   ssh.Signer // signs the certificates of the host and of users
	pub  ssh.PublicKey
}

// startSSHD starts a server, or skips the test if sshd is not installed.
func startSSHD(t *testing.T) *sshd {
	t.Helper()
	binary := findSSHD()
	if binary == "" {
		testenv.Missing(t, "there is no sshd", "install the OpenSSH server")
	}
	me, err := user.Current()
	check(t, err)
	if me.Uid == "0" {
		check(t, os.MkdirAll("/run/sshd", 0o755)) // the server's unprivileged process uses this directory as its root
	}
	s := &sshd{dir: t.TempDir(), user: me.Username, port: freePort(t)}
	check(t, os.Chmod(s.dir, 0o755))
	hostText, host := newKey(t)
	userText, user := newKey(t)
	_, s.ca = newKey(t)
	s.key, s.host, s.pub = userText, host.PublicKey(), user.PublicKey()

	s.write(t, "host", hostText)
	s.write(t, "host.pub", string(ssh.MarshalAuthorizedKey(host.PublicKey())))
	s.write(t, "host-cert.pub", string(ssh.MarshalAuthorizedKey(s.certify(t, host.PublicKey(), ssh.HostCert,
		"127.0.0.1"))))
	s.write(t, "users", string(ssh.MarshalAuthorizedKey(user.PublicKey())))
	s.write(t, "ca.pub", string(ssh.MarshalAuthorizedKey(s.ca.PublicKey())))
	s.write(t, "config", fmt.Sprintf(`Port %d
ListenAddress 127.0.0.1
HostKey %[2]s/host
HostCertificate %[2]s/host-cert.pub
AuthorizedKeysFile %[2]s/users
TrustedUserCAKeys %[2]s/ca.pub
PidFile %[2]s/pid
PasswordAuthentication no
UsePAM no
StrictModes no
`, s.port, s.dir))

	log, err := os.Create(s.path("log")) // not a pipe, which the server's children would keep open
	check(t, err)
	cmd := exec.Command(binary, "-D", "-e", "-f", filepath.Join(s.dir, "config"))
	cmd.Stderr = log
	check(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		log.Close()
		if text, _ := os.ReadFile(s.path("log")); t.Failed() {
			t.Logf("sshd: %s", text)
		}
	})
	eventually(t, "sshd answers", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return s
}

// eventually calls a function until it returns true. If that takes too long, the test fails.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for start := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(start) > time.Minute {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

func findSSHD() string {
	for _, name := range []string{"sshd", "/usr/sbin/sshd", "/usr/local/sbin/sshd"} {
		if path, err := exec.LookPath(name); err == nil && filepath.IsAbs(path) {
			return path
		}
	}
	return ""
}

func (s *sshd) write(t *testing.T, name, text string) {
	t.Helper()
	check(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
}

func (s *sshd) certify(t *testing.T, key ssh.PublicKey, kind uint32, principal string) *ssh.Certificate {
	t.Helper()
	cert := &ssh.Certificate{Key: key, CertType: kind, ValidPrincipals: []string{principal},
		ValidBefore: ssh.CertTimeInfinity,
		Permissions: ssh.Permissions{Extensions: map[string]string{"permit-pty": ""}}}
	if kind == ssh.HostCert {
		cert.Permissions = ssh.Permissions{}
	}
	check(t, cert.SignCert(rand.Reader, s.ca))
	return cert
}

// path returns the path of a file in the directory of the server.
func (s *sshd) path(name string) string { return filepath.Join(s.dir, name) }

func newKey(t *testing.T) (string, ssh.Signer) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	check(t, err)
	block, err := ssh.MarshalPrivateKey(private, "")
	check(t, err)
	signer, err := ssh.NewSignerFromKey(private)
	check(t, err)
	return string(pem.EncodeToMemory(block)), signer
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func authorized(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}
