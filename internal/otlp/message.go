package otlp

import (
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"tofu/internal/timings"
)

// Field numbers of each message, as defined in opentelemetry/proto/collector/trace/v1 and its
// imports.
const (
	requestResourceSpans = 1

	resourceSpansResource = 1
	resourceSpansScopes   = 2

	resourceAttributes = 1

	scopeSpansScope = 1
	scopeSpansSpans = 2

	scopeName    = 1
	scopeVersion = 2

	spanTrace      = 1
	spanID         = 2
	spanState      = 3
	spanParent     = 4
	spanName       = 5
	spanKind       = 6
	spanBegan      = 7
	spanEnded      = 8
	spanAttributes = 9
	spanEvents     = 11
	spanStatus     = 15

	statusMessage = 2
	statusCode    = 3

	eventTime       = 1
	eventName       = 2
	eventAttributes = 3

	pairKey   = 1
	pairValue = 2

	valueString = 1
)

const (
	kindInternal = 1
	kindClient   = 3

	statusError = 2
)

// scope is the name under which this program's spans are sent.
const scope = "tofu"

// request returns the encoded message with the spans.
func (s *settings) request(trace [16]byte, version string, spans []timings.Span) []byte {
	var who []byte
	for _, a := range s.resource {
		who = appendMessage(who, resourceAttributes, attribute(a))
	}
	measured := appendMessage(nil, scopeSpansScope, appendText(appendText(nil, scopeName, scope), scopeVersion,
		version))
	for i := range spans {
		measured = appendMessage(measured, scopeSpansSpans, s.span(trace, &spans[i]))
	}
	group := appendMessage(nil, resourceSpansResource, who)
	group = appendMessage(group, resourceSpansScopes, measured)
	return appendMessage(nil, requestResourceSpans, group)
}

func (s *settings) span(trace [16]byte, span *timings.Span) []byte {
	kind := uint64(kindInternal)
	if span.Remote {
		kind = kindClient
	}
	b := appendMessage(nil, spanTrace, trace[:])
	b = appendMessage(b, spanID, span.ID[:])
	if s.parent.state != "" {
		b = appendText(b, spanState, s.parent.state)
	}
	if span.Parent != (timings.ID{}) {
		b = appendMessage(b, spanParent, span.Parent[:])
	}
	b = appendText(b, spanName, span.Name)
	b = appendNumber(b, spanKind, kind)
	b = appendTime(b, spanBegan, span.Began.UnixNano())
	b = appendTime(b, spanEnded, span.Ended.UnixNano())
	for _, a := range span.Attributes {
		b = appendMessage(b, spanAttributes, attribute(a))
	}
	if span.Err != nil {
		text := errorText(span.Err)
		event := appendTime(nil, eventTime, span.Ended.UnixNano())
		event = appendText(event, eventName, "exception")
		event = appendMessage(event, eventAttributes,
			attribute(timings.Attribute{Key: "exception.message", Value: text}))
		b = appendMessage(b, spanEvents, event)
		b = appendMessage(b, spanStatus, appendNumber(appendText(nil, statusMessage, text), statusCode, statusError))
	}
	return b
}

// maxErrorText is the maximum length in bytes of an error's text in a message.
const maxErrorText = 4 << 10

// errorText returns the text of an error, shortened and in valid UTF-8.
func errorText(err error) string {
	text := err.Error()
	if len(text) > maxErrorText {
		text = text[:maxErrorText] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

func attribute(a timings.Attribute) []byte {
	b := appendText(nil, pairKey, a.Key)
	return appendMessage(b, pairValue, appendText(nil, valueString, a.Value))
}

func appendMessage(b []byte, field protowire.Number, inner []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), inner)
}

func appendText(b []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), text)
}

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func appendTime(b []byte, field protowire.Number, nanoseconds int64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(nanoseconds))
}
