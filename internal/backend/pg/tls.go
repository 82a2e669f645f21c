package pg

import (
	"cmp"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/jackc/pgservicefile"
	"github.com/jackc/pgx/v5/pgconn"
)

// WithTLS returns the connection string with sslmode=require, as OpenTofu's library has it by
// default, unless the string itself, the variable PGSSLMODE or the service says something else.
// Without a mode, pgx and libpq would send the password in clear text to a server that declines
// TLS, or to another server that answers in its place. Connections to Unix sockets ignore the mode.
func WithTLS(address string) string {
	if _, err := pgconn.ParseConfig(address); err != nil {
		return address // connecting reports the error
	}
	given := parameters(address)
	if given["sslmode"] != "" || os.Getenv("PGSSLMODE") != "" || ofService(given)["sslmode"] != "" {
		return address
	}
	switch query, isURL := queryOf(address); {
	case !isURL:
		address = keyValue.ReplaceAllStringFunc(address, func(parameter string) string {
			if keyValue.FindStringSubmatch(parameter)[1] == "sslmode" {
				return "" // it is empty
			}
			return parameter
		})
		return "sslmode=require " + address // the end of the string may belong to the last value
	case query != "":
		return address + "&sslmode=require"
	default:
		return strings.TrimSuffix(address, "?") + "?sslmode=require"
	}
}

// Declined reports whether connecting failed at last because the server doesn't offer TLS. An error
// lists all attempts, and with sslmode=prefer one without TLS follows.
func Declined(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "server refused TLS connection")
}

// TLSAdvice says what to do if a server has declined TLS.
const TLSAdvice = "Set up TLS on the server. Only if nobody can read or redirect the connection, set " +
	"sslmode=disable in the connection string, or PGSSLMODE=disable: the password and the states are then sent " +
	"in clear text"

// keyValue matches a parameter of a connection string that isn't a URL. The value may be quoted.
var keyValue = regexp.MustCompile(`([^\s=]+)\s*=\s*('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)*)`)

// escaped matches an escaped character of such a value.
var escaped = regexp.MustCompile(`\\(.)`)

// parameters returns the parameters of a valid connection string, for a URL only those of its query.
func parameters(address string) map[string]string {
	found := make(map[string]string)
	query, isURL := queryOf(address)
	if !isURL {
		for _, match := range keyValue.FindAllStringSubmatch(address, -1) {
			value := match[2]
			if strings.HasPrefix(value, "'") {
				value = value[1 : len(value)-1]
			}
			found[match[1]] = escaped.ReplaceAllString(value, "$1")
		}
		return found
	}
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		key, _ = url.PathUnescape(key)
		found[key], _ = url.PathUnescape(value)
	}
	return found
}

// queryOf returns the query of a connection string that is a URL. Before the first slash, everything
// up to an @ is the user and the password, also a question mark.
func queryOf(address string) (query string, isURL bool) {
	scheme, rest, isURL := strings.Cut(address, "://")
	if !isURL || scheme != "postgres" && scheme != "postgresql" {
		return "", false
	}
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		rest = rest[i+1:]
	}
	_, query, _ = strings.Cut(rest, "?")
	return query, true
}

// ofService returns what the service file says about the service that is selected by these parameters
// or by PGSERVICE, if any.
func ofService(given map[string]string) map[string]string {
	home, _ := os.UserHomeDir()
	file := cmp.Or(given["servicefile"], os.Getenv("PGSERVICEFILE"), filepath.Join(home, ".pg_service.conf"))
	if services, err := pgservicefile.ReadServicefile(file); err == nil {
		if service, err := services.GetService(cmp.Or(given["service"], os.Getenv("PGSERVICE"))); err == nil {
			return service.Settings
		}
	}
	return nil
}
