package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const pageSize = 4096

// smallDisk mounts a small file system on the trial's working directory. It then copies the content
// of the directory to the file system.
func (t *trial) smallDisk() (unmount func(), err error) {
	inside := t.top + "/inside"
	if err := os.Rename(t.work, inside); err != nil {
		return nil, err
	}
	if err := os.Mkdir(t.work, 0o755); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", t.work, "tmpfs", 0, "size=16m,nr_inodes=200"); err != nil {
		return nil, fmt.Errorf("mounting a small file system: %w", err)
	}
	return func() { _ = unix.Unmount(t.work, unix.MNT_DETACH) }, os.CopyFS(t.work, os.DirFS(inside))
}

// fill leaves only the given numbers of pages and inodes free on the small disk; -1 means no limit.
func (t *trial) fill(pages, inodes int) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(t.work, &fs); err != nil {
		return err
	}
	dir := filepath.Join(t.work, "fill")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if inodes >= 0 {
		for i := range int(fs.Ffree) - 1 - inodes {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
				return err
			}
		}
	}
	if pages < 0 {
		return nil
	}
	err := os.WriteFile(filepath.Join(dir, "pages"), make([]byte, max(0, int(fs.Bavail)-pages)*pageSize), 0o600)
	if errors.Is(err, unix.ENOSPC) {
		return nil // the disk is full, as intended
	}
	return err
}

func (t *trial) empty() error { return os.RemoveAll(filepath.Join(t.work, "fill")) }

// space is the amount of free space when a command starts.
type space struct{ pages, inodes int }

// spaces returns all amounts of free space that can make a difference: for each page or inode that
// is written, there is an amount with which writing it is the first write to fail. Amounts within
// the journal's reserved space are only sampled.
func spaces() []space {
	var out []space
	for i := range 12 {
		out = append(out, space{-1, i})
	}
	for pages := range 700 {
		if pages < 24 || pages > 250 && pages < 290 || pages > 505 && pages < 560 || pages%32 == 0 {
			out = append(out, space{pages, -1})
		}
	}
	return out
}

// onFullDisks runs all operations with each amount of free space, so that each write is the first
// to fail in some run. It also fills the disk at each provider call.
func (o *options) onFullDisks(report func(string, *tally)) error {
	if os.Geteuid() != 0 {
		fmt.Println("space: skipped, because only root can mount small file systems")
		return nil
	}
	for _, op := range o.operations() {
		err := o.onSmallDisk(o.objects, op.before,
			func(t *trial, saved *saved) error { return o.onFullDisksOf(t, saved, op, report) })
		if err != nil {
			return err
		}
	}
	return o.onSmallDisk(10, nil, func(t *trial, saved *saved) error { return o.savingOnFullDisks(t, saved, report) })
}

// onSmallDisk creates a trial, runs the given command in it if there is one, moves the working
// directory to a small disk, and saves the directories. Then it calls the function use.
func (o *options) onSmallDisk(objects int, before []string, use func(*trial, *saved) error) error {
	t, err := o.newTrial(objects)
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.top)
	if before != nil {
		if err := t.must(before...); err != nil {
			return err
		}
	}
	unmount, err := t.smallDisk()
	if err != nil {
		return err
	}
	defer unmount()
	saved, err := t.save()
	if err != nil {
		return err
	}
	return use(t, saved)
}

// onFullDisksOf runs one operation with each amount of free space, and fills the disk at each
// provider call.
func (o *options) onFullDisksOf(t *trial, saved *saved, op operation, report func(string, *tally)) error {
	sum := &tally{}
	for i, s := range spaces() {
		if !o.chosen(i) {
			continue
		}
		if err := errors.Join(saved.restore(), t.fill(s.pages, s.inodes)); err != nil {
			return err
		}
		if err := t.onFullDisk(t, fmt.Sprintf("%s with %+v", op.name, s), op, sum); err != nil {
			return err
		}
	}
	report("space for "+op.name, sum)
	sum = &tally{}
	for i, name := range t.names() {
		if !o.chosen(i) {
			continue
		}
		if err := saved.restore(); err != nil {
			return err
		}
		full := t.with("FILES_RUN="+op.name+":"+name,
			"FILES_COMMAND=mkdir "+t.work+"/fill; cat /dev/zero > "+t.work+"/fill/pages; true")
		if err := full.onFullDisk(t, op.name+" with a disk that fills up at "+name, op, sum); err != nil {
			return err
		}
	}
	report("space gone in "+op.name, sum)
	return nil
}

// onFullDisk runs an operation on a disk that is full or becomes full. free is the same trial
// without faults.
func (t *trial) onFullDisk(free *trial, what string, op operation, sum *tally) error {
	out, runErr := t.command(op.args...).CombinedOutput()
	if err := free.empty(); err != nil {
		return err
	}
	free.ended(what, out, runErr, sum)
	free.finish(op, sum)
	return nil
}

// savingOnFullDisks saves plan files and dependency lock files on disks that are full or become
// full. It checks that each file is written completely or stays unchanged.
func (o *options) savingOnFullDisks(t *trial, saved *saved, report func(string, *tally)) error {
	sum := &tally{}
	for i, s := range append(spaces()[:12:12], space{0, -1}, space{1, -1}, space{2, -1}, space{3, -1},
		space{4, -1}, space{5, -1}, space{6, -1}) {
		if !o.chosen(i) {
			continue
		}
		for _, c := range []struct {
			name, file string
			args       []string
			use        []string
		}{
			{"plan", "p.tfplan", []string{"plan", "-input=false", "-out=p.tfplan"}, []string{"show", "p.tfplan"}},
			{"lock", ".terraform.lock.hcl", []string{"init", "-input=false"}, []string{"providers", "schema", "-json"}},
		} {
			path := filepath.Join(t.work, c.file)
			if err := errors.Join(saved.restore(), os.RemoveAll(path), t.fill(s.pages, s.inodes)); err != nil {
				return err
			}
			sum.runs++
			runErr := t.must(c.args...)
			if err := t.empty(); err != nil {
				return err
			}
			_, err := os.Stat(path)
			switch {
			case runErr == nil && err != nil:
				sum.problem("%s with %+v: the command succeeded, but %s does not exist", c.name, s, c.file)
			case err == nil && t.must(c.use...) != nil:
				sum.problem("%s with %+v: %s can't be used", c.name, s, c.file)
			}
		}
	}
	report("space for plan and lock files", sum)
	return nil
}
