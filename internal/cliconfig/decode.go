package cliconfig

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/pace"
	"tofu/internal/tfdiags"
)

// decoder fills a Config from one file after another.
type decoder struct {
	cfg          *Config
	installation *item // the provider_installation block
	protocols    *item // the registry_protocols block
	ociDefaults  *item // the oci_default_credentials block
	errs         tfdiags.Diagnostics
	warn         tfdiags.Sink
}

// settings lists the top-level settings.
var settings = map[string]func(*decoder, item) error{
	"plugin_cache_dir": (*decoder).cacheDir,
	"plugin_cache_may_break_dependency_lock_file": func(d *decoder, it item) error {
		return assign(&d.cfg.PluginCacheMayBreakLock, it.flag)
	},
	"minimum_release_age":     func(d *decoder, it item) error { return assign(&d.cfg.MinAge, it.age) },
	"minimal_refresh":         func(d *decoder, it item) error { return assign(&d.cfg.MinimalRefresh, it.flag) },
	"steady_providers":        (*decoder).steady,
	"parallelism":             func(d *decoder, it item) error { return limits(it, d.cfg.Limits.ParseCalls) },
	"provider_rate":           func(d *decoder, it item) error { return limits(it, d.cfg.Limits.ParseRates) },
	"view":                    (*decoder).view,
	"approval_keys":           (*decoder).approvalKeys,
	"credentials":             (*decoder).credentials,
	"credentials_helper":      (*decoder).helper,
	"host":                    (*decoder).host,
	"provider_installation":   (*decoder).providerInstallation,
	"registry_protocols":      (*decoder).registryProtocols,
	"oci_credentials":         (*decoder).ociCredentials,
	"oci_default_credentials": (*decoder).ociDefault,
}

// obsolete lists settings of old files, which are accepted and ignored. They control a check for
// new versions and a list of plugins, which this program doesn't have.
var obsolete = map[string]bool{"providers": true, "provisioners": true, "disable_checkpoint": true,
	"disable_checkpoint_signature": true}

// view decodes the view setting, the form in which plans are shown.
func (d *decoder) view(it item) error {
	text, err := it.text()
	if err == nil && !slices.Contains(Views, text) {
		err = fmt.Errorf("\"view\" must be one of %s, not %q", strings.Join(Views, ", "), text)
	}
	if err == nil {
		d.cfg.View = text
	}
	return err
}

// steady decodes the names of providers whose blocks need no new plan while nothing changes.
func (d *decoder) steady(it item) error {
	names, err := it.texts()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !pace.ValidName(name) {
			return fmt.Errorf("%q: %q is not the name of a provider, such as aws or hashicorp/aws", it.key, name)
		}
	}
	d.cfg.Steady = append(d.cfg.Steady, names...)
	return nil
}

// approvalKeys decodes the setting of that name: public keys for Ed25519 in base64.
func (d *decoder) approvalKeys(it item) error {
	texts, err := it.texts()
	if err != nil {
		return err
	}
	for _, text := range texts {
		der, err := base64.StdEncoding.DecodeString(text)
		var key any
		if err == nil {
			key, err = x509.ParsePKIXPublicKey(der)
		}
		public, ok := key.(ed25519.PublicKey)
		if err != nil || !ok {
			return fmt.Errorf("%q must be a list of public keys, each as \"openssl pkey -in FILE -pubout -outform DER | "+
				"base64\" prints that of an Ed25519 key, and %q is not one", it.key, text)
		}
		d.cfg.ApprovalKeys = append(d.cfg.ApprovalKeys, public)
	}
	return nil
}

// limits decodes a setting with limits of providers, which has the form of the option of that name.
func limits(it item, parse func(string) error) error {
	text, err := it.text()
	if err == nil {
		err = parse(text)
	}
	if err != nil {
		err = fmt.Errorf("%q: %w", it.key, err)
	}
	return err
}

func assign[T any](to *T, read func() (T, error)) error {
	v, err := read()
	if err == nil {
		*to = v
	}
	return err
}

func (d *decoder) file(obj object) {
	for _, it := range obj {
		set, ok := settings[it.key]
		if !ok {
			if !obsolete[it.key] {
				d.ignored(it, "There is no setting %q; it is ignored.", it.key)
			}
			continue
		}
		d.problem(it, set(d, it))
	}
}

// problem records err as an error in the item, or each error that is joined in err. A nil err is
// ignored.
func (d *decoder) problem(it item, err error) {
	if err == nil {
		return
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok { // several errors, from errors.Join
		for _, err := range all.Unwrap() {
			d.problem(it, err)
		}
		return
	}
	d.errs.Add(tfdiags.Errorf("Invalid CLI configuration", "%s", tfdiags.Sentence(err)).At(it.at))
}

// ignored warns about an unknown setting.
func (d *decoder) ignored(it item, detail string, args ...any) {
	d.warn(tfdiags.Warningf("Unknown setting in the CLI configuration", detail, args...).At(it.at))
}

// field describes an argument of a block.
type field struct {
	name string
	set  func(item) error
}

// block decodes a block with a fixed set of arguments. Unknown arguments are ignored with a
// warning, because the file may be for other programs, too.
func (d *decoder) block(it item, fields ...field) error {
	obj, err := it.object()
	if err != nil {
		return err
	}
next:
	for _, in := range obj {
		for _, f := range fields {
			if f.name == in.key {
				if err := f.set(in); err != nil {
					return fmt.Errorf("in %q: %w", it.key, err)
				}
				continue next
			}
		}
		d.ignored(in, "A block %q has no setting %q; it is ignored.", it.key, in.key)
	}
	return nil
}

func to[T any](target *T, read func(item) (T, error)) func(item) error {
	return func(it item) error { return assign(target, func() (T, error) { return read(it) }) }
}

func (d *decoder) credentials(it item) error {
	hosts, err := it.object()
	if err != nil {
		return err
	}
	var errs []error
	for _, in := range hosts {
		host, err := addrs.ParseHost(in.key)
		if err != nil {
			errs = append(errs, fmt.Errorf("credentials for %q: invalid host name: %w", in.key, err))
			continue
		}
		obj, err := in.object()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if d.cfg.Credentials == nil {
			d.cfg.Credentials = make(map[string]Credentials)
		}
		d.cfg.Credentials[host] = Credentials(obj.plain())
	}
	return errors.Join(errs...)
}

// plain converts an object and the objects in it to maps.
func (o object) plain() map[string]any {
	out := make(map[string]any, len(o))
	for _, it := range o {
		if nested, ok := it.value.(object); ok {
			out[it.key] = nested.plain()
		} else {
			out[it.key] = it.value
		}
	}
	return out
}

func (d *decoder) helper(it item) error {
	obj, err := it.object()
	switch {
	case d.cfg.Helper != nil:
		return fmt.Errorf("only one credentials_helper block is allowed; another one names %q", d.cfg.Helper.Name)
	case err != nil || it.form != labeled && len(obj) != 1:
		return errors.New("a credentials_helper block requires the helper's name as its label")
	}
	h := &Helper{Name: obj[0].key}
	if !isProgramName(h.Name) {
		return fmt.Errorf("%q is not a valid name of a credentials helper", h.Name)
	}
	err = d.block(obj[0], field{"args", to(&h.Args, item.texts)})
	if err == nil {
		d.cfg.Helper = h
	}
	return err
}

// isProgramName reports whether a name can be part of a program's name.
func isProgramName(name string) bool { return name != "" && !strings.ContainsAny(name, `/\`) }

// checkHelper drops a helper that isn't installed. This is not an error, because hosts that need no
// credentials don't need the helper.
func (d *decoder) checkHelper() {
	h := d.cfg.Helper
	if h == nil || h.program(d.cfg) != "" {
		return
	}
	d.warn(tfdiags.Warningf("The credentials helper isn't installed",
		"The CLI configuration names the credentials helper %q, but there is no program "+
			"terraform-credentials-%s in %s. Requests to hosts are sent without its credentials.",
		h.Name, h.Name, filepath.Join(d.cfg.Dir, "plugins")))
	d.cfg.Helper = nil
}

func (d *decoder) host(it item) error {
	hosts, err := it.object()
	if err != nil {
		return err
	}
	var errs []error
	for _, in := range hosts {
		name, err := addrs.ParseHost(in.key)
		if err != nil {
			errs = append(errs, fmt.Errorf("host %q: invalid host name: %w", in.key, err))
			continue
		}
		var services object
		age := time.Duration(-1)
		err = d.block(in, field{"services", to(&services, item.object)}, field{"minimum_release_age", to(&age, item.age)})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if age >= 0 {
			if d.cfg.HostAges == nil {
				d.cfg.HostAges = make(map[string]time.Duration)
			}
			d.cfg.HostAges[name] = age
			if services == nil {
				continue // the block doesn't replace service discovery
			}
		}
		if d.cfg.Hosts == nil {
			d.cfg.Hosts = make(map[string]Host)
		}
		all := services.plain()
		for service, where := range d.cfg.Hosts[name].Services { // services of the same host from an earlier block
			if _, again := all[service]; !again {
				all[service] = where
			}
		}
		d.cfg.Hosts[name] = Host{all}
	}
	return errors.Join(errs...)
}

func (d *decoder) registryProtocols(it item) error {
	if d.protocols != nil {
		return fmt.Errorf("only one registry_protocols block is allowed; another one is at %s", d.protocols.at)
	}
	d.protocols = &it
	seconds := 0
	err := d.block(it, field{"retry_count", to(&d.cfg.RegistryRetries, item.number)},
		field{"request_timeout_seconds", to(&seconds, item.number)})
	if err == nil && seconds > 0 {
		d.cfg.RegistryTimeout = secondsOf(seconds)
	}
	return err
}

// cacheDir reads the path of the plugin cache and expands environment variables in it.
func (d *decoder) cacheDir(it item) error {
	dir, err := it.text()
	if err == nil {
		d.cfg.PluginCacheDir = os.ExpandEnv(dir)
	}
	return err
}

// checkCacheDir warns if the plugin cache doesn't exist or can't be opened. A missing directory is
// created on first use, but the path may be wrong.
func (d *decoder) checkCacheDir() {
	dir := d.cfg.PluginCacheDir
	if dir == "" {
		return
	}
	origin := "plugin_cache_dir"
	if name, value := variable("PLUGIN_CACHE_DIR"); value != "" {
		origin = name
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.warn(tfdiags.Warningf("The plugin cache directory doesn't exist",
			"The plugin cache directory %s, set by %s, doesn't exist. It will be created on first use.", dir, origin))
	case err != nil:
		d.warn(tfdiags.Warningf("The plugin cache directory can't be opened",
			"The plugin cache directory %s, set by %s, can't be opened: %s. Providers can't be installed.",
			dir, origin, reason(err)))
	case !info.IsDir():
		d.errs.Add(tfdiags.Errorf("The plugin cache is not a directory",
			"The plugin cache directory %s, set by %s, is not a directory. Providers can't be installed.", dir, origin))
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	d.cfg.PluginCacheDir = dir
}
