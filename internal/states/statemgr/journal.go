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

	"tofu/internal/atomicfile"
	"tofu/internal/filelock"
)

const (
	syncDelay   = 50 * time.Millisecond // the longest time that an entry waits to be synced
	reserveStep = 2 << 20               // the number of bytes reserved at a time
	// the number of bytes to keep reserved, for steps in progress when the disk fills up
	reserveLow = 1 << 20
	maxLine    = 256 << 20 // the longest entry
)

// A journal is the open journal of a running operation. Other processes recognize a running
// operation by the lock on the file.
//
// The file is longer than its entries: it ends with zeros, which new entries overwrite. So there is
// room for some entries even if the disk is full. Because syncing an entry changes no metadata,
// neither this process nor the providers wait for the file system's own journal.
type journal struct {
	path  string
	codec Codec
	fail  func(error) // called with the first problem, when all entries so far are still safe

	mu       sync.Mutex
	f        *os.File
	size     int64 // length of the entries
	reserved int64 // length of the file
	entries  int   // number of entries, without those written by openJournal
	carries  bool  // the journal includes interrupted steps of an earlier run
	failed   bool  // fail was called
	err      error // why entries are missing; nil if none are missing

	wake   chan struct{}
	done   chan struct{}
	closed chan struct{}
}

// openJournal creates a journal with the given first entries. It replaces the journal of a finished
// or killed run.
func openJournal(path string, codec Codec, fail func(error), first []*entry) (*journal, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if live, err := inUse(path, codec); err != nil {
		return nil, err
	} else if live {
		return nil, fmt.Errorf("%s belongs to a run that is still in progress: wait until it ends", path)
	}
	j := &journal{
		path:   path,
		codec:  codec,
		fail:   fail,
		wake:   make(chan struct{}, 1),
		done:   make(chan struct{}),
		closed: make(chan struct{}),
	}
	var text []byte
	for _, e := range first {
		line, err := j.line(e)
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
	}
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		if err := setAside(path); err != nil {
			return nil, err
		}
	}
	temp := path + ".new"
	if err := atomicfile.RemoveLink(temp); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	j.f = f
	err = filelock.Lock(f)
	if !errors.Is(err, filelock.ErrHeld) { // without file locks, the begin entry names the process
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
	j.f, err = rename(f, path)
	if err != nil {
		os.Remove(temp)
		return nil, err
	}
	go j.syncer()
	return j, nil
}

// inUse reports whether a process holds the journal's lock. If the file system has no locks, it
// reports whether the process that created the journal is running.
func inUse(path string, codec Codec) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return false, nil // a process that can't write the journal only reads the state
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = filelock.LockShared(f) // other readers may check at the same time
	if err == nil || errors.Is(err, filelock.ErrHeld) {
		return err != nil, nil
	}
	entries, _, err := readJournal(context.Background(), path, codec) // this may run at the end of a canceled run
	if err != nil || len(entries) == 0 || entries[0].Header == nil {
		return false, nil // callers that need the entries get the problem from readJournal
	}
	pid, here := processHere(entries[0].Header.Process)
	return here && pid != os.Getpid() && !exited(pid), nil
}

// line returns an entry as a line of the journal.
func (j *journal) line(e *entry) ([]byte, error) {
	text, err := e.encode()
	if err != nil {
		return nil, err
	}
	if j.codec != nil {
		text, err = j.codec.Encrypt(text)
		if err != nil {
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

// append writes an entry. Once it has returned, the entry survives a crash of this process.
func (j *journal) append(e *entry) {
	line, err := j.line(e)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err == nil {
		err = j.write(line)
	}
	if err != nil {
		j.err = errors.Join(j.err, err)
		j.reportFailure(err)
		return
	}
	j.entries++
	if err := j.reserve(); err != nil {
		j.reportFailure(err) // only the steps in progress can still be recorded, in the space that is left
	}
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// write writes a line over the zeros. If it fails halfway, it removes the incomplete line, so that
// the next entry starts on a new line.
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

// reserve extends the file with zeros for the next entries.
func (j *journal) reserve() error {
	if j.size+reserveLow <= j.reserved {
		return nil
	}
	for target := j.size + reserveStep; j.reserved < target; {
		n, err := j.f.WriteAt(zeros[:min(int64(len(zeros)), target-j.reserved)], j.reserved)
		j.reserved += int64(n)
		if err != nil && j.reserved < j.size+reserveLow {
			return fmt.Errorf("can't reserve space for %s; check whether its disk is full: %w", j.path, err)
		}
		if err != nil {
			break // a smaller reserve is enough for now
		}
	}
	return nil
}

// reportFailure calls the fail function, once.
func (j *journal) reportFailure(err error) {
	if !j.failed && j.fail != nil {
		go j.fail(err)
	}
	j.failed = true
}

// syncer syncs the file soon after each entry. Nothing else waits for the disk.
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
			j.reportFailure(fmt.Errorf("syncing the journal: %w", err))
			j.mu.Unlock()
		}
	}
}

// close closes the journal and keeps the file.
func (j *journal) close() {
	close(j.done)
	<-j.closed
	_ = j.f.Truncate(j.size)
	_ = j.f.Sync()
	j.f.Close()
}

// discard removes the file and closes the journal. The file is removed while it is locked, so that
// it never looks like the journal of a killed run.
func (j *journal) discard() {
	close(j.done)
	<-j.closed
	removeLocked(j.f, j.path)
}

// readJournal returns the entries of a journal and the number of damaged ones. An incomplete last
// entry is not counted, because its write was interrupted. Any other damaged entry was damaged by
// the file system, for example in a power cut. It is an error if the first entry can't be
// decrypted, because the codec then has the wrong key.
func readJournal(ctx context.Context, path string, codec Codec) (entries []*entry, damaged int, err error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	last := false // whether the last line read is damaged
	for lines.Scan() {
		text := bytes.TrimRight(lines.Bytes(), "\x00")
		if len(text) == 0 {
			continue // reserved space
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
		last = json.Unmarshal(text, e) != nil
		if !last {
			entries = append(entries, e)
		}
	}
	return entries, damaged, lines.Err()
}
