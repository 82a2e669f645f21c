package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrInjected is the error that a FAIL rule causes. It is wrapped in the error that the operation
// returns.
var ErrInjected = errors.New("failed on purpose")

// ErrStopped is returned by an operation that hung until the provider was stopped.
var ErrStopped = errors.New("interrupted: the provider was asked to stop")

// ExitStatus is the exit status of an injected crash.
const ExitStatus = 3

// Plan holds the rules of a process. The zero Plan injects no faults.
type Plan struct {
	fail, crash, hang, stuck, delay, run []rule
	throttle, flaky                      []rule

	refused sync.Mutex // guards the next two fields
	seconds map[*rule]*second
	failed  map[string]int // how often a FLAKY rule has made an operation on an object fail

	command string // shell command of RUN rules
	logFile string
	logLock sync.Mutex
}

// rule matches operations by kind and name.
type rule struct {
	op, name string
	wait     time.Duration // duration in delay rules; unused in other rules
	number   int           // number in THROTTLE and FLAKY rules
}

// second counts the operations that a THROTTLE rule has let pass in a second.
type second struct {
	began  time.Time
	passed int
}

// slowOps lists the operations that DELAY_MS delays if it is a single number.
var slowOps = []string{"create", "update", "delete"}

// FromEnv reads the rules from environment variables whose names start with prefix and an
// underscore.
func FromEnv(prefix string) (*Plan, error) {
	p := &Plan{logFile: os.Getenv(prefix + "_LOG"), command: os.Getenv(prefix + "_COMMAND")}
	for _, v := range []struct {
		suffix string
		into   *[]rule
		parse  func(string) ([]rule, error)
	}{
		{"_FAIL", &p.fail, parseRule},
		{"_CRASH", &p.crash, parseRule},
		{"_HANG", &p.hang, parseRule},
		{"_STUCK", &p.stuck, parseRule},
		{"_DELAY_MS", &p.delay, parseDelay},
		{"_RUN", &p.run, parseRule},
		{"_THROTTLE", &p.throttle, parseNumber},
		{"_FLAKY", &p.flaky, parseNumber},
	} {
		for text := range strings.SplitSeq(os.Getenv(prefix+v.suffix), ",") {
			text = strings.TrimSpace(text)
			if text == "" {
				continue
			}
			rules, err := v.parse(text)
			if err != nil {
				return nil, fmt.Errorf("environment variable %s: %w", prefix+v.suffix, err)
			}
			*v.into = append(*v.into, rules...)
		}
	}
	return p, nil
}

// Around calls the function do, which performs the operation op on the named object. It injects the
// faults before and after that call. If p is nil, it only calls the function.
func (p *Plan) Around(ctx context.Context, op, name string, do func() error) (err error) {
	if p == nil {
		return do()
	}
	p.log("begin", op, name)
	defer func() {
		if err != nil {
			p.log("fail", op, name)
		} else {
			p.log("end", op, name)
		}
	}()
	if err := p.at(ctx, op, name); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := p.at(ctx, op+"-done", name); err != nil {
		return err
	}
	if err := p.at(ctx, op+"-read", name); err != nil {
		return fmt.Errorf("reading %s back: %w", name, err)
	}
	return nil
}

// at applies the rules for one point of an operation: before it or, if op ends in -done or -read, after
// it.
func (p *Plan) at(ctx context.Context, op, name string) error {
	if r := match(p.delay, op, name); r != nil {
		time.Sleep(r.wait) // a stop does not end the delay, unlike HANG
	}
	if match(p.run, op, name) != nil {
		p.runCommand(op, name)
	}
	if match(p.crash, op, name) != nil {
		fmt.Fprintf(os.Stderr, "crashing on purpose: %s %s\n", op, name)
		os.Exit(ExitStatus)
	}
	if match(p.stuck, op, name) != nil {
		select {}
	}
	if match(p.hang, op, name) != nil {
		<-ctx.Done()
		return ErrStopped
	}
	if r := match(p.throttle, op, name); r != nil && p.tooMany(r) {
		return fmt.Errorf("%s %s: api error ThrottlingException: Rate exceeded", op, name)
	}
	if r := match(p.flaky, op, name); r != nil && p.fails(r, op+" "+name) {
		return fmt.Errorf("%s %s: read tcp 192.0.2.1:443: connection reset by peer", op, name)
	}
	if match(p.fail, op, name) != nil {
		return fmt.Errorf("%s %s: %w", op, name, ErrInjected)
	}
	return nil
}

// tooMany reports whether there are more operations in this second than a THROTTLE rule lets pass.
func (p *Plan) tooMany(r *rule) bool {
	p.refused.Lock()
	defer p.refused.Unlock()
	s := p.seconds[r]
	if now := time.Now(); s == nil || now.Sub(s.began) >= time.Second {
		if p.seconds == nil {
			p.seconds = make(map[*rule]*second)
		}
		s = &second{began: now}
		p.seconds[r] = s
	}
	s.passed++
	return s.passed > r.number
}

// fails reports whether a FLAKY rule makes an operation on an object fail once more.
func (p *Plan) fails(r *rule, what string) bool {
	p.refused.Lock()
	defer p.refused.Unlock()
	if p.failed == nil {
		p.failed = make(map[string]int)
	}
	p.failed[what]++
	return p.failed[what] <= r.number
}

// runCommand runs the command for a RUN rule. If the command fails, the process exits, because the
// test depends on the command.
func (p *Plan) runCommand(op, name string) {
	cmd := exec.Command("sh", "-c", p.command)
	cmd.Env = append(os.Environ(), "ENGINE_PID="+strconv.Itoa(os.Getppid()))
	if out, err := cmd.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "running the command for %s %s: %s: %s\n", op, name, err, out)
		os.Exit(ExitStatus)
	}
}

// log appends a line to the log. If that fails, the process exits, because the test depends on the
// line.
func (p *Plan) log(event, op, name string) {
	if p.logFile == "" {
		return
	}
	p.logLock.Lock()
	defer p.logLock.Unlock()
	if err := appendLine(p.logFile, fmt.Sprintf("%s %s %s", event, op, name)); err != nil {
		fmt.Fprintf(os.Stderr, "writing the log of calls: %s\n", err)
		os.Exit(ExitStatus)
	}
}

func match(rules []rule, op, name string) *rule {
	for i, r := range rules {
		if r.op != op && (r.op != "*" || strings.HasSuffix(op, "-done") || strings.HasSuffix(op, "-read")) {
			continue
		}
		// There can't be an error, because parseRule has checked the pattern.
		if ok, _ := path.Match(r.name, name); ok || r.name == "*" {
			return &rules[i]
		}
	}
	return nil
}

func parseRule(text string) ([]rule, error) {
	op, name, ok := strings.Cut(text, ":")
	if !ok || op == "" || name == "" {
		return nil, fmt.Errorf("%q is not of the form OPERATION:NAME", text)
	}
	if _, err := path.Match(name, ""); err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	return []rule{{op: op, name: name}}, nil
}

// parseNumber parses OPERATION:NAME=NUMBER.
func parseNumber(text string) ([]rule, error) {
	i := strings.LastIndex(text, "=")
	n, err := strconv.Atoi(text[i+1:])
	if i < 0 || err != nil || n < 0 {
		return nil, fmt.Errorf("%q is not of the form OPERATION:NAME=NUMBER", text)
	}
	rules, err := parseRule(text[:i])
	if err != nil {
		return nil, err
	}
	rules[0].number = n
	return rules, nil
}

func parseDelay(text string) ([]rule, error) {
	number := text
	var rules []rule
	if i := strings.LastIndex(text, "="); i >= 0 {
		var err error
		rules, err = parseRule(text[:i])
		if err != nil {
			return nil, err
		}
		number = text[i+1:]
	} else {
		for _, op := range slowOps {
			rules = append(rules, rule{op: op, name: "*"})
		}
	}
	ms, err := strconv.Atoi(number)
	if err != nil || ms < 0 {
		return nil, fmt.Errorf("%q is neither a number of milliseconds nor OPERATION:NAME=MILLISECONDS", text)
	}
	for i := range rules {
		rules[i].wait = time.Duration(ms) * time.Millisecond
	}
	return rules, nil
}
