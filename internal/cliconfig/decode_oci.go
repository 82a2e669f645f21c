package cliconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tofu/internal/addrs"
)

func (d *decoder) ociCredentials(it item) error {
	places, err := it.object()
	if err != nil {
		return err
	}
	var errs []error
	for _, in := range places {
		var c OCICredentials
		c.Registry, c.Path, _ = strings.Cut(in.key, "/")
		err := d.block(in, field{"username", to(&c.Username, item.text)}, field{"password", to(&c.Password, item.text)},
			field{"access_token", to(&c.AccessToken, item.text)},
			field{"refresh_token", to(&c.RefreshToken, item.text)},
			field{"docker_credentials_helper", to(&c.DockerCredentialHelper, item.text)})
		if err == nil {
			err = c.check(in.key)
		}
		same := func(o OCICredentials) bool { return o.Registry == c.Registry && o.Path == c.Path }
		if err == nil && slices.ContainsFunc(d.cfg.OCICredentials, same) {
			err = fmt.Errorf("duplicate oci_credentials block for %q", in.key)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		d.cfg.OCICredentials = append(d.cfg.OCICredentials, c)
	}
	return errors.Join(errs...)
}

func (c OCICredentials) check(label string) error {
	kinds := 0
	for _, given := range []bool{c.Username != "" || c.Password != "", c.AccessToken != "" ||
		c.RefreshToken != "", c.DockerCredentialHelper != ""} {
		if given {
			kinds++
		}
	}
	switch _, err := addrs.ParseHost(c.Registry); {
	case err != nil:
		return fmt.Errorf("oci_credentials %q: the label must start with the registry's host name: %w", label, err)
	case kinds != 1 || (c.Username == "") != (c.Password == "") || (c.AccessToken == "") != (c.RefreshToken == ""):
		return fmt.Errorf("oci_credentials %q: set either username and password, or access_token and "+
			"refresh_token, or docker_credentials_helper", label)
	case c.DockerCredentialHelper != "" && c.Path != "":
		return fmt.Errorf("oci_credentials %q: a credentials helper serves a whole registry; remove the path from the label", label)
	case c.DockerCredentialHelper != "" && !isProgramName(c.DockerCredentialHelper):
		return fmt.Errorf("oci_credentials %q: %q is not a valid name of a credentials helper", label,
			c.DockerCredentialHelper)
	}
	return nil
}

func (d *decoder) ociDefault(it item) error {
	if d.ociDefaults != nil {
		return fmt.Errorf("only one oci_default_credentials block is allowed; another one is at %s", d.ociDefaults.at)
	}
	d.ociDefaults = &it
	o := d.cfg.OCIDefault
	err := d.block(it, field{"discover_ambient_credentials", to(&o.Discover, item.flag)},
		field{"docker_style_config_files", to(&o.Files, item.texts)},
		field{"docker_credentials_helper", to(&o.Helper, item.text)})
	switch {
	case err != nil:
		return err
	case !o.Discover && o.Files != nil:
		return errors.New("oci_default_credentials: docker_style_config_files has no effect if " +
			"discover_ambient_credentials is false")
	case o.Helper != "" && !isProgramName(o.Helper):
		return fmt.Errorf("oci_default_credentials: %q is not a valid name of a credentials helper", o.Helper)
	}
	d.cfg.OCIDefault = o
	return nil
}
