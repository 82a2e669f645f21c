package browser

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// program is the path of the program under test, which TestMain builds.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "tofu")
	build := exec.Command("go", "build", "-o", program, "./cmd/tofu")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		os.Exit(1)
	}
	status := m.Run()
	stopBrowser()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}

// found returns the path of the browser, or "" if no browser is installed.
func found() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// needBrowser skips the test if there is no browser, or fails it if REQUIRE_SERVICES is set.
func needBrowser(t testing.TB) {
	t.Helper()
	const missing = "Chromium is not installed; testing/setup.sh installs it"
	switch {
	case found() != "":
	case os.Getenv("REQUIRE_SERVICES") != "":
		t.Fatal("REQUIRE_SERVICES is set, but " + missing)
	default:
		t.Skip(missing)
	}
}

// workdir is a directory in which the program runs.
type workdir struct {
	t   testing.TB
	dir string
}

// newWorkdir writes files to a new directory and runs init in it.
func newWorkdir(t testing.TB, files map[string]string) *workdir {
	t.Helper()
	w := &workdir{t, t.TempDir()}
	if err := w.fill(files); err != nil {
		t.Fatal(err)
	}
	w.run("init")
	return w
}

// fill writes files and an empty CLI configuration.
func (w *workdir) fill(files map[string]string) error {
	files = maps.Clone(files)
	files["cli.tfrc"] = ""
	for name, text := range files {
		path := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// run runs the program. If the program fails, the test fails.
func (w *workdir) run(args ...string) {
	w.t.Helper()
	if err := w.try(args...); err != nil {
		w.t.Fatal(err)
	}
}

// try runs the program. If the program fails, the error includes its output.
func (w *workdir) try(args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1",
		"TF_CLI_CONFIG_FILE=" + filepath.Join(w.dir, "cli.tfrc")}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("tofu %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// tab is a browser tab with an open page.
type tab struct {
	t   testing.TB
	ctx context.Context

	mu       sync.Mutex
	problems []string // messages of the browser, dialogs, and requests for anything but the page
}

// browserContext starts the browser, which all tests share. Each test has its own tab.
var browserContext = sync.OnceValues(func() (context.Context, error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(found()), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.WindowSize(1400, 900))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, _ = chromedp.NewContext(ctx)
	stopBrowser = stop
	return ctx, chromedp.Do(ctx)
})

// stopBrowser stops the browser if it is running.
var stopBrowser = func() {}

// open opens a page in the directory in a new tab. The test fails at its end if the browser has
// reported a problem or the page has tried to load something.
func (w *workdir) open(name string) *tab {
	w.t.Helper()
	browser, err := browserContext()
	if err != nil {
		w.t.Fatal(err)
	}
	p := &tab{t: w.t}
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithListener(p.listen))
	w.t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil { // opens the tab; the timeout below must not apply to this call
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	w.t.Cleanup(cancel)
	p.ctx = ctx
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, log.Enable, cdp.Empty{}); err != nil {
		w.t.Fatal(err)
	}
	url := url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(w.dir, name))}
	p.do(chromedp.Navigate(url.String()), chromedp.WaitReady(chromedp.CSS(`html[data-ready]`)))
	w.t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			w.t.Errorf("the browser reports: %s", problem)
		}
	})
	return p
}

func (p *tab) listen(event any) {
	problem := ""
	switch e := event.(type) {
	case *log.EventEntryAdded:
		problem = e.Entry.Text
	case *cdpruntime.EventExceptionThrown:
		problem = fmt.Sprintf("%+v", e.ExceptionDetails)
	case *cdpruntime.EventConsoleAPICalled:
		problem = fmt.Sprintf("console.%s", e.Type)
	case *cdpage.EventJavascriptDialogOpening:
		problem = "a dialog: " + e.Message
	case *network.EventRequestWillBeSent:
		if e.Type != network.ResourceTypeDocument || e.Initiator.Type == network.InitiatorTypeScript {
			problem = "a request: " + e.Request.URL
		}
	}
	if problem != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.problems = append(p.problems, problem)
	}
}

func (p *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// click clicks the first element that a selector matches.
func (p *tab) click(selector string) {
	p.t.Helper()
	p.waitFor("an element "+selector, `document.querySelector(`+quote(selector)+`) !== null`)
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// enter clicks the box in the graph that has the given address.
func (p *tab) enter(address string) {
	p.t.Helper()
	p.click(`.item[data-address=` + quote(address) + `]`)
}

func quote(text string) string { return fmt.Sprintf("%q", text) }

// text returns the text of an element, or "" if there is no such element.
func (p *tab) text(selector string) string {
	p.t.Helper()
	return eval[string](p, `(document.querySelector(`+quote(selector)+`) || {}).innerText || ''`)
}

// boxes returns the addresses of all boxes in the graph.
func (p *tab) boxes() []string {
	p.t.Helper()
	return eval[[]string](p, `[...document.querySelectorAll('.item')].map((e) => e.dataset.address)`)
}

// eval evaluates an expression in the page.
func eval[T any](p *tab, expression string) T {
	p.t.Helper()
	out, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

// set sets the value of a control.
func (p *tab) set(selector, value string) {
	p.t.Helper()
	p.run(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q;
		e.dispatchEvent(new Event('input')); e.dispatchEvent(new Event('change')); })()`, selector, value))
}

// run runs a statement in the page.
func (p *tab) run(statement string) {
	p.t.Helper()
	eval[bool](p, statement+"; true")
}

// waitFor waits until an expression is true. If that takes too long, the test fails. what describes
// the condition.
func (p *tab) waitFor(what, expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if eval[bool](p, expression) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("waited for %s", what)
		}
	}
}

// says waits until the text of an element contains the given text. If that takes too long, the test
// fails.
func (p *tab) says(selector, text string) {
	p.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		found := p.text(selector)
		if strings.Contains(found, text) {
			return
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not say %q, but:\n%s", selector, text, found)
		}
	}
}
