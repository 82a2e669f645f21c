package oss

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"

	"tofu/internal/backend/objects"
)

// Rows are encoded in the format that Tablestore calls PlainBuffer: a header, and then tags with
// lengths, values and checksums. Numbers are little-endian.
const (
	plainHeader = 0x75

	tagKey, tagData, tagCell, tagName, tagValue   = 1, 2, 3, 4, 5
	tagOperation, tagTime, tagDeletion            = 6, 7, 8
	tagRowChecksum, tagCellChecksum, tagExtension = 9, 10, 11

	kindInteger, kindDouble, kindBoolean, kindString, kindBlob = 0, 1, 2, 3, 7
)

// checksum8 extends the CRC-8 of a cell or a row, with the polynomial 7.
func checksum8(crc byte, data ...byte) byte {
	for _, b := range data {
		crc ^= b
		for range 8 {
			if crc&0x80 != 0 {
				crc = crc<<1 ^ 7
			} else {
				crc <<= 1
			}
		}
	}
	return crc
}

func withLength(b []byte, value string) []byte {
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(value))), value...)
}

// encodeVariant encodes a string as a PlainBuffer value, for a column or a filter.
func encodeVariant(value string) []byte { return withLength([]byte{kindString}, value) }

// appendCell appends a column with a string value. It also returns the cell's checksum.
func appendCell(b []byte, name, value string) ([]byte, byte) {
	variant := encodeVariant(value)
	b = withLength(append(b, tagCell, tagName), name)
	b = binary.LittleEndian.AppendUint32(append(b, tagValue), uint32(len(variant)))
	b = append(b, variant...)
	crc := checksum8(checksum8(0, []byte(name)...), variant...)
	return append(b, tagCellChecksum, crc), crc
}

// encodeRow encodes the key of a row and its columns in the order of their names.
func encodeRow(keyName, key string, r objects.Row) []byte {
	b := binary.LittleEndian.AppendUint32(nil, plainHeader)
	b, crc := appendCell(append(b, tagKey), keyName, key)
	row := checksum8(0, crc)
	if len(r) > 0 {
		b = append(b, tagData)
	}
	for _, name := range slices.Sorted(maps.Keys(r)) {
		b, crc = appendCell(b, name, r[name])
		row = checksum8(row, crc)
	}
	return append(b, tagRowChecksum, checksum8(row, 0))
}

// encodeDeletion encodes the key of a row to delete.
func encodeDeletion(keyName, key string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, plainHeader)
	b, crc := appendCell(append(b, tagKey), keyName, key)
	return append(b, tagDeletion, tagRowChecksum, checksum8(checksum8(0, crc), 1))
}

var errPlainBuffer = errors.New("the row in the response from Tablestore is invalid")

// plainReader reads a row. After an error, all reads return zeros.
type plainReader struct {
	data   []byte
	failed bool
}

func (r *plainReader) bytes(n uint32) []byte {
	if uint64(n) > uint64(len(r.data)) {
		r.failed, r.data = true, nil
		return nil
	}
	out := r.data[:n]
	r.data = r.data[n:]
	return out
}

func (r *plainReader) byte() byte {
	if b := r.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *plainReader) length() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// decodeRow returns the columns of a row whose values are strings, without the key.
func decodeRow(data []byte) (objects.Row, error) {
	r := &plainReader{data: data}
	if r.length() != plainHeader {
		return nil, errPlainBuffer
	}
	out, inData, name := objects.Row{}, false, ""
	for !r.failed {
		switch r.byte() {
		case tagKey, tagCell, tagDeletion:
		case tagData:
			inData = true
		case tagName:
			name = string(r.bytes(r.length()))
		case tagValue:
			r.length()
			value, isText := r.value()
			if inData && isText {
				out[name] = value
			}
		case tagOperation, tagCellChecksum:
			r.byte()
		case tagTime:
			r.bytes(8)
		case tagExtension:
			r.bytes(r.length())
		case tagRowChecksum:
			r.byte()
			if !r.failed {
				return out, nil
			}
		default:
			return nil, errPlainBuffer
		}
	}
	return nil, errPlainBuffer
}

// value reads a value and reports whether it is a string.
func (r *plainReader) value() (string, bool) {
	switch r.byte() {
	case kindInteger, kindDouble:
		r.bytes(8)
	case kindBoolean:
		r.bytes(1)
	case kindBlob:
		r.bytes(r.length())
	case kindString:
		return string(r.bytes(r.length())), true
	default:
		r.failed = true
	}
	return "", false
}
