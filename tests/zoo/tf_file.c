/* GraphDef: nodes as they were added, then a Const node per weight, then the version.
 * The lengths around a weight are known before it is made, as in model_file.c. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tf.h"
#include "wire/wire.h"

enum { GRAPH_NODE = 1, GRAPH_VERSIONS = 4 };
enum { NODE_NAME = 1, NODE_OP, NODE_INPUT, NODE_ATTR = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE };
enum {
  VALUE_LIST = 1,
  VALUE_S,
  VALUE_I,
  VALUE_F,
  VALUE_B,
  VALUE_TYPE,
  VALUE_SHAPE,
  VALUE_TENSOR
};
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE, TENSOR_CONTENT = 4 };

/* What TensorFlow 1.15 writes. */
#define PRODUCER 134
#define SMALL    4096u

/* `b` becomes field `number` of a message; `behind` more bytes of it follow later. */
static void wrap(struct oc_buf *b, uint32_t number, uint64_t behind)
{
  struct oc_buf out;

  oc_buf_init(&out, b->cap);
  oc_wire_put_tag(&out, number, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(&out, b->len + behind);
  oc_buf_append(&out, b->data, b->len);
  oc_buf_clear(b);
  *b = out;
}

static void put_attr(struct oc_buf *out, const char *name, const struct oc_buf *value)
{
  struct oc_buf entry;

  oc_buf_init(&entry, SMALL);
  oc_wire_put_string(&entry, ENTRY_KEY, name);
  oc_wire_put_message(&entry, ENTRY_VALUE, value);
  oc_wire_put_message(out, NODE_ATTR, &entry);
  oc_buf_clear(&entry);
}

static void put_type(struct oc_buf *out, const char *name, enum tf_type v)
{
  struct oc_buf value;

  oc_buf_init(&value, SMALL);
  oc_wire_put_i64(&value, VALUE_TYPE, v);
  put_attr(out, name, &value);
  oc_buf_clear(&value);
}

static void put_shape(struct oc_buf *out, uint32_t number, const int64_t *dims,
                      size_t rank)
{
  struct oc_buf shape;

  oc_buf_init(&shape, SMALL);
  for (size_t i = 0; i < rank; i++) {
    struct oc_buf dim;
    oc_buf_init(&dim, SMALL);
    oc_wire_put_i64(&dim, 1, dims[i] < 0 ? -1 : dims[i]);
    oc_wire_put_message(&shape, 2, &dim);
    oc_buf_clear(&dim);
  }
  oc_wire_put_message(out, number, &shape);
  oc_buf_clear(&shape);
}

void tf_attr_type(struct zoo *z, const char *name, enum tf_type v)
{
  put_type(&z->attrs, name, v);
}

void tf_attr_int(struct zoo *z, const char *name, int64_t v)
{
  struct oc_buf value;

  oc_buf_init(&value, SMALL);
  oc_wire_put_i64(&value, VALUE_I, v);
  put_attr(&z->attrs, name, &value);
  oc_buf_clear(&value);
}

void tf_attr_bool(struct zoo *z, const char *name, bool v)
{
  struct oc_buf value;

  oc_buf_init(&value, SMALL);
  oc_wire_put_bool(&value, VALUE_B, v);
  put_attr(&z->attrs, name, &value);
  oc_buf_clear(&value);
}

void tf_attr_float(struct zoo *z, const char *name, float v)
{
  struct oc_buf value;

  oc_buf_init(&value, SMALL);
  oc_wire_put_f32(&value, VALUE_F, v);
  put_attr(&z->attrs, name, &value);
  oc_buf_clear(&value);
}

void tf_attr_string(struct zoo *z, const char *name, const char *v)
{
  struct oc_buf value;

  oc_buf_init(&value, SMALL);
  oc_wire_put_string(&value, VALUE_S, v);
  put_attr(&z->attrs, name, &value);
  oc_buf_clear(&value);
}

void tf_attr_ints(struct zoo *z, const char *name, const int64_t *v, size_t n)
{
  struct oc_buf list;

  oc_buf_init(&list, SMALL);
  oc_wire_put_packed_i64(&list, VALUE_I, v, n);
  wrap(&list, VALUE_LIST, 0);
  put_attr(&z->attrs, name, &list);
  oc_buf_clear(&list);
}

void tf_attr_shape(struct zoo *z, const char *name, const int64_t *dims, size_t rank)
{
  struct oc_buf value;

  oc_buf_init(&value, SMALL);
  put_shape(&value, VALUE_SHAPE, dims, rank);
  put_attr(&z->attrs, name, &value);
  oc_buf_clear(&value);
}

const char *tf_op(struct zoo *z, const char *type, const char *name, ...)
{
  struct oc_buf node;
  va_list ap;

  oc_buf_init(&node, 1 << 20);
  oc_wire_put_string(&node, NODE_NAME, name);
  oc_wire_put_string(&node, NODE_OP, type);
  va_start(ap, name);
  for (const char *in; (in = va_arg(ap, const char *));)
    oc_wire_put_string(&node, NODE_INPUT, in);
  va_end(ap);
  oc_buf_append(&node, z->attrs.data, z->attrs.len);
  oc_buf_reset(&z->attrs);
  oc_wire_put_message(&z->nodes, GRAPH_NODE, &node);
  oc_buf_clear(&node);
  return name;
}

/* Everything of a Const node in front of its content. */
static void const_head(const struct zoo_weight *w, uint64_t bytes, struct oc_buf *out)
{
  enum tf_type type = w->type == ZOO_I32 ? TF_INT32 : TF_FLOAT;
  struct oc_buf entry;
  struct oc_buf b;

  oc_buf_init(&b, 1 << 16);
  oc_wire_put_i64(&b, TENSOR_DTYPE, type);
  put_shape(&b, TENSOR_SHAPE, w->dims, w->rank);
  oc_wire_put_tag(&b, TENSOR_CONTENT, OC_WIRE_BYTES);
  oc_wire_put_raw_varint(&b, bytes);
  wrap(&b, VALUE_TENSOR, bytes);
  wrap(&b, ENTRY_VALUE, bytes);
  oc_buf_init(&entry, 1 << 16);
  oc_wire_put_string(&entry, ENTRY_KEY, "value");
  oc_buf_append(&entry, b.data, b.len);
  wrap(&entry, NODE_ATTR, bytes);
  oc_buf_reset(&b);
  oc_wire_put_string(&b, NODE_NAME, w->name);
  oc_wire_put_string(&b, NODE_OP, "Const");
  put_type(&b, "dtype", type);
  oc_buf_append(&b, entry.data, entry.len);
  wrap(&b, GRAPH_NODE, bytes);
  oc_buf_append(out, b.data, b.len);
  oc_buf_clear(&entry);
  oc_buf_clear(&b);
}

static int write_bytes(FILE *f, const struct oc_buf *b)
{
  return !b->failed && fwrite(b->data, 1, b->len, f) == b->len ? 0 : -1;
}

static int write_consts(const struct zoo *z, FILE *f)
{
  int rc = 0;

  for (const struct zoo_weight *w = z->weights; w && rc == 0; w = w->next) {
    struct oc_buf head;
    oc_buf_init(&head, 1 << 16);
    const_head(w, w->n * zoo_type_size(w->type), &head);
    rc = write_bytes(f, &head) || zoo_write_weight(z, f, w) ? -1 : 0;
    oc_buf_clear(&head);
  }
  return rc;
}

static int write_versions(FILE *f)
{
  struct oc_buf b;

  oc_buf_init(&b, SMALL);
  oc_wire_put_i64(&b, 1, PRODUCER);
  wrap(&b, GRAPH_VERSIONS, 0);
  int rc = write_bytes(f, &b);
  oc_buf_clear(&b);
  return rc;
}

int tf_write(struct zoo *z, const char *path)
{
  FILE *f = fopen(path, "we");
  int rc = f ? write_bytes(f, &z->nodes) || write_consts(z, f) || write_versions(f) : -1;

  if (f && fclose(f))
    rc = -1;
  if (rc)
    fprintf(stderr, "zoogen: cannot write '%s': %s\n", path, strerror(errno));
  return rc ? -1 : 0;
}
