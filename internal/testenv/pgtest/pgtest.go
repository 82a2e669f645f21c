// Package pgtest starts private PostgreSQL servers for tests that break sessions or servers.
package pgtest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Server is a PostgreSQL server in a temporary directory. It listens on a socket only.
type Server struct {
	dir   string
	pgctl string
}

// Start starts a server.
func Start() (*Server, error) {
	initdb, pgctl := program("initdb"), program("pg_ctl")
	if initdb == "" || pgctl == "" {
		return nil, errors.New("no PostgreSQL server is installed")
	}
	dir, err := os.MkdirTemp("/tmp", "pgtest") // socket paths must be short
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, pgctl: pgctl}
	err = s.run(initdb, "-D", dir+"/data", "-A", "trust", "-U", "tester", "--no-sync", "-E", "UTF8")
	if err == nil {
		err = s.Restart()
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// program returns the path of a program of the server, which may not be in PATH.
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

// Conn returns the connection string of an administrator.
func (s *Server) Conn() string { return "host=" + s.dir + " user=tester dbname=postgres" }

// Dir returns the directory of the server's socket.
func (s *Server) Dir() string { return s.dir }

// Stop ends the server at once, like a crash.
func (s *Server) Stop() error { return s.run(s.pgctl, "-D", s.dir+"/data", "-m", "immediate", "stop") }

// Restart starts the server after Stop.
func (s *Server) Restart() error {
	return s.run(s.pgctl, "-D", s.dir+"/data", "-w", "-l", s.dir+"/log", "-o",
		"-k "+s.dir+" -c listen_addresses='' -c fsync=off -c max_connections=200", "start")
}

// Close stops the server and removes its files.
func (s *Server) Close() {
	_ = s.Stop()
	os.RemoveAll(s.dir)
}

// run runs a program as an ordinary user.
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
