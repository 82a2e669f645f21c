package statemgr

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tofu/internal/filelock"
	"tofu/internal/staging"
)

const (
	syncDelay   = 50 * time.Millisecond // the longest an entry waits to be synced
	reserveStep = 2 << 20               // how much space is prepared at a time
	reserveLow  = 1 << 20               // what must stay prepared, for the steps that run when the disk fills up
	maxLine     = 256 << 20             // no entry is longer
)

// A journal is the open journal of a running operation. Its lock on the file tells others that the operation is running.
//
// The file is longer than its entries: zeros that were written beforehand follow them, and entries are written over the zeros. So
// there is room for entries when the disk is full, and syncing them changes no more than data: it need not wait for the file
// system's own journal, nor does everybody who makes files on that disk, the providers among them, have to wait for it.
type journal struct {
	path  string
	codec Codec
	fail  func(error) // told of the first trouble, by which nothing may be lost yet

	mu       sync.Mutex
	f        *os.File
	size     int64 // of the entries
	reserved int64 // of the file
	entries  int   // besides the header and what it took over
	carries  bool  // it took over interrupted steps of an earlier run
	failed   bool  // fail has been told
	err      error // why entries are missing

	wake   chan struct{}
	done   chan struct{}
	closed chan struct{}
}

// openJournal makes a new journal with these entries. A finished or killed run's journal in its place is replaced.
func openJournal(path string, codec Codec, fail func(error), first []*entry) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if live, err := isLive(path, codec); err != nil {
		return nil, err
	} else if live {
		return nil, fmt.Errorf("%s belongs to a run that is still going on: wait until it ends", path)
	}
	j := &journal{path: path, codec: codec, fail: fail, wake: make(chan struct{}, 1), done: make(chan struct{}), closed: make(chan struct{})}
	var text []byte
	for _, e := range first {
		line, err := j.line(e)
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
	}
	temp := path + ".new"
	if err := staging.RemoveLink(temp); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	j.f = f
	if err = filelock.Lock(f); !errors.Is(err, filelock.ErrHeld) { // where there are no locks, the first line says whose it is
		err = j.write(text)
	}
	if err == nil {
		err = j.reserve()
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		f.Close()
		os.Remove(temp)
		return nil, err
	}
	if j.f, err = rename(f, path); err != nil {
		os.Remove(temp)
		return nil, err
	}
	go j.syncer()
	return j, nil
}

// isLive tells whether a process holds the journal's lock or, where the file system has no locks, whether the one that wrote it runs.
func isLive(path string, codec Codec) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return false, nil // whoever can't write it can read it at most
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = filelock.LockShared(f) // others may be looking too
	if err == nil || errors.Is(err, filelock.ErrHeld) {
		return err != nil, nil
	}
	entries, _, err := readJournal(context.Background(), path, codec) // also at the end of a run that was interrupted
	if err != nil || len(entries) == 0 || entries[0].Header == nil {
		return false, nil // whoever needs to read it is told what is wrong
	}
	pid, here := processHere(entries[0].Header.Process)
	return here && pid != os.Getpid() && !ended(pid), nil
}

// line is an entry's text.
func (j *journal) line(e *entry) ([]byte, error) {
	text, err := e.text()
	if err != nil {
		return nil, err
	}
	if j.codec != nil {
		if text, err = j.codec.Encrypt(text); err != nil {
			return nil, fmt.Errorf("encrypting the journal: %w", err)
		}
		var one bytes.Buffer
		if err := json.Compact(&one, text); err != nil {
			return nil, fmt.Errorf("encrypting the journal: %w", err)
		}
		text = one.Bytes()
	}
	return append(text, '\n'), nil
}

// append writes an entry. When it returns, the entry survives the end of this process.
func (j *journal) append(e *entry) {
	line, err := j.line(e)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		err = j.write(line)
	}
	if err != nil {
		j.err = errors.Join(j.err, err)
		j.trouble(err)
		return
	}
	j.entries++
	if err := j.reserve(); err != nil {
		j.trouble(err) // this entry is safe, and so are those of the steps that run; there is no room for many more
	}
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// write writes a line over the zeros; of one that didn't fit, nothing is left that the next would be stuck to.
func (j *journal) write(line []byte) error {
	n, err := j.f.WriteAt(line, j.size)
	if err != nil {
		if n > 0 {
			err = errors.Join(err, j.f.Truncate(j.size))
			j.reserved = j.size
		}
		return err
	}
	j.size += int64(n)
	j.reserved = max(j.reserved, j.size)
	return nil
}

var zeros [256 << 10]byte

// reserve sees to it that there is room for the next entries.
func (j *journal) reserve() error {
	if j.size+reserveLow <= j.reserved {
		return nil
	}
	for want := j.size + reserveStep; j.reserved < want; {
		n, err := j.f.WriteAt(zeros[:min(int64(len(zeros)), want-j.reserved)], j.reserved)
		j.reserved += int64(n)
		if err != nil && j.reserved < j.size+reserveLow {
			return fmt.Errorf("the disk with %s is full or nearly full: %w", j.path, err)
		}
		if err != nil {
			break // a smaller piece is enough for now
		}
	}
	return nil
}

func (j *journal) trouble(err error) {
	if !j.failed && j.fail != nil {
		go j.fail(err)
	}
	j.failed = true
}

// syncer syncs the file soon after each entry. It is the only one that waits for the disk.
func (j *journal) syncer() {
	defer close(j.closed)
	for {
		select {
		case <-j.wake:
		case <-j.done:
			return
		}
		select {
		case <-time.After(syncDelay):
		case <-j.done:
		}
		if err := syncData(j.f); err != nil {
			j.mu.Lock()
			j.trouble(fmt.Errorf("syncing the journal: %w", err))
			j.mu.Unlock()
		}
	}
}

// close ends the journal and leaves the file.
func (j *journal) close() {
	close(j.done)
	<-j.closed
	_ = j.f.Truncate(j.size)
	_ = j.f.Sync()
	j.f.Close()
}

// discard ends the journal and removes the file, while it is locked still, so that nobody takes it for a killed run's.
func (j *journal) discard() {
	close(j.done)
	<-j.closed
	removeLocked(j.f, j.path)
}

// readJournal reads the entries of a journal. Damaged ones are counted: the last one may be half-written, others mean that the
// file system lost something in a power cut.
func readJournal(ctx context.Context, path string, codec Codec) (entries []*entry, damaged int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	last := false // the last line was damaged
	for lines.Scan() {
		text := bytes.TrimRight(lines.Bytes(), "\x00")
		if len(text) == 0 {
			continue // what was prepared for the next entries
		}
		if last {
			damaged++
		}
		e := new(entry)
		if codec != nil {
			plain, _, err := codec.Decrypt(ctx, text)
			if err != nil && len(entries) == 0 {
				return nil, 0, fmt.Errorf("decrypting %s: %w", path, err)
			}
			text = plain
		}
		if last = json.Unmarshal(text, e) != nil; !last {
			entries = append(entries, e)
		}
	}
	return entries, damaged, lines.Err()
}
