/* Writes a model in one pass: the sizes of all parts are computed first, so lengths can
 * stand in front of weights that do not exist yet; then each weight is made and written
 * in pieces. External weights begin at multiples of 4096, as mapped files like it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/wire.h"
#include "zoo.h"

#define PIECE             65536u
#define EXTERNAL_AT_LEAST 1024u
#define EXTERNAL_ALIGN    4096u

enum { MODEL_IR = 1, MODEL_PRODUCER, MODEL_VERSION, MODEL_GRAPH = 7, MODEL_OPSET };
enum { GRAPH_NAME = 2, GRAPH_INITIALIZER = 5 };
enum {
  TENSOR_DIMS = 1,
  TENSOR_TYPE,
  TENSOR_NAME = 8,
  TENSOR_RAW,
  TENSOR_EXTERNAL = 13,
  TENSOR_LOCATION
};

/* IR 8 is what exporters of opset 13 to 18 write. */
#define IR_VERSION 8

struct output {
  FILE *model;
  FILE *data; /* NULL without external weights */
  const char *data_name;
};

static uint64_t weight_bytes(const struct zoo_weight *w)
{
  return w->n * zoo_type_size(w->type);
}

static bool is_external(const struct zoo *z, const struct zoo_weight *w)
{
  return z->external && weight_bytes(w) >= EXTERNAL_AT_LEAST;
}

static void put_entry(struct oc_buf *out, const char *key, const char *value)
{
  struct oc_buf b;

  oc_buf_init(&b, 8192);
  oc_wire_put_string(&b, 1, key);
  oc_wire_put_string(&b, 2, value);
  oc_wire_put_message(out, TENSOR_EXTERNAL, &b);
  oc_buf_clear(&b);
}

/* All of a TensorProto but the bytes of raw_data, whose tag and length are the last
 * thing. */
static void put_tensor_head(const struct zoo *z, const struct output *o,
                            const struct zoo_weight *w, struct oc_buf *out)
{
  char number[32];

  for (size_t i = 0; i < w->rank; i++)
    oc_wire_put_i64(out, TENSOR_DIMS, w->dims[i]);
  oc_wire_put_i64(out, TENSOR_TYPE, w->type);
  oc_wire_put_string(out, TENSOR_NAME, w->name);
  if (is_external(z, w)) {
    put_entry(out, "location", z->external_name ? z->external_name : o->data_name);
    snprintf(number, sizeof(number), "%llu",
             (unsigned long long)(w->external_offset + z->external_shift));
    put_entry(out, "offset", number);
    snprintf(number, sizeof(number), "%llu", (unsigned long long)weight_bytes(w));
    put_entry(out, "length", number);
    oc_wire_put_i64(out, TENSOR_LOCATION, 1);
  } else {
    oc_wire_put_tag(out, TENSOR_RAW, OC_WIRE_BYTES);
    oc_wire_put_raw_varint(out, weight_bytes(w));
  }
}

static int write_bytes(FILE *f, const struct oc_buf *b)
{
  return !b->failed && fwrite(b->data, 1, b->len, f) == b->len ? 0 : -1;
}

int zoo_write_weight(const struct zoo *z, FILE *f, const struct zoo_weight *w)
{
  uint8_t piece[PIECE];
  size_t step = PIECE / 8;

  for (uint64_t first = 0; first < w->n; first += step) {
    size_t n = w->n - first < step ? (size_t)(w->n - first) : step;
    size_t len = n * zoo_type_size(w->type);
    zoo_make(w, z->options.seed, first, n, piece);
    if (fwrite(piece, 1, len, f) != len)
      return -1;
  }
  return 0;
}

static void place_external(struct zoo *z)
{
  uint64_t at = 0;

  for (struct zoo_weight *w = z->weights; w; w = w->next) {
    if (!is_external(z, w))
      continue;
    w->external_offset = (at + EXTERNAL_ALIGN - 1) / EXTERNAL_ALIGN * EXTERNAL_ALIGN;
    at = w->external_offset + weight_bytes(w);
  }
}

/* The initializer field of one weight: its head into `out`; gives the message's length.
 */
static uint64_t initializer_head(const struct zoo *z, const struct output *o,
                                 const struct zoo_weight *w, struct oc_buf *out)
{
  struct oc_buf head;

  oc_buf_init(&head, 1 << 16);
  put_tensor_head(z, o, w, &head);
  uint64_t len = head.len + (is_external(z, w) ? 0 : weight_bytes(w));
  oc_wire_put_tag(out, GRAPH_INITIALIZER, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(out, len);
  oc_buf_append(out, head.data, head.len);
  oc_buf_clear(&head);
  return len;
}

static uint64_t graph_length(const struct zoo *z, const struct output *o,
                             const struct oc_buf *name)
{
  uint64_t total = z->nodes.len + z->values.len + name->len;

  for (const struct zoo_weight *w = z->weights; w; w = w->next) {
    struct oc_buf b;
    oc_buf_init(&b, 1 << 16);
    initializer_head(z, o, w, &b);
    total += b.len + (is_external(z, w) ? 0 : weight_bytes(w));
    oc_buf_clear(&b);
  }
  return total;
}

static int write_initializers(const struct zoo *z, const struct output *o)
{
  int rc = 0;

  for (const struct zoo_weight *w = z->weights; w && rc == 0; w = w->next) {
    struct oc_buf b;
    oc_buf_init(&b, 1 << 16);
    initializer_head(z, o, w, &b);
    rc = write_bytes(o->model, &b);
    oc_buf_clear(&b);
    if (rc == 0 && !is_external(z, w))
      rc = zoo_write_weight(z, o->model, w);
    if (rc == 0 && is_external(z, w))
      rc = fseeko(o->data, (off_t)w->external_offset, SEEK_SET) ||
           zoo_write_weight(z, o->data, w);
  }
  return rc;
}

static void put_opset(struct oc_buf *out, int64_t version)
{
  struct oc_buf b;

  oc_buf_init(&b, 64);
  oc_wire_put_string(&b, 1, "");
  oc_wire_put_i64(&b, 2, version);
  oc_wire_put_message(out, MODEL_OPSET, &b);
  oc_buf_clear(&b);
}

static int write_model(struct zoo *z, const struct output *o)
{
  struct oc_buf head;
  struct oc_buf name;

  oc_buf_init(&head, 1 << 20);
  oc_buf_init(&name, 4096);
  oc_wire_put_string(&name, GRAPH_NAME, z->name);
  oc_wire_put_i64(&head, MODEL_IR, IR_VERSION);
  oc_wire_put_string(&head, MODEL_PRODUCER, "zoogen");
  oc_wire_put_string(&head, MODEL_VERSION, "1");
  put_opset(&head, z->opset);
  oc_buf_append(&head, z->imports.data, z->imports.len);
  oc_wire_put_tag(&head, MODEL_GRAPH, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(&head, graph_length(z, o, &name));
  int rc = write_bytes(o->model, &head) || write_bytes(o->model, &name) ||
           write_bytes(o->model, &z->nodes) || write_initializers(z, o) ||
           write_bytes(o->model, &z->values);
  oc_buf_clear(&head);
  oc_buf_clear(&name);
  return rc ? -1 : 0;
}

static int complain(const char *path)
{
  fprintf(stderr, "zoogen: cannot write '%s': %s\n", path, strerror(errno));
  return -1;
}

static const char *base_name(const char *path)
{
  const char *slash = strrchr(path, '/');

  return slash ? slash + 1 : path;
}

int zoo_write(struct zoo *z, const char *path)
{
  const char *data_path = zoo_name(z, "%s.data", path);
  struct output o = { .model = fopen(path, "we"), .data_name = base_name(data_path) };

  if (!o.model)
    return complain(path);
  if (z->external) {
    o.data = fopen(data_path, "we");
    if (!o.data) {
      fclose(o.model);
      return complain(data_path);
    }
  }
  place_external(z);
  int rc = write_model(z, &o);
  if (fclose(o.model))
    rc = -1;
  if (o.data && fclose(o.data))
    rc = -1;
  return rc ? complain(path) : 0;
}
