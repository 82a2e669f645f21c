// Package pgtest starts private PostgreSQL servers, for tests that break connections or servers.
package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Server is a PostgreSQL server in a temporary directory. It listens only on a Unix socket.
type Server struct {
	dir      string
	pgctl    string
	settings []string
}

// Start starts a server. settings are arguments of the server program. Without settings, the server
// confirms transactions before their data has reached the disk, which is faster.
func Start(settings ...string) (*Server, error) {
	s, err := newServer(settings)
	if err != nil {
		return nil, err
	}
	err = s.run(program("initdb"), "-D", s.data(), "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8")
	return s.started(err)
}

// newServer returns a server that has no data yet and isn't running.
func newServer(settings []string) (*Server, error) {
	pgctl := program("pg_ctl")
	if pgctl == "" || program("initdb") == "" {
		return nil, errors.New("no PostgreSQL server is installed")
	}
	dir, err := os.MkdirTemp("/tmp", "pgtest") // socket paths must be short
	if err != nil {
		return nil, err
	}
	return &Server{dir, pgctl, settings}, nil
}

// started starts a new server. err is the error of creating its data. If err is not nil, started
// removes the server's files and returns err.
func (s *Server) started(err error) (*Server, error) {
	if err == nil {
		err = s.Restart()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// program returns the path of a PostgreSQL program, which may not be in PATH.
func program(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return ""
	}
	return slices.Max(found)
}

// Standby starts a server that replicates s. From then on, a transaction on s is committed only
// when the standby has received it, too.
func (s *Server) Standby() (*Server, error) {
	standby, err := newServer(s.settings)
	if err != nil {
		return nil, err
	}
	// application_name identifies the standby's connection to s.
	err = standby.run(program("pg_basebackup"), "-D", standby.data(), "-d", s.Conn()+" application_name=standby",
		"--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	standby, err = standby.started(err)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = standby", "SELECT pg_reload_conf()"} {
		if err := s.run(program("psql"), "-XqAt", "-d", s.Conn(), "-c", sql); err != nil {
			standby.Close()
			return nil, err
		}
	}
	return standby, nil
}

// Promote makes the standby s accept writes.
func (s *Server) Promote() error { return s.run(s.pgctl, "-D", s.data(), "-w", "promote") }

// Conn returns a connection string for an administrator.
func (s *Server) Conn() string { return "host=" + s.dir + " user=tester dbname=postgres" }

// Dir returns the directory of the server's socket.
func (s *Server) Dir() string { return s.dir }

func (s *Server) data() string { return s.dir + "/data" }

// Stop stops the server immediately, as in a crash.
func (s *Server) Stop() error { return s.run(s.pgctl, "-D", s.data(), "-m", "immediate", "stop") }

// Kill kills the server's main process. The other processes end when they notice this.
func (s *Server) Kill() error {
	text, err := os.ReadFile(s.data() + "/postmaster.pid")
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return fmt.Errorf("postmaster.pid: %w", err)
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

// Restart starts the server after Stop or Kill.
func (s *Server) Restart() error {
	const patience = 20 * time.Second // how long the processes of a killed server may take to end
	for start := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		err := s.run(s.pgctl, "-D", s.data(), "-w", "-l", s.dir+"/log", "-o",
			"-k "+s.dir+" -c listen_addresses='' -c fsync=off -c max_connections=200 "+
				strings.Join(s.settings, " "), "start")
		if err == nil || time.Since(start) > patience {
			return err
		}
	}
}

// Close stops the server and removes its files.
func (s *Server) Close() {
	_ = s.Stop()
	os.RemoveAll(s.dir)
}

// run runs a program as an ordinary user, because PostgreSQL refuses to run as root.
func (s *Server) run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	if err := AsOrdinaryUser(cmd, s.dir); err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, out)
	}
	return nil
}
