package cliconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// decoder fills a Config from one file after another.
type decoder struct {
	cfg          *Config
	installation *item // the provider_installation block that was met
	diags        tfdiags.Diagnostics
}

// settings is the table of top-level settings.
var settings = map[string]func(*decoder, item) error{
	"plugin_cache_dir":                            func(d *decoder, it item) error { return assign(&d.cfg.PluginCacheDir, it.text) },
	"disable_checkpoint":                          func(d *decoder, it item) error { return assign(&d.cfg.DisableCheckpoint, it.flag) },
	"disable_checkpoint_signature":                func(d *decoder, it item) error { return assign(&d.cfg.DisableCheckpointSignature, it.flag) },
	"plugin_cache_may_break_dependency_lock_file": func(d *decoder, it item) error { return assign(&d.cfg.PluginCacheMayBreakLock, it.flag) },
	"credentials":                                 (*decoder).credentials,
	"credentials_helper":                          (*decoder).helper,
	"host":                                        (*decoder).host,
	"provider_installation":                       (*decoder).providerInstallation,
	"registry_protocols":                          (*decoder).registryProtocols,
	"oci_credentials":                             (*decoder).ociCredentials,
	"oci_default_credentials":                     (*decoder).ociDefault,
}

// obsolete settings are accepted for the sake of old files and mean nothing.
var obsolete = map[string]bool{"providers": true, "provisioners": true}

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
				d.warn(it, "There is no setting %q; it is ignored.", it.key)
			}
			continue
		}
		if err := set(d, it); err != nil {
			d.diags = d.diags.Append(tfdiags.Errorf("Invalid CLI configuration", "%s.", err).At(it.at))
		}
	}
}

func (d *decoder) warn(it item, detail string, args ...any) {
	d.diags = d.diags.Append(tfdiags.Warningf("Unknown setting in the CLI configuration", detail, args...).At(it.at))
}

// field is what a block may contain.
type field struct {
	name string
	set  func(item) error
}

// block decodes a block with fixed fields. Unknown ones are ignored with a warning, as other programs share the file.
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
		d.warn(in, "A block %q has no setting %q; it is ignored.", it.key, in.key)
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
	for _, in := range hosts {
		host, err := addrs.ParseHost(in.key)
		if err != nil {
			return fmt.Errorf("credentials for %q: that is no host name: %w", in.key, err)
		}
		obj, err := in.object()
		if err != nil {
			return err
		}
		if d.cfg.Credentials == nil {
			d.cfg.Credentials = make(map[string]Credentials)
		}
		d.cfg.Credentials[host] = Credentials(obj.plain())
	}
	return nil
}

// plain turns an object into ordinary maps.
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
	if err != nil || len(obj) != 1 || d.cfg.Helper != nil {
		return fmt.Errorf("there may be one credentials_helper block, with the helper's name as its label")
	}
	h := &Helper{Name: obj[0].key}
	if h.Name == "" || strings.ContainsAny(h.Name, `/\`) {
		return fmt.Errorf("%q is no name of a credentials helper", h.Name)
	}
	d.cfg.Helper = h
	return d.block(obj[0], field{"args", to(&h.Args, item.texts)})
}

func (d *decoder) host(it item) error {
	hosts, err := it.object()
	if err != nil {
		return err
	}
	for _, in := range hosts {
		name, err := addrs.ParseHost(in.key)
		if err != nil {
			return fmt.Errorf("host %q: that is no host name: %w", in.key, err)
		}
		var services object
		if err := d.block(in, field{"services", to(&services, item.object)}); err != nil {
			return err
		}
		if d.cfg.Hosts == nil {
			d.cfg.Hosts = make(map[string]Host)
		}
		d.cfg.Hosts[name] = Host{services.plain()}
	}
	return nil
}

func (d *decoder) registryProtocols(it item) error {
	seconds := 0
	err := d.block(it, field{"retry_count", to(&d.cfg.RegistryRetries, item.number)}, field{"request_timeout_seconds", to(&seconds, item.number)})
	if err == nil && seconds > 0 {
		d.cfg.RegistryTimeout = secondsOf(seconds)
	}
	return err
}

func (d *decoder) ociCredentials(it item) error {
	places, err := it.object()
	if err != nil {
		return err
	}
	for _, in := range places {
		c := OCICredentials{}
		c.Registry, c.Path, _ = strings.Cut(in.key, "/")
		err := d.block(in, field{"username", to(&c.Username, item.text)}, field{"password", to(&c.Password, item.text)},
			field{"access_token", to(&c.AccessToken, item.text)}, field{"refresh_token", to(&c.RefreshToken, item.text)},
			field{"docker_credentials_helper", to(&c.DockerCredentialHelper, item.text)})
		if err != nil {
			return err
		}
		if err := c.check(in.key); err != nil {
			return err
		}
		d.cfg.OCICredentials = append(d.cfg.OCICredentials, c)
	}
	return nil
}

func (c OCICredentials) check(label string) error {
	kinds := 0
	for _, given := range []bool{c.Username != "" || c.Password != "", c.AccessToken != "" || c.RefreshToken != "", c.DockerCredentialHelper != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case c.Registry == "":
		return fmt.Errorf("oci_credentials %q: the label starts with the registry's host name", label)
	case kinds != 1 || (c.Username == "") != (c.Password == "") || (c.AccessToken == "") != (c.RefreshToken == ""):
		return fmt.Errorf("oci_credentials %q: give username and password, access_token and refresh_token, or docker_credentials_helper", label)
	case c.DockerCredentialHelper != "" && c.Path != "":
		return fmt.Errorf("oci_credentials %q: a credentials helper serves a whole registry; leave out the path", label)
	}
	return nil
}

func (d *decoder) ociDefault(it item) error {
	o := &d.cfg.OCIDefault
	return d.block(it, field{"discover_ambient_credentials", to(&o.Discover, item.flag)},
		field{"docker_style_config_files", to(&o.Files, item.texts)}, field{"docker_credentials_helper", to(&o.Helper, item.text)})
}

// checkCacheDir expands variables in the cache folder's path and makes sure that it is there.
func (d *decoder) checkCacheDir() {
	if d.cfg.PluginCacheDir == "" {
		return
	}
	dir := os.ExpandEnv(d.cfg.PluginCacheDir)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		d.diags = d.diags.Append(tfdiags.Errorf("The plugin cache folder can't be used",
			"The plugin cache folder %s is not there, or is no folder. Make it, or remove the setting plugin_cache_dir (or TF_PLUGIN_CACHE_DIR).", dir))
		return
	}
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	d.cfg.PluginCacheDir = dir
}
