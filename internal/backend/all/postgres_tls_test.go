package all_test

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tofu/internal/backend/pg"
	"tofu/internal/backend/postgres"
)

// A database is a server that asks for the password in clear text, and then says that it is wrong.
type database struct {
	listener net.Listener
	tls      *tls.Config // nil declines TLS

	mu            sync.Mutex
	plain, secure string // what it received without and with TLS, without the requests for TLS
}

// serve starts a server that listens on the network.
func serve(t *testing.T, network, address string, config *tls.Config) *database {
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	d := &database{listener: listener, tls: config}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			d.answer(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return d
}

func (d *database) answer(conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	received := &d.plain
	message, err := startup(conn)
	if err == nil && bytes.Equal(message, []byte{4, 210, 22, 47}) { // the request for TLS
		if d.tls == nil {
			_, _ = conn.Write([]byte("N"))
		} else {
			_, _ = conn.Write([]byte("S"))
			conn, received = tls.Server(conn, d.tls), &d.secure
		}
		message, err = startup(conn)
	}
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 3}) // wants the password in clear text
	password := make([]byte, 100)
	n, _ := conn.Read(password)
	text := "SFATAL\x00C28P01\x00Mwrong password\x00\x00"
	_, _ = conn.Write(append([]byte{'E', 0, 0, 0, byte(len(text) + 4)}, text...))
	d.mu.Lock()
	defer d.mu.Unlock()
	*received += string(message) + string(password[:n])
}

// startup reads a message without a type, as at the start of a connection.
func startup(conn net.Conn) ([]byte, error) {
	var size uint32
	if err := binary.Read(conn, binary.BigEndian, &size); err != nil {
		return nil, err
	}
	message := make([]byte, min(size, 10000)-4)
	_, err := io.ReadFull(conn, message)
	return message, err
}

// TestPasswordsInClearText checks to which servers the backends send a password.
func TestPasswordsInClearText(t *testing.T) {
	dir := t.TempDir()
	services := filepath.Join(dir, "services.conf")
	if err := os.WriteFile(services, []byte("[open]\nsslmode=disable\n[may]\nsslmode = prefer\n[silent]\nuser=eve\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	https := httptest.NewUnstartedServer(nil)
	https.StartTLS()
	defer https.Close()
	certificate := https.TLS
	certificate.NextProtos = nil

	const none, plain, secure = "nothing", "in clear text", "with TLS"
	for _, c := range []struct {
		name    string
		tls     *tls.Config
		address string            // HOST and PORT are those of the server
		env     map[string]string // variables
		want    string
	}{
		{"URL", nil, "postgres://eve:s3cret@HOST:PORT/d", nil, none},
		{"URL with a parameter", nil, "postgresql://eve:s3cret@HOST:PORT/d?application_name=x%3Dy", nil, none},
		{"URL with an empty query", nil, "postgres://eve:s3cret@HOST:PORT?", nil, none},
		{"URL with an empty mode", nil, "postgres://eve:s3cret@HOST:PORT/d?sslmode=", nil, none},
		{"mode in the password", nil, "postgres://eve:s3cret?sslmode=disable@HOST:PORT/d", nil, none},
		{"mode in another value", nil, "host=HOST port=PORT user=eve password=s3cret options='-c a=\\'b sslmode=disable'", nil, none},
		{"keywords", nil, "host=HOST port=PORT user=eve password=s3cret dbname=d", nil, none},
		{"keywords that end with an empty value", nil, "host=HOST port=PORT user=eve password=", nil, none},
		{"keywords that end with a backslash", nil, "host=HOST port=PORT user=eve password=s3cret\\", nil, none},
		{"keywords that end with an empty mode", nil, "host=HOST port=PORT user=eve password=s3cret sslmode = ", nil, none},
		{"keywords with an empty mode", nil, "sslmode='' host=HOST port=PORT user=eve password=s3cret", nil, none},
		{"variables", nil, "", map[string]string{"PGHOST": "HOST", "PGPORT": "PORT", "PGUSER": "eve", "PGPASSWORD": "s3cret"}, none},
		{"service without a mode", nil, "postgres://:s3cret@HOST:PORT/d?service=silent", map[string]string{"PGSERVICEFILE": services}, none},
		{"verify-full", nil, "postgres://eve:s3cret@HOST:PORT/d?sslmode=verify-full", nil, none},

		{"URL with a mode", nil, "postgres://eve:s3cret@HOST:PORT/d?sslmode=disable", nil, plain},
		{"prefer", nil, "postgres://eve:s3cret@HOST:PORT/d?connect_timeout=9&sslmode=prefer", nil, plain},
		{"keywords with a mode", nil, "host=HOST port=PORT user=eve password=s3cret sslmode = 'prefer'", nil, plain},
		{"variable", nil, "postgres://eve:s3cret@HOST:PORT/d", map[string]string{"PGSSLMODE": "prefer"}, plain},
		{"service", nil, "postgres://eve:s3cret@HOST:PORT/d?service=may", map[string]string{"PGSERVICEFILE": services}, plain},
		{"service by variables", nil, "host=HOST port=PORT user=eve password=s3cret",
			map[string]string{"PGSERVICEFILE": services, "PGSERVICE": "open"}, plain},
		{"service by keywords", nil, "host=HOST port=PORT user=eve password=s3cret service=may servicefile='" + services + "'", nil, plain},

		{"TLS", certificate, "postgres://eve:s3cret@HOST:PORT/d", nil, secure},
		{"TLS by keywords", certificate, "host=HOST port=PORT user=eve password=s3cret", nil, secure},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := serve(t, "tcp", "127.0.0.1:0", c.tls)
			host, port, _ := net.SplitHostPort(d.listener.Addr().String())
			fill := strings.NewReplacer("HOST", host, "PORT", port).Replace
			for name, value := range c.env {
				t.Setenv(name, fill(value))
			}
			for name, open := range backends(fill(c.address)) {
				err := open(t)
				if declined := strings.Contains(err.Error(), "sslmode=disable"); declined != (c.want == none) {
					t.Errorf("%s: %v", name, err)
				}
				if c.want == none && strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s: the password is in %v", name, err)
				}
			}
			d.check(t, c.want == plain, c.want == secure)
		})
	}

	t.Run("Unix socket", func(t *testing.T) {
		dir, err := os.MkdirTemp("/tmp", "socket") // paths of sockets must be short
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		d := serve(t, "unix", filepath.Join(dir, ".s.PGSQL.5432"), nil)
		for _, open := range backends("postgres://eve:s3cret@/d?host=" + dir) {
			_ = open(t)
		}
		d.check(t, true, false)
	})
}

// backends returns functions that open a backend with this connection string. They return an error,
// because no password is right.
func backends(address string) map[string]func(*testing.T) error {
	return map[string]func(*testing.T) error{
		"pg": func(t *testing.T) error {
			_, err := pg.Driver.Open(t.Context(), &pg.Config{ConnStr: address, Schema: "s", Table: "t", Index: "i"})
			return err
		},
		"postgres": func(t *testing.T) error {
			_, err := postgres.Driver.Open(t.Context(), &postgres.Config{ConnStr: address, Schema: "s"})
			return err
		},
	}
}

// check checks how the server received the password, and that it received nothing else in clear text
// if it may not have it that way.
func (d *database) check(t *testing.T, plain, secure bool) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if got := strings.Contains(d.plain, "s3cret"); got != plain {
		t.Errorf("the password in clear text: %t, want %t", got, plain)
	}
	if !plain && d.plain != "" {
		t.Errorf("%q in clear text", d.plain)
	}
	if got := strings.Contains(d.secure, "s3cret"); got != secure {
		t.Errorf("the password with TLS: %t, want %t", got, secure)
	}
}
