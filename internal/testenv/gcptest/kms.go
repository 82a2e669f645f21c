package gcptest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

// kms is a symmetric key in Cloud KMS.
type kms struct{ gcm cipher.AEAD }

func newKMS() *kms {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret)
	block, _ := aes.NewCipher(secret) // can't fail: the size of the key is valid
	gcm, _ := cipher.NewGCM(block)
	return &kms{gcm}
}

var errDecrypt = errors.New("decryption failed: verify that 'name' refers to the correct CryptoKey")

// compute performs an operation: encrypt or decrypt.
func (k *kms) compute(operation string, data, additional []byte) ([]byte, error) {
	size := k.gcm.NonceSize()
	if operation == "encrypt" {
		nonce := make([]byte, size)
		_, _ = rand.Read(nonce)
		return k.gcm.Seal(nonce, nonce, data, additional), nil
	}
	if len(data) < size {
		return nil, errDecrypt
	}
	plain, err := k.gcm.Open(nil, data[:size], data[size:], additional)
	if err != nil {
		return nil, errDecrypt
	}
	return plain, nil
}

func checksum(data []byte) uint32 { return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) }

// cloudKMS acts as Cloud KMS, over HTTP or gRPC.
func (s *Server) cloudKMS(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
		s.grpc.ServeHTTP(w, r)
		return
	}
	name, operation, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v1/"), ":")
	var q map[string]string
	err := json.NewDecoder(r.Body).Decode(&q)
	in, out := "plaintext", "ciphertext"
	if operation == "decrypt" {
		in, out = out, in
	}
	var data, additional struct{ Bytes []byte }
	for name, into := range map[string]*[]byte{in: &data.Bytes, "additionalAuthenticatedData": &additional.Bytes} {
		text, _ := json.Marshal(q[name])
		err = errors.Join(err, json.Unmarshal(text, into))
		if sum := q[name+"Crc32c"]; sum != "" && sum != strconv.FormatUint(uint64(checksum(*into)), 10) {
			err = errors.Join(err, fmt.Errorf("the checksum in field %s_crc32c did not match", name))
		}
	}
	switch {
	case !s.permits(r.Header.Get("Authorization"), scopeKMS):
		refuse(w, http.StatusUnauthorized, "Request had invalid authentication credentials.")
	case err != nil:
		refuse(w, http.StatusBadRequest, err.Error())
	case name != Key:
		refuse(w, http.StatusNotFound, "CryptoKey "+name+" not found.")
	default:
		result, err := s.kms.compute(operation, data.Bytes, additional.Bytes)
		if err != nil {
			refuse(w, http.StatusBadRequest, err.Error())
			return
		}
		answer(w, http.StatusOK, map[string]any{"name": name + "/cryptoKeyVersions/1", out: result,
			out + "Crc32c": strconv.FormatUint(uint64(checksum(result)), 10)})
	}
}

// raw is a gRPC codec that passes on the bytes of messages.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}
func (raw) Name() string { return "raw" }

func (s *Server) newGRPC() *grpc.Server {
	handle := func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		var q []byte
		if err := stream.RecvMsg(&q); err != nil && err != io.EOF {
			return err
		}
		out, err := s.call(stream.Context(), method, q)
		if err != nil {
			return err
		}
		return stream.SendMsg(&out)
	}
	return grpc.NewServer(grpc.UnknownServiceHandler(handle), grpc.ForceServerCodec(raw{}))
}

// Numbers of protobuf fields in google.cloud.kms.v1. The data to encrypt or decrypt is field 2 of
// requests. The result is field 2 of encrypt responses and field 1 of decrypt responses.
const (
	fieldName        = 1
	fieldText        = 2
	fieldAdditional  = 3
	fieldTextSum     = 7 // field of EncryptRequest; its message contains the checksum in field 1
	fieldDecryptSum  = 5 // field of DecryptRequest
	fieldEncryptOut  = 2
	fieldEncryptSum  = 4
	fieldEncryptSeen = 5 // whether the service has verified the checksum of the text
	fieldDataSeen    = 6 // whether the service has verified the checksum of the additional data
	fieldDecryptOut  = 1
	fieldPlainSum    = 2
)

// call responds to a gRPC request.
func (s *Server) call(ctx context.Context, method string, q []byte) ([]byte, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if tokens := md.Get("authorization"); len(tokens) != 1 || !s.permits(tokens[0], scopeKMS) {
		return nil, status.Error(codes.Unauthenticated, "Request had invalid authentication credentials.")
	}
	fields := make(map[protowire.Number][]byte)
	for len(q) > 0 {
		number, kind, n := protowire.ConsumeTag(q)
		if n < 0 {
			return nil, status.Error(codes.InvalidArgument, "the message is damaged")
		}
		q = q[n:]
		size := protowire.ConsumeFieldValue(number, kind, q)
		if size < 0 {
			return nil, status.Error(codes.InvalidArgument, "the message is damaged")
		}
		if kind == protowire.BytesType {
			fields[number], _ = protowire.ConsumeBytes(q)
		}
		q = q[size:]
	}
	name := string(fields[fieldName])
	if name != Key {
		return nil, status.Error(codes.NotFound, "CryptoKey "+name+" not found.")
	}
	operation := strings.ToLower(method[strings.LastIndexByte(method, '/')+1:])
	result, err := s.kms.compute(operation, fields[fieldText], fields[fieldAdditional])
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	bytesField := func(out []byte, number protowire.Number, data []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), data)
	}
	sumField := func(out []byte, number protowire.Number) []byte { // encodes the checksum as an Int64Value
		value := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(checksum(result)))
		return bytesField(out, number, value)
	}
	flag := func(out []byte, number protowire.Number) []byte {
		return protowire.AppendVarint(protowire.AppendTag(out, number, protowire.VarintType), 1)
	}
	if operation == "decrypt" {
		return sumField(bytesField(nil, fieldDecryptOut, result), fieldPlainSum), nil
	}
	out := bytesField(nil, fieldName, []byte(name+"/cryptoKeyVersions/1"))
	out = sumField(bytesField(out, fieldEncryptOut, result), fieldEncryptSum)
	return flag(flag(out, fieldEncryptSeen), fieldDataSeen), nil
}
