/* Nodes, values and weights of a model in the making. Field numbers are those of
 * onnx.proto. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"
#include "zoo.h"

#define BUFFER_CAP ((size_t)64 << 20)

enum {
  NODE_INPUT = 1,
  NODE_OUTPUT,
  NODE_NAME,
  NODE_TYPE,
  NODE_ATTRIBUTE,
  NODE_DOMAIN = 7
};
enum { ATTR_NAME = 1, ATTR_F, ATTR_I, ATTR_S, ATTR_INTS = 8, ATTR_TYPE = 20 };
enum { KIND_FLOAT = 1, KIND_INT, KIND_STRING, KIND_INTS = 7 };
enum { GRAPH_NODE = 1, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };

void zoo_init(struct zoo *z, const char *name, const struct zoo_options *options)
{
  *z = (struct zoo){ .name = name, .options = *options };
  z->opset = zoo_or(options->opset, 13);
  z->external = options->external;
  if (!z->options.type)
    z->options.type = ZOO_F32;
  z->weights_end = &z->weights;
  oc_arena_init(&z->arena, 0);
  oc_buf_init(&z->nodes, BUFFER_CAP);
  oc_buf_init(&z->values, BUFFER_CAP);
  oc_buf_init(&z->attrs, BUFFER_CAP);
  oc_buf_init(&z->imports, BUFFER_CAP);
}

void zoo_clear(struct zoo *z)
{
  oc_buf_clear(&z->nodes);
  oc_buf_clear(&z->values);
  oc_buf_clear(&z->attrs);
  oc_buf_clear(&z->imports);
  oc_arena_clear(&z->arena);
}

int64_t zoo_or(int64_t value, int64_t other)
{
  return value ? value : other;
}

int64_t zoo_list(const char *list, size_t i, int64_t other)
{
  for (; list && i; i--) {
    list = strchr(list, ',');
    list = list ? list + 1 : NULL;
  }
  return list ? strtoll(list, NULL, 10) : other;
}

/* ------------------------------------------------------------------- values */

static void put_dim(struct oc_buf *shape, int64_t dim, size_t position)
{
  struct oc_buf b;
  char symbol[24];

  oc_buf_init(&b, 64);
  if (dim < 0) {
    snprintf(symbol, sizeof(symbol), "d%zu", position);
    oc_wire_put_string(&b, 2, symbol);
  } else {
    oc_wire_put_i64(&b, 1, dim);
  }
  oc_wire_put_message(shape, 1, &b);
  oc_buf_clear(&b);
}

static void put_value_info(struct zoo *z, uint32_t field, const char *name,
                           enum zoo_type type, const int64_t *dims, size_t rank)
{
  struct oc_buf shape;
  struct oc_buf tensor;
  struct oc_buf wrapper;
  struct oc_buf info;

  oc_buf_init(&shape, 4096);
  oc_buf_init(&tensor, 4096);
  oc_buf_init(&wrapper, 4096);
  oc_buf_init(&info, 8192);
  for (size_t i = 0; i < rank; i++)
    put_dim(&shape, dims[i], i);
  oc_wire_put_i64(&tensor, 1, type);
  oc_wire_put_message(&tensor, 2, &shape);
  oc_wire_put_message(&wrapper, 1, &tensor);
  oc_wire_put_string(&info, 1, name);
  oc_wire_put_message(&info, 2, &wrapper);
  oc_wire_put_message(&z->values, field, &info);
  oc_buf_clear(&shape);
  oc_buf_clear(&tensor);
  oc_buf_clear(&wrapper);
  oc_buf_clear(&info);
}

void zoo_input(struct zoo *z, const char *name, enum zoo_type type, const int64_t *dims,
               size_t rank)
{
  put_value_info(z, GRAPH_INPUT, name, type, dims, rank);
}

void zoo_output(struct zoo *z, const char *name, enum zoo_type type, const int64_t *dims,
                size_t rank)
{
  put_value_info(z, GRAPH_OUTPUT, name, type, dims, rank);
}

/* -------------------------------------------------------------------- nodes */

static void put_attr(struct zoo *z, const char *name, int kind, struct oc_buf *attr)
{
  oc_wire_put_string(attr, ATTR_NAME, name);
  oc_wire_put_i64(attr, ATTR_TYPE, kind);
  oc_wire_put_message(&z->attrs, NODE_ATTRIBUTE, attr);
  oc_buf_clear(attr);
}

void zoo_attr_int(struct zoo *z, const char *name, int64_t v)
{
  struct oc_buf b;

  oc_buf_init(&b, 4096);
  oc_wire_put_i64(&b, ATTR_I, v);
  put_attr(z, name, KIND_INT, &b);
}

void zoo_attr_float(struct zoo *z, const char *name, float v)
{
  struct oc_buf b;

  oc_buf_init(&b, 4096);
  oc_wire_put_f32(&b, ATTR_F, v);
  put_attr(z, name, KIND_FLOAT, &b);
}

void zoo_attr_string(struct zoo *z, const char *name, const char *v)
{
  struct oc_buf b;

  oc_buf_init(&b, 4096);
  oc_wire_put_string(&b, ATTR_S, v);
  put_attr(z, name, KIND_STRING, &b);
}

void zoo_attr_ints(struct zoo *z, const char *name, const int64_t *v, size_t n)
{
  struct oc_buf b;

  oc_buf_init(&b, 4096);
  for (size_t i = 0; i < n; i++)
    oc_wire_put_i64(&b, ATTR_INTS, v[i]);
  put_attr(z, name, KIND_INTS, &b);
}

void zoo_add_node(struct zoo *z, const struct oc_buf *node)
{
  oc_wire_put_message(&z->nodes, GRAPH_NODE, node);
}

static void add_op(struct zoo *z, const char *domain, const char *type, const char *name,
                   const char *output, va_list inputs)
{
  struct oc_buf b;

  oc_buf_init(&b, BUFFER_CAP);
  for (const char *in = va_arg(inputs, const char *); in;
       in = va_arg(inputs, const char *))
    oc_wire_put_string(&b, NODE_INPUT, in);
  oc_wire_put_string(&b, NODE_OUTPUT, output);
  oc_wire_put_string(&b, NODE_NAME, name);
  oc_wire_put_string(&b, NODE_TYPE, type);
  oc_buf_append(&b, z->attrs.data, z->attrs.len);
  if (domain)
    oc_wire_put_string(&b, NODE_DOMAIN, domain);
  oc_buf_reset(&z->attrs);
  zoo_add_node(z, &b);
  oc_buf_clear(&b);
}

const char *zoo_op(struct zoo *z, const char *type, const char *name, ...)
{
  const char *output = zoo_name(z, "%s_output_0", name);
  va_list ap;

  va_start(ap, name);
  add_op(z, NULL, type, name, output, ap);
  va_end(ap);
  return output;
}

void zoo_op_to(struct zoo *z, const char *domain, const char *type, const char *name,
               const char *output, ...)
{
  va_list ap;

  va_start(ap, output);
  add_op(z, domain, type, name, output, ap);
  va_end(ap);
}

/* ------------------------------------------------------------------ weights */

static struct zoo_weight *add_weight(struct zoo *z, const char *name, enum zoo_type type,
                                     const int64_t *dims, size_t rank)
{
  struct zoo_weight *w = OC_NEW(&z->arena, struct zoo_weight);

  if (!w || rank > ZOO_MAX_RANK)
    abort();
  w->name = oc_arena_strdup(&z->arena, name);
  w->type = type;
  w->rank = rank;
  w->n = 1;
  for (size_t i = 0; i < rank; i++) {
    w->dims[i] = dims[i];
    w->n *= (uint64_t)dims[i];
  }
  *z->weights_end = w;
  z->weights_end = &w->next;
  return w;
}

const char *zoo_weight_at(struct zoo *z, const char *name, float offset, float std,
                          const int64_t *dims, size_t rank)
{
  struct zoo_weight *w = add_weight(z, name, z->options.type, dims, rank);

  w->scale = (float)((double)std * sqrt(3));
  w->offset = offset;
  z->n_parameters += w->n;
  return w->name;
}

const char *zoo_weight(struct zoo *z, const char *name, float std, const int64_t *dims,
                       size_t rank)
{
  return zoo_weight_at(z, name, 0, std, dims, rank);
}

static const char *add_numbers(struct zoo *z, const char *name, enum zoo_type type,
                               const int64_t *v, size_t n)
{
  const int64_t dim = (int64_t)n;
  const size_t size = zoo_type_size(type);
  struct zoo_weight *w = add_weight(z, name, type, &dim, 1);
  uint8_t *bytes = oc_arena_alloc(&z->arena, n * size);

  for (size_t i = 0; i < size * n; i++)
    bytes[i] = (uint8_t)((uint64_t)v[i / size] >> 8 * (i % size));
  w->bytes = bytes;
  return w->name;
}

const char *zoo_ints(struct zoo *z, const char *name, const int64_t *v, size_t n)
{
  return add_numbers(z, name, ZOO_I64, v, n);
}

const char *zoo_int32s(struct zoo *z, const char *name, const int64_t *v, size_t n)
{
  return add_numbers(z, name, ZOO_I32, v, n);
}

const char *zoo_scalar(struct zoo *z, const char *name, float v)
{
  struct zoo_weight *w = add_weight(z, name, z->options.type, NULL, 0);

  w->outlier = v; /* element 0 is all there is */
  w->offset = v;
  return w->name;
}

struct zoo_weight *zoo_last_weight(struct zoo *z)
{
  struct zoo_weight *w = z->weights;

  while (w && w->next)
    w = w->next;
  return w;
}
