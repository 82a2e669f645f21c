package addrs

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ModuleSourceKind is the kind of place from which a module's package is installed.
type ModuleSourceKind uint8

const (
	LocalModule    ModuleSourceKind = iota + 1 // a directory in the caller's package
	RegistryModule                             // a versioned package in a module registry
	RemoteModule                               // a package at a URL
)

// ModuleSource is the evaluated source of a module call. Two values are equal if and only if they
// are the same source.
type ModuleSource struct {
	Kind ModuleSourceKind
	// Address is the normalized address without the subdirectory: "./net",
	// "host/namespace/name/system" or "git::https://…".
	Address string
	// Subdir is the slash-separated directory within the package; "" for the package's root.
	Subdir string
}

// String returns the normalized form, as in the modules manifest.
func (s ModuleSource) String() string {
	if s.Subdir == "" {
		return s.Address
	}
	address, query, found := strings.Cut(s.Address, "?")
	if found && s.Kind == RemoteModule {
		return address + "//" + s.Subdir + "?" + query
	}
	return s.Address + "//" + s.Subdir
}

// ParseModuleSource parses a source as written in the configuration. If versioned is true, the
// module call has a version argument, and the source must be a registry address.
func ParseModuleSource(text string, versioned bool) (ModuleSource, error) {
	dotted := strings.ReplaceAll(text, `\`, "/") // accept backslashes too, as on Windows
	local := strings.HasPrefix(dotted, "./") || strings.HasPrefix(dotted, "../")
	switch {
	case text == "":
		return ModuleSource{}, errors.New("the source is empty")
	case local && versioned:
		return ModuleSource{}, fmt.Errorf(
			"%q is a local directory, which has no versions; a version argument is only allowed for sources "+
				"in a module registry", text)
	case local:
		return ModuleSource{Kind: LocalModule, Address: cleanLocal(dotted)}, nil
	}
	registry, registryErr := parseRegistrySource(text)
	if registryErr == nil {
		return registry, nil
	}
	remote, err := parseRemoteSource(text)
	switch {
	case !versioned:
		return remote, err
	case err == nil:
		return ModuleSource{}, fmt.Errorf(
			"%q is not in a module registry, and a version argument is only allowed for sources in one; the version "+
				"of a git repository is selected with \"?ref=\" in the source", text)
	}
	return ModuleSource{}, registryErr
}

// cleanLocal returns the shortest form that begins with "./" or "../", as OpenTofu writes it in the
// modules manifest. The parent directory is "./..".
func cleanLocal(text string) string {
	clean := path.Clean(text)
	if strings.HasPrefix(clean, "../") {
		return clean
	}
	return "./" + clean
}

// pattern compiles a regular expression on first use, because most runs don't need it.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

var (
	registryName   = pattern(`^[0-9A-Za-z](?:[0-9A-Za-z-_]{0,62}[0-9A-Za-z])?$`)
	registrySystem = pattern(`^[0-9a-z]{1,64}$`)
)

// parseRegistrySource parses [HOST/]NAMESPACE/NAME/SYSTEM[//SUBDIR].
func parseRegistrySource(text string) (ModuleSource, error) {
	address, subdir, err := splitSubdir(text)
	if err != nil {
		return ModuleSource{}, err
	}
	parts := strings.Split(address, "/")
	host := DefaultHost
	switch len(parts) {
	case 3:
	case 4:
		if !isRegistryHost(parts[0]) {
			return ModuleSource{}, fmt.Errorf("%q is not a module registry host, because it contains no dot", parts[0])
		}
		host, err = ParseHost(parts[0])
		if err != nil {
			return ModuleSource{}, fmt.Errorf("%q is not a valid module registry host: %w", parts[0], err)
		}
		if host == "github.com" || host == "bitbucket.org" || host == "gitlab.com" {
			return ModuleSource{}, fmt.Errorf("%s is not a module registry", host)
		}
		if !isRegistryHost(host) {
			host += ":443" // without a port, it could not be told from a namespace
		}
		parts = parts[1:]
	default:
		return ModuleSource{}, fmt.Errorf(
			"%q is not a module registry address, which has the form [host/]namespace/name/system", text)
	}
	if len(strings.Split(address, "/")) == 3 && strings.Contains(parts[0], ".") {
		return ModuleSource{}, fmt.Errorf(
			"%q is not a module registry address, which has the form [host/]namespace/name/system: %q contains a "+
				"dot, so it can't be a namespace", text, parts[0])
	}
	if !registryName().MatchString(parts[0]) || !registryName().MatchString(parts[1]) ||
		!registrySystem().MatchString(parts[2]) {
		return ModuleSource{}, fmt.Errorf(
			"%q is not a module registry address: the namespace and the name must consist of letters, digits, dashes "+
				"and underscores, begin and end with a letter or digit, and have at most 64 characters; the system "+
				"must consist of 1 to 64 lower-case letters and digits", text)
	}
	return ModuleSource{Kind: RegistryModule, Address: host + "/" + strings.Join(parts, "/"), Subdir: subdir}, nil
}

// isRegistryHost reports whether the first part of an address with four parts may be a host.
func isRegistryHost(name string) bool { return strings.ContainsAny(name, ".:") || name == "localhost" }

// splitSubdir splits "//SUBDIR" from an address. It ignores the "//" of a URL scheme and any "//"
// in the query.
func splitSubdir(text string) (address, subdir string, err error) {
	place, query, hasQuery := strings.Cut(text, "?")
	start := 0
	i := strings.Index(place, "/")
	if i > 0 && strings.HasPrefix(place[i-1:], "://") && !strings.HasSuffix(place[:i], "::") {
		start = i + len("//")
	}
	i = strings.Index(place[start:], "//")
	if i < 0 {
		return text, "", nil
	}
	address, subdir = place[:start+i], place[start+i+2:]
	if hasQuery {
		address += "?" + query
	}
	subdir = path.Clean(subdir)
	if subdir == ".." || strings.HasPrefix(subdir, "../") {
		return "", "", fmt.Errorf("the subdirectory %q is outside the module package", subdir)
	}
	if subdir == "." {
		subdir = ""
	}
	return address, strings.TrimPrefix(subdir, "/"), nil
}

// shorthand is a rule that expands a short package address, such as "github.com/owner/name".
type shorthand struct {
	match func() *regexp.Regexp
	full  string // replacement for the text that match finds
	sorts bool   // whether the parameters of the query are sorted and escaped, as OpenTofu records them
}

// shorthands lists the rules in the order in which they are tried.
var shorthands = []shorthand{
	{pattern(`^github\.com/([^/?]+)/([^/?]+?)(?:\.git)?(/[^?]*)?(\?.*)?$`), "git::https://github.com/$1/$2.git$3$4", false},
	{pattern(`^bitbucket\.org/([^/?]+)/([^/?]+?)(?:\.git)?(\?.*)?$`), "git::https://bitbucket.org/$1/$2.git$3", false},
	{pattern(`^(?:git::)?([A-Za-z0-9._-]+)@([A-Za-z0-9._-]+):/?([^/].*)$`), "git::ssh://$1@$2/$3", true},
	{pattern(`^git::(/.*)$`), "git::file://$1", false},
	{pattern(`^([^/]+)\.s3(?:[.-]([a-z0-9-]+))?\.amazonaws\.com/(.*)$`), "s3::https://$0", false},
	{pattern(`^s3(?:[.-][a-z0-9-]+)?\.amazonaws\.com/(.*)$`), "s3::https://$0", false},
	{pattern(`^www\.googleapis\.com/storage/(.*)$`), "gcs::https://$0", false},
	{pattern(`^/.*$`), "file://$0", false},
}

// method matches the name of the download method before a URL.
var method = pattern(`^[a-z0-9]+::`)

// parseRemoteSource parses the address of a package, in full or in a short form.
func parseRemoteSource(text string) (ModuleSource, error) {
	address, subdir, err := splitSubdir(text)
	if err != nil {
		return ModuleSource{}, err
	}
	for _, s := range shorthands {
		if match := s.match(); match.MatchString(address) {
			address = match.ReplaceAllString(address, s.full)
			if u, err := url.Parse(strings.TrimPrefix(address, "git::")); err == nil && s.sorts {
				u.RawQuery, u.ForceQuery = u.Query().Encode(), false
				address = "git::" + u.String()
			}
			break
		}
	}
	place := method().ReplaceAllString(address, "")
	switch u, err := url.Parse(place); {
	case err != nil:
		return ModuleSource{}, fmt.Errorf("%q is not a valid URL: %w", place, errors.Unwrap(err))
	case u.IsAbs() && (place != address || strings.Contains(place, "://")):
		return ModuleSource{Kind: RemoteModule, Address: address, Subdir: subdir}, nil
	case place != address && isShorthand(place): // git::/path or git::github.com/owner/name
		return ModuleSource{Kind: RemoteModule, Address: address, Subdir: subdir}, nil
	}
	example := ""
	if !strings.Contains(text, ":") {
		example = fmt.Sprintf(", as in %q", "./"+text)
	}
	return ModuleSource{}, fmt.Errorf(
		"%q is not the address of a module package. The path of a local directory must start with \"./\" or \"../\"%s",
		text, example)
}

// isShorthand reports whether an address matches one of the shorthands.
func isShorthand(address string) bool {
	return slices.ContainsFunc(shorthands, func(s shorthand) bool { return s.match().MatchString(address) })
}
