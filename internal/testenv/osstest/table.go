package osstest

import (
	"cmp"
	"crypto/md5"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"tofu/internal/restapi"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a message of the protocol, with the values of its fields by number.
type message map[protowire.Number]value

type value struct {
	number uint64
	bytes  []byte
	all    [][]byte // all values of a repeated field
}

func parse(data []byte) (message, error) {
	out := make(message)
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		data = data[n:]
		v := out[field]
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(data)
			v.all = append(v.all, v.bytes)
		default:
			n = protowire.ConsumeFieldValue(field, kind, data)
		}
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		out[field] = v
		data = data[n:]
	}
	return out, nil
}

// statuses holds the HTTP statuses of errors whose status isn't 400.
var statuses = map[string]int{"OTSAuthFailed": http.StatusForbidden, "OTSObjectNotExist": http.StatusNotFound,
	"OTSConditionCheckFail": http.StatusForbidden}

// tableService responds to a Tablestore request.
func (s *Server) tableService(w http.ResponseWriter, r *http.Request, body []byte) func() {
	code, answer := s.call(r, body)
	return func() {
		if code != "" {
			w.WriteHeader(cmp.Or(statuses[code], http.StatusBadRequest))
			_, _ = w.Write(field(field(nil, 1, code), 2, "refused"))
			return
		}
		_, _ = w.Write(answer)
	}
}

// capacity is the encoded throughput of the table: the numbers of reads and of writes, both 0.
var capacity = number(number(nil, 1, 0), 2, 0)

func number(b []byte, f protowire.Number, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, f, protowire.VarintType), uint64(v))
}

func field[T string | []byte](b []byte, number protowire.Number, v T) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), []byte(v))
}

// call carries out a Tablestore operation. It returns an error code or the encoded result.
func (s *Server) call(r *http.Request, body []byte) (code string, answer []byte) {
	if !s.checkTableSignature(r, body) {
		return "OTSAuthFailed", nil
	}
	request, err := parse(body)
	if err != nil {
		return "OTSParameterInvalid", nil
	}
	if string(request[1].bytes) != s.Table {
		return "OTSObjectNotExist", nil
	}
	if r.URL.Path == "/DescribeTable" {
		return "", s.describe()
	}
	row, err := readPlain(request[2].bytes)
	if err != nil || len(row.key) != 1 || row.key["LockID"] == "" {
		return "OTSParameterInvalid", nil
	}
	key := row.key["LockID"]
	consumed := field(nil, 1, field(nil, 1, capacity))
	if r.URL.Path == "/GetRow" {
		var found []byte
		if present, ok := s.rows[key]; ok {
			found = writePlain(key, present)
		}
		return "", field(consumed, 2, found)
	}
	condition, err := parse(request[3].bytes)
	if err != nil {
		return "OTSParameterInvalid", nil
	}
	holds, err := holds(condition, s.rows[key])
	switch {
	case err != nil:
		return "OTSParameterInvalid", nil
	case !holds:
		return "OTSConditionCheckFail", nil
	case r.URL.Path == "/PutRow":
		s.rows[key] = row.columns
	case r.URL.Path == "/DeleteRow" && row.deleted:
		delete(s.rows, key)
	default:
		return "OTSParameterInvalid", nil
	}
	return "", consumed
}

// describe returns the encoded description of the table.
func (s *Server) describe() []byte {
	const text, oneVersion, forever, active = 2, 1, -1, 1
	key := number(field(nil, 1, "LockID"), 2, text)
	out := field(nil, 1, field(field(nil, 1, s.Table), 2, key))
	out = field(out, 2, number(field(nil, 1, capacity), 2, 1)) // the reserved throughput
	options := number(number(nil, 1, forever), 2, oneVersion)
	out = field(out, 3, number(options, 5, 86400)) // maximum deviation of column times, in seconds
	return number(out, 4, active)
}

func (s *Server) checkTableSignature(r *http.Request, body []byte) bool {
	id := r.Header.Get("X-Ots-Accesskeyid")
	secret, ok := s.Keys[id]
	sum := md5.Sum(body)
	instance, _, _ := strings.Cut(r.Host, ".")
	return ok && r.Header.Get("X-Ots-Ststoken") == s.Tokens[id] && r.Header.Get("X-Ots-Apiversion") == "2015-12-31" &&
		r.Header.Get("X-Ots-Instancename") == instance && r.Header.Get("X-Ots-Date") != "" &&
		r.Header.Get("X-Ots-Contentmd5") == base64.StdEncoding.EncodeToString(sum[:]) &&
		base64Of(restapi.HMAC(sha1.New, secret, r.URL.Path+"\n"+r.Method+"\n\n"+lines(r.Header, "x-ots-"))) ==
			r.Header.Get("X-Ots-Signature")
}

// holds reports whether a row meets a condition. row is nil if there is no row.
func holds(condition message, row map[string]string) (bool, error) {
	const mustExist, mustBeNew = 1, 2
	switch existence := condition[1].number; {
	case existence == mustExist && row == nil, existence == mustBeNew && row != nil:
		return false, nil
	case len(condition[2].bytes) == 0:
		return true, nil
	case row == nil:
		return false, nil
	}
	return passes(condition[2].bytes, row)
}

// passes reports whether a row passes a filter.
func passes(data []byte, row map[string]string) (bool, error) {
	const single, composite, or, equal, text = 1, 2, 3, 1, 3
	outer, err := parse(data)
	if err != nil {
		return false, err
	}
	inner, err := parse(outer[2].bytes)
	switch {
	case err != nil:
		return false, err
	case outer[1].number == composite && inner[1].number == or:
		for _, f := range inner[2].all {
			ok, err := passes(f, row)
			if ok || err != nil {
				return ok, err
			}
		}
		return false, nil
	case outer[1].number != single || inner[1].number != equal:
		return false, errors.New("only comparisons for equality are supported")
	}
	present, ok := row[string(inner[2].bytes)]
	if !ok {
		return inner[4].number == 0, nil
	}
	variant := inner[3].bytes
	if len(variant) < 5 || variant[0] != text || binary.LittleEndian.Uint32(variant[1:5]) != uint32(len(variant)-5) {
		return false, errors.New("the value is not a text")
	}
	return present == string(variant[5:]), nil
}

// plainRow is a row in the encoding of the service.
type plainRow struct {
	key, columns map[string]string
	deleted      bool
}

var errPlain = errors.New("the row is not encoded as documented")

// crcTable is the lookup table of the CRC-8 with the polynomial 7.
var crcTable = func() (out [256]byte) {
	for i := range out {
		x := byte(i)
		for range 8 {
			top := x & 0x80
			x <<= 1
			if top != 0 {
				x ^= 7
			}
		}
		out[i] = x
	}
	return out
}()

func crc(start byte, data []byte) byte {
	for _, b := range data {
		start = crcTable[start^b]
	}
	return start
}

// readPlain decodes a row whose columns are strings, and compares its checksums.
func readPlain(data []byte) (out plainRow, err error) {
	defer func() {
		if recover() != nil { // an index is out of range
			err = errPlain
		}
	}()
	out = plainRow{key: map[string]string{}, columns: map[string]string{}}
	take := func(n int) []byte { part := data[:n]; data = data[n:]; return part }
	number := func() int { return int(binary.LittleEndian.Uint32(take(4))) }
	demand := func(tags ...byte) {
		if string(take(len(tags))) != string(tags) {
			panic(errPlain)
		}
	}
	if number() != 0x75 {
		return out, errPlain
	}
	var rowSum byte
	cells := func(to map[string]string) {
		for data[0] == 3 {
			demand(3, 4)
			name := take(number())
			demand(5)
			variant := take(number())
			if variant[0] != 3 || int(binary.LittleEndian.Uint32(variant[1:])) != len(variant)-5 {
				panic(errPlain)
			}
			sum := crc(crc(0, name), variant)
			demand(10, sum)
			rowSum = crc(rowSum, []byte{sum})
			to[string(name)] = string(variant[5:])
		}
	}
	demand(1)
	cells(out.key)
	if data[0] == 2 {
		demand(2)
		cells(out.columns)
	}
	var marker byte
	if data[0] == 8 {
		demand(8)
		out.deleted, marker = true, 1
	}
	demand(9, crc(rowSum, []byte{marker}))
	return out, nil
}

// writePlain encodes a row as the service does, with a time for each column.
func writePlain(key string, row map[string]string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, 0x75)
	var rowSum byte
	cell := func(name, text string, at []byte) {
		b = append(binary.LittleEndian.AppendUint32(append(b, 3, 4), uint32(len(name))), name...)
		variant := append(binary.LittleEndian.AppendUint32([]byte{3}, uint32(len(text))), text...)
		b = append(binary.LittleEndian.AppendUint32(append(b, 5), uint32(len(variant))), variant...)
		sum := crc(crc(0, []byte(name)), variant)
		if at != nil {
			b, sum = append(append(b, 7), at...), crc(sum, at)
		}
		b = append(b, 10, sum)
		rowSum = crc(rowSum, []byte{sum})
	}
	b = append(b, 1)
	cell("LockID", key, nil)
	b = append(b, 2)
	for _, name := range slices.Sorted(maps.Keys(row)) {
		cell(name, row[name], binary.LittleEndian.AppendUint64(nil, 1700000000000))
	}
	return append(b, 9, crc(rowSum, []byte{0}))
}
