/*
 * Protobuf: the bytes of messages, as far as a trace needs them.
 *
 * Place      report, private to the trace. https://protobuf.dev/programming-guides/encoding/
 * Model      A message is bytes that grow; a field is put behind those that are there. A message
 *            within a message is built apart and put as bytes. A library (protobuf-c) would need
 *            its compiler in each build for these few functions.
 * Errors     Without memory a field is not put, and failed is set.
 */
#ifndef DRYDOCK_REPORT_TRACE_PROTOBUF_H
#define DRYDOCK_REPORT_TRACE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proto {
    uint8_t *data;
    size_t size, room;
    bool failed;
};

/* Empties the message and keeps its memory. */
void proto_clear(struct proto *proto);
void proto_fini(struct proto *proto);

void proto_put_uint(struct proto *proto, unsigned field, uint64_t value);
void proto_put_fixed64(struct proto *proto, unsigned field, uint64_t value);
void proto_put_bytes(struct proto *proto, unsigned field, const void *bytes, size_t size);
void proto_put_message(struct proto *proto, unsigned field, const struct proto *message);

/* A string is UTF-8: bytes that are none become U+FFFD. */
void proto_put_text(struct proto *proto, unsigned field, const char *text);

#endif
