package plugin

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// receive makes a call whose response is a stream of messages. It passes each message to each until
// the stream ends or each returns false. new returns an empty message. It reports whether the
// provider has ended the stream.
func receive[M proto.Message](
	ctx context.Context, x *exchange, in proto.Message, new func() M, each func(M) bool,
) bool {
	if x.failed() {
		return false
	}
	ctx, cancel := context.WithCancel(ctx) // ends the stream if each returns false
	defer cancel()
	stream, err := x.client.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true},
		x.method.path(x.client.version))
	if err == nil {
		err = errors.Join(stream.SendMsg(in), stream.CloseSend())
	}
	for err == nil {
		out := new()
		if err = stream.RecvMsg(out); err == nil && !each(out) {
			return false
		}
	}
	if errors.Is(err, io.EOF) {
		return true
	}
	x.refused(err)
	return false
}

// send makes a call whose request is a stream of messages. It reports whether there is a response.
func (x *exchange) send(
	ctx context.Context, messages func(send func(proto.Message) error) error, out proto.Message,
) bool {
	if x.failed() {
		return false
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := x.client.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true},
		x.method.path(x.client.version))
	if err == nil {
		err = messages(func(m proto.Message) error { return stream.SendMsg(m) })
		// io.EOF says that the provider has answered already. The answer follows.
		if err == nil || errors.Is(err, io.EOF) {
			err = errors.Join(stream.CloseSend(), stream.RecvMsg(out))
		}
	}
	if err != nil {
		x.refused(err)
	}
	return err == nil
}
