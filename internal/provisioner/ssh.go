package provisioner

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

const (
	firstRetry = time.Second
	lastRetry  = 20 * time.Second
)

// sshTarget is a remote machine with an SSH connection to it.
type sshTarget struct {
	conn    *connection
	agent   *sshAgent // nil to log in without an agent
	client  *ssh.Client
	release []func() // called by close in reverse order
}

// openSSH logs in to the machine. It retries until the connection's timeout expires, because new
// machines need some time before they accept logins.
func openSSH(ctx context.Context, c *connection, r *request) (target, error) {
	t := &sshTarget{conn: c}
	var err error
	t.agent, err = openAgent(ctx, c)
	if err != nil {
		return nil, err
	}
	announce(c, t.agent != nil, r)
	if err := t.connect(ctx); err != nil {
		t.close()
		return nil, err
	}
	r.out("Connected!")
	return t, nil
}

func announce(c *connection, agent bool, r *request) {
	out := r.out
	say := func(what, text string, from ...string) {
		if slices.ContainsFunc(from, r.secret) {
			text = "(sensitive value)"
		}
		out("  " + what + ": " + text)
	}
	platform := "unix"
	if c.windows {
		platform = "windows"
	}
	out("Connecting to remote host via SSH...")
	say("Host", c.host, "host")
	say("User", c.user, "user")
	out(fmt.Sprintf("  Password: %t", c.password != ""))
	out(fmt.Sprintf("  Private key: %t", c.privateKey != ""))
	out(fmt.Sprintf("  Certificate: %t", c.certificate != ""))
	out(fmt.Sprintf("  SSH Agent: %t", agent))
	out(fmt.Sprintf("  Checking Host Key: %t", c.hostKey != ""))
	out("  Target Platform: " + platform)
	if b := c.bastion; b != nil {
		out("Using configured bastion host...")
		say("Host", b.host, "bastion_host")
		say("User", b.user, "bastion_user", "user")
		out(fmt.Sprintf("  Password: %t", b.password != ""))
		out(fmt.Sprintf("  Private key: %t", b.privateKey != ""))
		out(fmt.Sprintf("  Certificate: %t", b.certificate != ""))
		out(fmt.Sprintf("  Checking Host Key: %t", b.hostKey != ""))
	}
	if p := c.proxy; p != nil {
		out("Using configured proxy host...")
		say("ProxyHost", p.host, "proxy_host")
		say("ProxyPort", strconv.Itoa(p.port), "proxy_port")
		out(fmt.Sprintf("  ProxyUserName: %t", p.user != ""))
		out(fmt.Sprintf("  ProxyUserPassword: %t", p.password != ""))
	}
}

func (t *sshTarget) connect(ctx context.Context) error {
	d, err := newSSHDialer(t.conn, t.agent)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, t.conn.timeout)
	defer cancel()
	deadline, _ := limited.Deadline()
	var last error // error of the last attempt that the timeout did not interrupt
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		client, release, err := d.dial(limited)
		if err == nil {
			t.client, t.release = client, append(t.release, release)
			t.release = append(t.release, keepAlive(client))
			// Sessions end with the context. The connection is closed a little later, in case the
			// remote side does not respond.
			stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { client.Close() }) })
			t.release = append(t.release, func() { stop() })
			return t.forwardAgent()
		}
		if _, ok := errors.AsType[*permanentError](err); ok {
			return err
		}
		if last == nil || time.Now().Before(deadline) { // ctx may end just before the attempt fails
			last = err
		}
		select {
		case <-time.After(wait):
		case <-limited.Done():
		}
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("interrupted while connecting; last error: %w", last)
		case limited.Err() != nil:
			return fmt.Errorf("no connection within %s; last error: %w", t.conn.timeout, last)
		}
	}
}

func (t *sshTarget) forwardAgent() error {
	if t.agent == nil {
		return nil
	}
	return agent.ForwardToAgent(t.client, t.agent)
}

func (t *sshTarget) close() error {
	t.disconnect()
	if t.agent != nil {
		return t.agent.close()
	}
	return nil
}

func (t *sshTarget) disconnect() {
	for len(t.release) > 0 {
		last := len(t.release) - 1
		t.release[last]()
		t.release = t.release[:last]
	}
}

// session opens a session that ends with the context. It reconnects if the connection was lost, for
// example because a script restarted the machine.
func (t *sshTarget) session(ctx context.Context) (*ssh.Session, func(), error) {
	session, err := t.client.NewSession()
	if err != nil && ctx.Err() == nil {
		t.disconnect()
		if err := t.connect(ctx); err != nil {
			return nil, nil, err
		}
		session, err = t.client.NewSession()
	}
	if err != nil {
		return nil, nil, t.explain(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { session.Close() })
	return session, func() { stop(); session.Close() }, nil
}

func (t *sshTarget) upload(ctx context.Context, dst, name string, size int64, content io.Reader) error {
	return t.send(ctx, "scp -t ", dst, func(s *scp) error { return s.file(fileMode, name, size, content) })
}

func (t *sshTarget) uploadDir(ctx context.Context, dst, src string) error {
	return t.send(ctx, "scp -r -t ", dst, func(s *scp) error {
		if strings.HasSuffix(src, "/") || strings.HasSuffix(src, string(filepath.Separator)) {
			return s.tree(src)
		}
		abs, err := filepath.Abs(src) // finds the directory's name if src is "."
		if err != nil {
			return err
		}
		return s.dir(src, filepath.Base(abs))
	})
}

// send runs the scp program on the remote machine, and calls its argument send to transfer the
// data.
func (t *sshTarget) send(ctx context.Context, command, dst string, send func(*scp) error) error {
	if t.conn.windows {
		if err := checkWindowsPath(dst); err != nil {
			return err
		}
	}
	session, done, err := t.session(ctx)
	if err != nil {
		return err
	}
	defer done()
	in, err := session.StdinPipe()
	if err != nil {
		return err
	}
	out, err := session.StdoutPipe()
	if err != nil {
		return err
	}
	stderr := &tail{max: errorOutput}
	session.Stderr = stderr
	if err := session.Start(command + quote(dst, t.conn.windows)); err != nil {
		return t.explain(ctx, err)
	}
	s := &scp{to: in, from: bufio.NewReader(out)}
	failed := s.answer()
	if failed == nil {
		failed = send(s)
	}
	in.Close()
	go io.Copy(io.Discard, s.from) // a command blocks if its output isn't read
	ended := session.Wait()
	if ctx.Err() != nil {
		return t.explain(ctx, ctx.Err())
	}
	if exit, ok := errors.AsType[*ssh.ExitError](ended); ok && exit.ExitStatus() == 127 {
		return errors.New("the remote host has no scp program; install the OpenSSH client on it")
	}
	switch text := strings.TrimSpace(stderr.String()); {
	case failed != nil && text != "" && !errors.Is(failed, io.EOF):
		return fmt.Errorf("%w (%s)", failed, text)
	case failed != nil:
		return failed
	case ended != nil && text != "":
		return fmt.Errorf("scp: %w (%s)", ended, text)
	case ended != nil:
		return fmt.Errorf("scp: %w", ended)
	}
	return nil
}

func (t *sshTarget) script(ctx context.Context, text []byte, out io.Writer) error {
	path := t.conn.scriptFile()
	if !t.conn.windows {
		text = withShell(text)
	}
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	if err := t.upload(ctx, path, base, int64(len(text)), bytes.NewReader(text)); err != nil {
		return fmt.Errorf("uploading it to %s: %w", path, err)
	}
	if t.conn.windows {
		// No single command removes files in every shell, so an empty file replaces the script.
		defer t.upload(ctx, path, base, 0, bytes.NewReader(nil))
		return t.command(ctx, path, out)
	}
	quoted := quote(path, false)
	defer t.quiet(ctx, "rm -f "+quoted)
	if err := t.quiet(ctx, "chmod 0777 "+quoted); err != nil {
		return err
	}
	return t.command(ctx, quoted, out)
}

// command runs a command. It requests a terminal, except on Windows. Some programs require one, and
// if the connection is lost, the end of the terminal tells the command to end.
func (t *sshTarget) command(ctx context.Context, line string, out io.Writer) error {
	session, done, err := t.session(ctx)
	if err != nil {
		return err
	}
	defer done()
	if !t.conn.windows {
		modes := ssh.TerminalModes{ssh.ECHO: 0, ssh.TTY_OP_ISPEED: 14400, ssh.TTY_OP_OSPEED: 14400}
		if err := session.RequestPty("xterm", 40, 80, modes); err != nil {
			return t.explain(ctx, err)
		}
	}
	if t.agent != nil {
		// If forwarding fails, a script that needs the agent will report an error.
		_ = agent.RequestAgentForwarding(session)
	}
	both := &lockedWriter{to: out}
	session.Stdout, session.Stderr = both, both
	if err := session.Run(line); err != nil {
		return t.explain(ctx, err)
	}
	return nil
}

// quiet runs a command whose output appears only in its error. The command may run even after the
// end of the context, because it may be needed to clean up.
func (t *sshTarget) quiet(ctx context.Context, line string) error {
	session, err := t.client.NewSession()
	if err != nil {
		return t.explain(ctx, err)
	}
	defer session.Close()
	output, err := session.CombinedOutput(line)
	if err != nil {
		return fmt.Errorf("%s: %w (%s)", line, t.explain(ctx, err), bytes.TrimSpace(output))
	}
	return nil
}

// explain returns an error that says why a command has ended, for example that it was interrupted.
func (t *sshTarget) explain(ctx context.Context, err error) error {
	var exit *ssh.ExitError
	var missing *ssh.ExitMissingError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("interrupted: %w", err)
	case errors.As(err, &exit) && exit.Signal() != "":
		return fmt.Errorf("the command was ended by signal %s", exit.Signal())
	case errors.As(err, &exit):
		return fmt.Errorf("exit status %d", exit.ExitStatus())
	case errors.As(err, &missing):
		return errors.New("the connection ended before the command did")
	}
	return err
}
