package command

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/registry"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
)

var cmdLogin = &Command{
	Name: "login", Args: "HOSTNAME", Short: "Get and store a token for a host",
	Long: `
Obtains an API token for a host and stores it: with the credentials helper if
the CLI configuration names one, otherwise in credentials.tfrc.json in the
directory of the CLI configuration. The host asks for your approval in the
browser.`,
	New: with((*viewFlags).addJSON, runLogin),
}

var cmdLogout = &Command{
	Name: "logout", Args: "HOSTNAME", Short: "Forget the token for a host",
	Long: `
Removes the token for a host that "tofu login" stored on this machine. The
token stays valid until it is revoked on the host.`,
	New: with((*viewFlags).addJSON, func(ctx context.Context, app *App, _ *viewFlags, args []string) error {
		host, err := hostArgument(args)
		if err != nil {
			return err
		}
		tokens := cliconfig.NewTokens(app.CLI)
		if err := tokens.Forget(ctx, host); err != nil {
			return fmt.Errorf("removing the token for %s: %w", host, err)
		}
		app.Success(fmt.Sprintf("Success! The token for %s, if there was one, has been removed.", host))
		return nil
	}),
}

func hostArgument(args []string) (string, error) {
	if len(args) != 1 {
		return "", badUsage("Invalid number of arguments", "Expected a single argument, the name of a host.")
	}
	host, err := addrs.ParseHost(args[0])
	if err != nil {
		return "", tfdiags.Errorf("Invalid hostname", "The given hostname %q is not valid: %s.", args[0], err)
	}
	return host, nil
}

func runLogin(ctx context.Context, app *App, _ *viewFlags, args []string) error {
	host, err := hostArgument(args)
	if err != nil {
		return err
	}
	client := registry.New(app.CLI)
	service, err := client.Login(ctx, host)
	if registry.IsNoService(err) {
		return tfdiags.Errorf("Host does not support login",
			"The host %s does not offer a login service, so create a token on its own "+
				"pages. Put it into a \"credentials\" block of the CLI configuration or the environment "+
				"variable TF_TOKEN_<host>.", host)
	}
	if err != nil {
		return err
	}
	tokens := client.Tokens()
	if tokens.Written(host) {
		return tfdiags.Errorf("The credentials are maintained by hand",
			"The CLI configuration has a \"credentials\" block for %s, "+
				"which would still be used. Remove it, and log in again.", host)
	}
	where := "the file " + tokens.File() + ", in plain text"
	if app.CLI.Helper != nil {
		where = "the credentials helper " + app.CLI.Helper.Name
	}
	ok, err := app.Confirm(ctx, terminal.Question{
		AnyCase: true,
		Title:   "Do you want to proceed?",
		Text: fmt.Sprintf("tofu will request a token for %s in your browser and store it\nfor other "+
			"commands in %s.",
			host, where),
	})
	if err != nil {
		return err
	}
	if !ok {
		app.Say("Login cancelled.")
		return exitStatus(1)
	}
	token, err := newBrowserLogin(client, service).token(ctx, app.Terminal, app.Env("BROWSER"))
	if err != nil {
		return fmt.Errorf("getting a token from %s: %w", host, err)
	}
	if err := tokens.Store(ctx, host, token); err != nil {
		return fmt.Errorf("storing the token: %w", err)
	}
	app.Success("\nSuccess! A token for " + host + " was obtained and stored in " + where + ".")
	return nil
}

// lastPage is the maximum time to wait for the browser to load the last page of a login.
const lastPage = 2 * time.Second

// browserLogin lets the user log in with a browser and receives the code on a local port. The code
// is useless without the verifier, which is sent only in the exchange.
type browserLogin struct {
	client   *registry.Client
	service  *registry.Login
	state    string // marks requests that belong to this login
	verifier string
	answers  chan url.Values // receives the first answer of the host
}

func newBrowserLogin(client *registry.Client, service *registry.Login) *browserLogin {
	return &browserLogin{client: client, service: service, state: rand.Text(), verifier: rand.Text() + rand.Text(),
		answers: make(chan url.Values, 1)}
}

// token returns the token that the host grants. browser is the program that opens the page; ""
// means the default browser.
func (l *browserLogin) token(ctx context.Context, t *terminal.Terminal, browser string) (string, error) {
	listener, err := listenLocally(l.service.Ports)
	if err != nil {
		return "", err
	}
	defer listener.Close()
	server := &http.Server{Handler: l}
	go func() { _ = server.Serve(listener) }()
	defer func() {
		wait, cancel := context.WithTimeout(context.Background(), lastPage)
		defer cancel()
		_ = server.Shutdown(wait) // an error means only that the browser kept its connection open
	}()

	redirect := fmt.Sprintf("http://localhost:%d/login", listener.Addr().(*net.TCPAddr).Port)
	digest := sha256.Sum256([]byte(l.verifier))
	page := l.service.AuthzURL(l.state, base64.RawURLEncoding.EncodeToString(digest[:]), redirect)
	t.Say("\nIf no browser opens, open this page:\n    %s\n\nWaiting for the host to confirm...", page)
	openBrowser(browser, page)
	select {
	case q := <-l.answers:
		if q.Get("code") == "" {
			reason := strings.TrimSpace(q.Get("error") + " " + q.Get("error_description"))
			return "", fmt.Errorf("the login was not granted: %s", cmp.Or(reason, "the host sent no reason"))
		}
		return l.client.Exchange(ctx, l.service, q.Get("code"), l.verifier, redirect)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ServeHTTP receives the answer that the host sends through the browser.
func (l *browserLogin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.URL.Path != "/login":
		http.NotFound(w, r)
		return
	case q.Get("state") != l.state:
		http.Error(w, "This page belongs to another login.", http.StatusBadRequest)
		return
	case q.Get("code") == "":
		http.Error(w, "The login was not granted. You can close this page.", http.StatusBadRequest)
	default:
		fmt.Fprintln(w, "<!DOCTYPE html>\n<title>Login</title>\n<p>The login was granted. You can close "+
			"this page and return to the terminal.</p>")
	}
	select {
	case l.answers <- q:
	default: // the browser requested the page again
	}
}

// listenLocally opens a port in the range that the host allows.
func listenLocally(ports [2]int) (net.Listener, error) {
	if ports[0] == 0 {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	var problem error // of the first port
	for port := ports[0]; port <= ports[1]; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return l, nil
		}
		if problem == nil {
			problem = err
		}
	}
	return nil, fmt.Errorf("none of the ports that the host allows, %d to %d, can be opened: %w", ports[0], ports[1],
		problem)
}

// openBrowser opens a page in a browser. A failure is not an error, because the address of the
// page has already been printed.
func openBrowser(program, page string) {
	args := []string{page}
	if program == "" {
		switch runtime.GOOS {
		case "darwin":
			program = "open"
		case "windows":
			program, args = "rundll32", []string{"url.dll,FileProtocolHandler", page}
		default:
			program = "xdg-open"
		}
	}
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err == nil {
		go func() { _ = cmd.Wait() }()
	}
}
