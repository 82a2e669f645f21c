package workers

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// cutter passes bytes on between clients and the server of the tests, and cuts connections in a commit.
type cutter struct {
	dir string       // of its socket
	cut atomic.Int32 // what happens to the next commit: 0 for nothing, else cutBefore or cutAfter
}

const (
	cutBefore = 1 + iota // the commit doesn't reach the server
	cutAfter             // the answer to the commit doesn't reach the client
)

func newCutter(t *testing.T) *cutter {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "cutter") // socket paths must be short
	if err != nil {
		t.Fatal(err)
	}
	const socket = ".s.PGSQL.5432"
	c := &cutter{dir: dir}
	l, err := net.Listen("unix", filepath.Join(dir, socket))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = l.Close()
		_ = os.RemoveAll(dir)
	})
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("unix", filepath.Join(server.Dir(), socket))
			if err != nil {
				_ = client.Close()
				continue
			}
			go c.pass(client, to)
		}
	}()
	return c
}

func (c *cutter) pass(client, to net.Conn) {
	defer client.Close()
	defer to.Close()
	var mute atomic.Bool
	go func() {
		defer client.Close()
		for part := make([]byte, 1<<16); ; {
			n, err := to.Read(part)
			if err != nil || mute.Load() { // the answer to the commit
				return
			}
			if _, err := client.Write(part[:n]); err != nil {
				return
			}
		}
	}()
	for part := make([]byte, 1<<16); ; {
		n, err := client.Read(part)
		if err != nil {
			return
		}
		if bytes.Contains(part[:n], []byte("commit\x00")) {
			switch c.cut.Swap(0) {
			case cutBefore:
				return
			case cutAfter:
				mute.Store(true)
				_, _ = to.Write(part[:n])
				_, _ = io.Copy(io.Discard, client) // until the other direction closes it
				return
			}
		}
		if _, err := to.Write(part[:n]); err != nil {
			return
		}
	}
}

// TestLostCommits loses the connection in the commits of what enqueues and approves a run. A repetition does it once.
func TestLostCommits(t *testing.T) {
	b := newBench(t)
	c := newCutter(t)
	address := strings.Replace(b.address, "host="+server.Dir(), "host="+c.dir, 1)
	q, err := Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(q.Close)
	for name, cut := range map[string]int32{"before": cutBefore, "after": cutAfter} {
		t.Run(name, func(t *testing.T) {
			lost := 0
			patiently := func(do func() error) {
				t.Helper()
				c.cut.Store(cut)
				err := Patiently(t.Context(), func(format string, args ...any) {
					if strings.Contains(format, "doesn't answer") {
						lost++
						if text := args[1].(string); !strings.Contains(text, "may have happened (see \"tofu runs list\")") {
							t.Error(text)
						}
					}
				}, do)
				if err != nil {
					t.Error(err)
				}
			}
			r := &Run{ID: NewID(), Operation: "apply", Phase: 1, Priority: 2, Tasks: []*Task{{Root: "one", Input: []byte("{}")}}}
			enqueue := q.Enqueue(r)
			patiently(func() error { return enqueue(t.Context()) })
			b.exec("UPDATE runs SET status = $2 WHERE id = $1", r.ID, RunWaits)
			b.exec("UPDATE tasks SET status = 'done', outcome = '{}' WHERE run = $1", r.ID)
			approve, approved := q.Approve(r.ID, 1), false
			patiently(func() (err error) {
				approved, err = approve(t.Context())
				return err
			})
			if now, err := b.Run(t.Context(), r.ID); !approved || lost != 2 || err != nil || now.Phase != 2 {
				t.Errorf("approved: %t, with %d lost commits, %v, %v", approved, lost, now, err)
			}
			if again, err := q.Approve(r.ID, 1)(t.Context()); again || err != nil {
				t.Errorf("another approval: %t, %v", again, err)
			}
		})
	}
}
