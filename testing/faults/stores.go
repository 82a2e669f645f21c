//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"tofu/internal/testenv/s3test"
)

// storeKind is a backend whose service is reached through a proxy. The proxy can make requests
// fail.
type storeKind struct {
	name     string
	services []string // environment variables with the addresses of the services
	// prepare creates an empty store with the given name. The services of the store are reached
	// through g.
	prepare func(g *gateway, name string) (*preparedStore, error)
	faults  []storeFault // faults in addition to storeFaults
}

var storeKinds = []storeKind{
	{"s3", []string{"TEST_S3_URL", "TEST_DYNAMODB_URL"}, prepareS3, nil},
	{"azurerm", []string{"TEST_AZURE_URL"}, prepareAzure, azureFaults},
	{"gcs", []string{"TEST_GCS_URL"}, prepareGCS, nil},
}

// preparedStore is an empty store that is reached through proxies.
type preparedStore struct {
	block string   // the backend block
	env   []string // environment variables for the program
	close func()   // stops the proxies
}

// prepareS3 creates a bucket and a table. The state is locked in both.
func prepareS3(g *gateway, name string) (*preparedStore, error) {
	var proxies []string
	out := &preparedStore{close: func() {}}
	for _, service := range []string{"TEST_S3_URL", "TEST_DYNAMODB_URL"} {
		server, err := g.serve(os.Getenv(service))
		if err != nil {
			return nil, err
		}
		proxies = append(proxies, server.URL)
		stopOthers := out.close
		out.close = func() {
			stopOthers()
			server.Close()
		}
	}
	s, err := s3test.New(context.Background(), os.Getenv("TEST_S3_URL"), os.Getenv("TEST_DYNAMODB_URL"), name)
	if err != nil {
		return nil, err
	}
	out.block = fmt.Sprintf(`
terraform {
  backend "s3" {
    bucket         = %[1]q
    key            = "state"
    region         = "us-east-1"
    use_path_style = true
    use_lockfile   = true
    dynamodb_table = %[1]q
    max_retries    = 1
    endpoints      = { s3 = %[2]q, dynamodb = %[3]q }
  }
}
`, name, proxies[0], proxies[1])
	out.env = []string{"AWS_ACCESS_KEY_ID=" + s.AccessKey, "AWS_SECRET_ACCESS_KEY=" + s.SecretKey,
		"AWS_EC2_METADATA_DISABLED=true"}
	return out, nil
}

// storeFault is a way in which a request can fail.
type storeFault struct {
	name    string
	forever bool // whether all later requests of the run fail, too
	// fail handles the request. forward sends the request to the service and returns the response,
	// and kill kills the program. If fail is nil, the lock is removed from the service, and the
	// request is then sent normally.
	fail func(w http.ResponseWriter, forward func() *httptest.ResponseRecorder, kill func())
}

// hanging is the time for which a service hangs. It is longer than the program's timeout of one
// second.
const hanging = 3 * time.Second

func status(code int) func(http.ResponseWriter, func() *httptest.ResponseRecorder, func()) {
	return func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder, _ func()) { w.WriteHeader(code) }
}

func cutOff(http.ResponseWriter, func() *httptest.ResponseRecorder, func()) {
	panic(http.ErrAbortHandler)
}

var storeFaults = []storeFault{
	{"killed before it", false, func(w http.ResponseWriter, _ func() *httptest.ResponseRecorder, kill func()) {
		kill()
		panic(http.ErrAbortHandler)
	}},
	{"killed after it", false, func(w http.ResponseWriter, forward func() *httptest.ResponseRecorder, kill func()) {
		forward()
		kill()
		panic(http.ErrAbortHandler)
	}},
	{"status 500", false, status(http.StatusInternalServerError)},
	{"status 500 from then on", true, status(http.StatusInternalServerError)},
	{"status 503", false, status(http.StatusServiceUnavailable)},
	{"no connection", false, cutOff},
	{"no connection from then on", true, cutOff},
	{"response lost", false, func(_ http.ResponseWriter, forward func() *httptest.ResponseRecorder, _ func()) {
		forward()
		panic(http.ErrAbortHandler)
	}},
	{"responses lost from then on", true,
		func(_ http.ResponseWriter, forward func() *httptest.ResponseRecorder, _ func()) {
			forward()
			panic(http.ErrAbortHandler)
		}},
	{"hangs", false, func(http.ResponseWriter, func() *httptest.ResponseRecorder, func()) { time.Sleep(hanging) }},
	{"response cut off", false, func(w http.ResponseWriter, forward func() *httptest.ResponseRecorder, _ func()) {
		got := forward()
		maps.Copy(w.Header(), got.Header())
		w.Header().Set("Content-Length", fmt.Sprint(got.Body.Len()+1)) // one byte more than is sent
		w.WriteHeader(got.Code)
		_, _ = w.Write(got.Body.Bytes())
	}},
}

// gateway consists of the proxies for the services of one store. It counts requests and makes some
// of them fail.
type gateway struct {
	mu       sync.Mutex
	requests int
	first    int // number of the first request that fails; 0 if none fails
	fault    storeFault
	kill     func()
	unlock   func() // removes the lock from the service
}

// serve starts a proxy for a service.
func (g *gateway) serve(address string) (*httptest.Server, error) {
	to, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	to.User = nil
	// Keep the Host header of the client, because signatures include it.
	proxy := &httputil.ReverseProxy{
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
	return httptest.NewServer(g.watch(proxy)), nil
}

// watch counts the requests to a service and makes some of them fail.
func (g *gateway) watch(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		g.mu.Lock()
		g.requests++
		bad := g.first > 0 && (g.requests == g.first || g.fault.forever && g.requests > g.first)
		fail, kill := g.fault.fail, g.kill
		g.mu.Unlock()
		if !bad {
			service.ServeHTTP(w, r)
			return
		}
		forward := func() *httptest.ResponseRecorder {
			out := httptest.NewRecorder()
			service.ServeHTTP(out, r.WithContext(context.WithoutCancel(r.Context())))
			return out
		}
		if fail == nil {
			g.unlock()
			service.ServeHTTP(w, r)
			return
		}
		fail(w, forward, kill)
	})
}

// arm makes the n-th request from now on fail in the way that f describes.
func (g *gateway) arm(n int, f storeFault, kill func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.requests, g.first, g.fault, g.kill = 0, n, f, kill
}

// disarm ends the faults. It reports whether the run sent too few requests for the fault to occur.
func (g *gateway) disarm() (fewer bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fewer = g.requests < g.first
	g.first = 0
	return fewer
}

// atEveryStoreRequest makes each request to each kind of store fail in turn, in every way.
func (o *options) atEveryStoreRequest(report func(string, *tally)) error {
	for _, kind := range storeKinds {
		if missing := kind.missing(); missing != "" {
			fmt.Printf("stores: %s skipped, because %s isn't set; run this with testing/services/run.sh\n",
				kind.name, missing)
			continue
		}
		for _, op := range o.operations() {
			sum := &tally{}
			point := 0
			for i, fault := range slices.Concat(storeFaults, kind.faults) {
				for n := 1; ; n++ {
					point++
					if !o.chosen(point) && n > 1 {
						if n > mostRequests {
							break
						}
						continue
					}
					fewer, err := o.badStoreRequest(kind, op, fault,
						n, fmt.Sprintf("faults-%d-%s-%d-%d", os.Getpid(), op.name, i, n), sum)
					if err != nil {
						return fmt.Errorf("%s: %w", kind.name, err)
					}
					if fewer {
						break
					}
				}
			}
			report(kind.name+" requests of "+op.name, sum)
		}
	}
	return nil
}

// mostRequests is larger than the number of requests in any operation.
const mostRequests = 14

func (k storeKind) missing() string {
	for _, name := range k.services {
		if os.Getenv(name) == "" {
			return name
		}
	}
	return ""
}

// badStoreRequest performs one run in which the n-th request fails. fewer reports whether the run
// made fewer than n requests.
func (o *options) badStoreRequest(kind storeKind, op operation, fault storeFault, n int, name string,
	sum *tally) (fewer bool, err error) {
	g := &gateway{}
	store, err := kind.prepare(g, name)
	if err != nil {
		return false, err
	}
	defer store.close()
	t, err := o.newTrial(10)
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(t.top)
	t = t.with(append(store.env, "TOFU_HTTP_TIMEOUT=1")...)
	if err := os.WriteFile(filepath.Join(t.work, "backend.tf"), []byte(store.block), 0o644); err != nil {
		return false, err
	}
	if err := t.must("init", "-input=false"); err != nil {
		return false, err
	}
	if op.before != nil {
		if err := t.must(op.before...); err != nil {
			return false, err
		}
	}
	cmd := t.command(op.args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // plugins of a killed program still have the pipes open for a moment
	if err := cmd.Start(); err != nil {
		return false, err
	}
	killed := false
	g.arm(n, fault, func() { killed = true; _ = cmd.Process.Kill() })
	runErr := cmd.Wait()
	fewer = g.disarm()
	what := fmt.Sprintf("%s: request %d %s", op.name, n, fault.name)
	if killed {
		runErr = nil // a killed program can't report an error
	}
	t.ended(what, out.Bytes(), runErr, sum)
	t.unlock(what, sum)
	t.finish(op, sum)
	return fewer, nil
}

var lockID = regexp.MustCompile(` ID: +(\S+)`)

// unlock removes a lock that the run has left behind, with force-unlock, as users do.
func (t *trial) unlock(what string, sum *tally) {
	plan := func() string {
		out, _ := t.command("plan", "-input=false").CombinedOutput() // the output shows whether the plan has failed
		return string(out)
	}
	out := plan()
	if !strings.Contains(out, "Error acquiring the state lock") {
		return
	}
	id := lockID.FindStringSubmatch(out)
	if id == nil {
		sum.problem("%s: the lock that was left has no ID: %s", what, out)
		return
	}
	if text, err := t.command("force-unlock", "-force", id[1]).CombinedOutput(); err != nil {
		sum.problem("%s: force-unlock fails: %v: %s", what, err, text)
	}
}
