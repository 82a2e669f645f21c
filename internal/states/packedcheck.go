package states

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"tofu/internal/limits"
)

var errCutOff = errors.New("the value is truncated")

// checkPacked returns an error if a MessagePack document is nested too deeply, or if it claims to
// have more elements or bytes than are left in data. It does not use recursion, because a program
// can't recover from a stack overflow.
func checkPacked(data []byte) error {
	var buf [32]int
	open := append(buf[:0], 1) // the number of missing values in each open array or map
	missing := 1               // the sum of open
	for missing > 0 {
		last := len(open) - 1
		if open[last] == 0 {
			open = open[:last]
			continue
		}
		h, err := readHead(data)
		if err != nil {
			return err
		}
		data = data[h.size:]
		open[last]--
		missing += h.values - 1
		if missing > len(data) { // a value has at least one byte
			return fmt.Errorf("the value claims to have %d more elements, but only %d bytes are left", missing,
				len(data))
		}
		if h.values > 0 {
			open = append(open, h.values)
		}
		if len(open) > limits.Depth {
			return errors.New("the value is nested too deeply")
		}
	}
	return nil
}

// A head describes the start of a value.
type head struct {
	size   int // size in bytes: of only the head for an array or map, of the whole value otherwise
	values int // the number of values in an array or map; a map entry has two
}

// readHead reads the head at the start of data.
func readHead(data []byte) (head, error) {
	if len(data) == 0 {
		return head{}, errCutOff
	}
	code := data[0]
	switch {
	case msgpcode.IsFixedMap(code):
		return head{1, 2 * int(code&msgpcode.FixedMapMask)}, nil
	case msgpcode.IsFixedArray(code):
		return head{1, int(code & msgpcode.FixedArrayMask)}, nil
	case msgpcode.IsFixedString(code):
		return whole(data, 1, uint64(code&msgpcode.FixedStrMask))
	case msgpcode.IsFixedNum(code):
		return head{1, 0}, nil
	}
	f, ok := forms[code]
	if !ok {
		return head{}, fmt.Errorf("the value has the unknown code %#x", code)
	}
	if len(data) < 1+f.length {
		return head{}, errCutOff
	}
	var word [8]byte
	copy(word[8-f.length:], data[1:1+f.length])
	n := binary.BigEndian.Uint64(word[:])
	if f.values == 0 {
		return whole(data, 1+f.length, n+f.more)
	}
	if n > uint64(len(data)) {
		return head{}, fmt.Errorf("the value claims to have %d elements, but only %d bytes are left",
			n, len(data)-1-f.length)
	}
	return head{1 + f.length, f.values * int(n)}, nil
}

// whole returns the head of a value that has n bytes after its first size bytes.
func whole(data []byte, size int, n uint64) (head, error) {
	if left := uint64(len(data) - size); n > left {
		return head{}, fmt.Errorf("the value claims to have %d more bytes, but only %d are left", n, left)
	}
	return head{size + int(n), 0}, nil
}

// A form is the layout of all values that start with one code.
type form struct {
	length int    // the size in bytes of the length that follows the code
	more   uint64 // further bytes of the value, which the length does not include
	values int    // the number of values for each unit of length; 0 if the length counts bytes
}

var forms = map[byte]form{
	msgpcode.Nil: {}, msgpcode.False: {}, msgpcode.True: {},
	msgpcode.Uint8: {more: 1}, msgpcode.Uint16: {more: 2}, msgpcode.Uint32: {more: 4}, msgpcode.Uint64: {more: 8},
	msgpcode.Int8: {more: 1}, msgpcode.Int16: {more: 2}, msgpcode.Int32: {more: 4}, msgpcode.Int64: {more: 8},
	msgpcode.Float: {more: 4}, msgpcode.Double: {more: 8},
	msgpcode.Str8: {length: 1}, msgpcode.Str16: {length: 2}, msgpcode.Str32: {length: 4},
	msgpcode.Bin8: {length: 1}, msgpcode.Bin16: {length: 2}, msgpcode.Bin32: {length: 4},
	// Extensions have one more byte, for their type.
	msgpcode.FixExt1: {more: 2}, msgpcode.FixExt2: {more: 3}, msgpcode.FixExt4: {more: 5}, msgpcode.FixExt8: {more: 9},
	msgpcode.FixExt16: {more: 17},
	msgpcode.Ext8:     {length: 1, more: 1}, msgpcode.Ext16: {length: 2, more: 1}, msgpcode.Ext32: {length: 4, more: 1},
	msgpcode.Array16: {length: 2, values: 1}, msgpcode.Array32: {length: 4, values: 1},
	msgpcode.Map16: {length: 2, values: 2}, msgpcode.Map32: {length: 4, values: 2},
}
