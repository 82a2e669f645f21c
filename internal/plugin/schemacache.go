package plugin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"tofu/internal/atomicfile"
	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
)

// Schemas are cached on disk, one file per package:
//
//	line 1     format and protocol version
//	32 bytes   SHA-256 of the rest
//	2×8 bytes  lengths of the schema message and of the identity message, big endian
//	           the schema message, then the identity message, as sent by the provider, except that
//	           the schemas of types are replaced by their positions
//	           the schemas of types, one after the other
//
// A run needs a few of possibly thousands of types, and reads only these into memory. The checksum
// is computed without keeping the content in memory. Schemas are cached only if the provider allows
// it (SchemaOptional). An invalid file is treated as missing. If there is an error, it is logged,
// and the schema is fetched from the provider.
const (
	cacheFormat   = "tofu provider schema 3, protocol "
	cacheLifetime = 90 * 24 * time.Hour // files are removed when they have not been used for this long
)

// cacheFile returns the path of the package's cache file, or "" if its schema is not cached.
func (l *Launch) cacheFile() string {
	if l.PackageHash == "" || l.CacheDir == "" || l.Reattach != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(l.Provider.String() + "\n" + l.PackageHash))
	return filepath.Join(l.CacheDir, hex.EncodeToString(sum[:])+".schema")
}

// cachedSchema returns the cached schema of a provider, or nil if the cache doesn't have it.
func (l *Launch) cachedSchema() *providers.Schema {
	file := l.cacheFile()
	if file == "" {
		return nil
	}
	schema, err := openCache(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.logCache("unusable cached provider schema", err)
	}
	return schema
}

// openCache returns the schema in a cache file. The file stays open as long as the schema is in
// use.
func openCache(file string) (*providers.Schema, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		var schema *providers.Schema
		if schema, err = decodeCache(f, info.Size()); err == nil {
			now := time.Now()
			_ = os.Chtimes(file, now, now) // records that the file is in use
			return schema, nil
		}
	}
	f.Close()
	return nil, err
}

// The sizes of the parts at the start of a cache file: the first line, the checksum, and the
// lengths of the two messages.
const (
	cacheLine    = len(cacheFormat) + len("6\n")
	cacheSummed  = cacheLine + sha256.Size
	cacheLengths = 8 + 8
)

func decodeCache(f io.ReaderAt, size int64) (*providers.Schema, error) {
	head := make([]byte, cacheSummed+cacheLengths)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	version, ok := map[string]int{cacheFormat + "5\n": 5, cacheFormat + "6\n": 6}[string(head[:cacheLine])]
	if !ok {
		return nil, errors.New("not a cached schema")
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, int64(cacheSummed), size-int64(cacheSummed))); err != nil {
		return nil, err
	}
	if !bytes.Equal(sum.Sum(nil), head[cacheLine:cacheSummed]) {
		return nil, errors.New("its checksum is wrong")
	}
	first, second := binary.BigEndian.Uint64(head[cacheSummed:]), binary.BigEndian.Uint64(head[cacheSummed+8:])
	if first > uint64(size) || second > uint64(size) {
		return nil, errors.New("it is too short")
	}
	messages := make([]byte, first+second)
	if _, err := f.ReadAt(messages, int64(len(head))); err != nil {
		return nil, err
	}
	schemas, ids := &tfplugin.GetProviderSchemaResponse{}, &tfplugin.GetResourceIdentitySchemasResponse{}
	if err := errors.Join(proto.Unmarshal(messages[:first], schemas), proto.Unmarshal(messages[first:],
		ids)); err != nil {
		return nil, err
	}
	types := int64(len(head) + len(messages))
	return convertSchemas(version, schemas, ids.IdentitySchemas, io.NewSectionReader(f, types, size-types))
}

func encodeCache(
	version int, schemas *tfplugin.GetProviderSchemaResponse, ids *tfplugin.GetResourceIdentitySchemasResponse,
) ([]byte, error) {
	var types []byte
	places := func(raw map[string][]byte) map[string][]byte {
		out := make(map[string][]byte, len(raw))
		for name, schema := range raw {
			out[name] = typePlace{uint64(len(types)), uint64(len(schema))}.encode()
			types = append(types, schema...)
		}
		return out
	}
	first, err := proto.Marshal(&tfplugin.GetProviderSchemaResponse{
		Provider: schemas.Provider, ProviderMeta: schemas.ProviderMeta,
		ServerCapabilities: schemas.ServerCapabilities, Functions: schemas.Functions,
		ResourceSchemas: places(schemas.ResourceSchemas), DataSourceSchemas: places(schemas.DataSourceSchemas),
		EphemeralResourceSchemas: places(schemas.EphemeralResourceSchemas),
		ListResourceSchemas:      places(schemas.ListResourceSchemas),
		ActionSchemas:            places(schemas.ActionSchemas), StateStoreSchemas: places(schemas.StateStoreSchemas),
	})
	if err != nil {
		return nil, err
	}
	second, err := proto.Marshal(ids)
	if err != nil {
		return nil, err
	}
	lengths := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(len(first))),
		uint64(len(second)))
	body := slices.Concat(lengths, first, second, types)
	sum := sha256.Sum256(body)
	return slices.Concat(fmt.Appendf(nil, "%s%d\n", cacheFormat, version), sum[:], body), nil
}

// typePlace is the position of a type's schema in a cache file. The offset is in bytes from the
// start of the first type's schema.
type typePlace struct{ offset, length uint64 }

func (p typePlace) encode() []byte {
	return binary.AppendUvarint(binary.AppendUvarint(nil, p.offset), p.length)
}

// readType reads the schema of a type. place is its encoded typePlace.
func readType(types *io.SectionReader, place []byte) ([]byte, error) {
	offset, n := binary.Uvarint(place)
	length, m := binary.Uvarint(place[max(n, 0):])
	size := uint64(types.Size())
	if n <= 0 || m <= 0 || offset > size || length > size-offset {
		return nil, errors.New("not a place in a cached schema")
	}
	raw := make([]byte, length)
	_, err := types.ReadAt(raw, int64(offset))
	return raw, err
}

// keepSchema writes the cache file atomically. It also removes files of other packages that have
// not been used for cacheLifetime.
func (l *Launch) keepSchema(
	version int, schemas *tfplugin.GetProviderSchemaResponse, ids *tfplugin.GetResourceIdentitySchemasResponse,
) {
	file := l.cacheFile()
	if file == "" {
		return
	}
	data, err := encodeCache(version, schemas, ids)
	if err == nil {
		err = os.MkdirAll(l.CacheDir, 0o700)
	}
	if err == nil {
		atomicfile.RemoveStale(l.CacheDir)
		err = atomicfile.Write(file, data, 0o600)
	}
	if err != nil {
		l.logCache("provider schema not cached", err)
	}
	entries, _ := os.ReadDir(l.CacheDir)
	for _, entry := range entries {
		info, err := entry.Info()
		if err == nil && strings.Contains(entry.Name(), ".schema") && time.Since(info.ModTime()) > cacheLifetime {
			_ = os.Remove(filepath.Join(l.CacheDir, entry.Name()))
		}
	}
}

func (l *Launch) logCache(text string, err error) {
	if l.Log != nil {
		l.Log.LogAttrs(context.Background(), slog.LevelWarn, text, slog.String("provider", l.Provider.String()),
			slog.Any("error", err))
	}
}
