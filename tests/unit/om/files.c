/* Bytes by hand where the writer must not vouch for the reader: headers, tables, kernel
 * records. MODEL_DEF comes from the writer; compression is put in here. */
#include "files.h"

#include <string.h>

static void put(uint8_t *at, uint64_t v, size_t bytes)
{
  for (size_t i = 0; i < bytes; i++)
    at[i] = (uint8_t)(v >> (8 * i));
}

static void append_number(struct oc_buf *out, uint64_t v, size_t bytes)
{
  uint8_t b[8];

  put(b, v, bytes);
  oc_buf_append(out, b, bytes);
}

struct oc_str bytes_of(const struct oc_buf *b)
{
  return (struct oc_str){ (const char *)b->data, b->len };
}

void make_file(struct oc_buf *out, const struct part *parts, size_t n, uint32_t n_models,
               unsigned flags)
{
  bool old = flags & OLD_HEADER;
  uint8_t h[256] = { 'I', 'M', 'O', 'D' };
  uint64_t table = old ? 4 + 12 * n : 8 + 24 * n, size = 0;

  for (size_t i = 0; i < n; i++)
    size += parts[i].bytes.len;
  put(h + 4, 256, 4);
  put(h + 8, old ? 0x10000000u : 0x20000000u, 4);
  memcpy(h + 84, "tiny", 4);
  put(h + 152, 2, 4);
  if (old) {
    put(h + 76, table + size, 4);
    memcpy(h + 156, "1.0.y.0", 7);
  } else {
    put(h + 156, n_models, 4);
    memcpy(h + 160, "1.11.z.0", 8);
    put(h + 184, n_models * (table + size), 8);
    h[193] = (flags & DYNAMIC) != 0;
  }
  oc_buf_append(out, h, sizeof h);
  for (uint32_t m = 0; m < n_models; m++) {
    uint64_t at = 0;
    append_number(out, n, old ? 4 : 8);
    for (size_t i = 0; i < n; i++) {
      append_number(out, parts[i].type, old ? 4 : 8);
      append_number(out, at, old ? 4 : 8);
      append_number(out, parts[i].bytes.len, old ? 4 : 8);
      at += parts[i].bytes.len;
    }
    for (size_t i = 0; i < n; i++)
      oc_buf_append(out, parts[i].bytes.p, parts[i].bytes.len);
  }
}

static struct oc_om_attr text(const char *name, size_t name_len, const char *v)
{
  return (struct oc_om_attr){ .name = { name, name_len },
                              .kind = OC_OM_ATTR_STRING,
                              .u.s = oc_str_of(v) };
}

static struct oc_om_attr number(const char *name, size_t name_len, int64_t v)
{
  return (
      struct oc_om_attr){ .name = { name, name_len }, .kind = OC_OM_ATTR_INT, .u.i = v };
}

/* Names of the dictionary; their numbers are the digits of the stored keys. */
static const struct oc_str names[] = {
  { "mode", 4 }, { "count", 5 }, { "labels", 6 }, { "value", 5 }
};
static const struct oc_str values[] = { { "first", 5 }, { "second", 6 } };
static const int64_t is_text[] = { 1, 0, 1, 0 };
static const struct oc_str labels[] = { { "second", 6 }, { "first", 5 } };
static const int64_t label_numbers[] = { 1, 0 };

static uint32_t relu_attrs(struct oc_om_attr *v, bool compressed)
{
  if (compressed) {
    v[0] = number("\0\1", 2, 1);
    v[1] = number("\0\2", 2, 42);
    v[2] = (struct oc_om_attr){
      .name = { "\0\3", 2 }, .kind = OC_OM_ATTR_INTS, .n = 2, .u.ints = label_numbers
    };
  } else {
    v[0] = text("mode", 4, "second");
    v[1] = number("count", 5, 42);
    v[2] = (struct oc_om_attr){
      .name = { "labels", 6 }, .kind = OC_OM_ATTR_STRINGS, .n = 2, .u.strings = labels
    };
  }
  return 3;
}

static uint32_t model_attrs(struct oc_om_attr *v, bool compressed)
{
  uint32_t n = 0;

  v[n++] = text("atc_cmdline", 11,
                "/usr/bin/atc --model=a.onnx --output=dir/tiny --log=error");
  v[n++] = text("soc_version", 11, "Ascend310B4");
  if (!compressed)
    return n;
  v[n++] = number("om_compress_version", 19, 1);
  v[n++] = (struct oc_om_attr){ .name = { "attr_name_enum", 14 },
                                .kind = OC_OM_ATTR_STRINGS,
                                .n = 4,
                                .u.strings = names };
  v[n++] = (struct oc_om_attr){ .name = { "attr_value_enum", 15 },
                                .kind = OC_OM_ATTR_STRINGS,
                                .n = 2,
                                .u.strings = values };
  v[n++] = (struct oc_om_attr){ .name = { "attrs_use_string_value", 22 },
                                .kind = OC_OM_ATTR_BOOLS,
                                .n = 4,
                                .u.ints = is_text };
  return n;
}

void make_def(struct oc_buf *out, struct oc_arena *a, const char *name, bool compressed)
{
  static const int64_t dims[] = { 2, 3 };
  struct oc_om_attr relu[3], model[8], value;
  struct oc_om_desc d = {
    .dtype = OC_DT_F16, .rank = 2, .dims = dims, .layout = { "ND", 2 }, .size = 64
  };
  struct oc_om_desc weight = d;
  struct oc_str none = { "", 0 }, from_x = { "x:0", 3 }, from_relu = { "relu:0", 6 };
  struct oc_str x = { "x", 1 }, r = { "relu", 4 };
  const int64_t zero[] = { 0 };
  char *graph_name = oc_arena_printf(a, "%s_0", name);

  weight.size = 0;
  weight.weight_size = 12;
  weight.data_offset = 512;
  value =
      (struct oc_om_attr){ .name = { compressed ? "\0\4" : "value", compressed ? 2 : 5 },
                           .kind = OC_OM_ATTR_TENSOR,
                           .u.desc = &weight };
  struct oc_om_op ops[] = {
    { .name = x,
      .type = { "Data", 4 },
      .inputs = &none,
      .n_inputs = 1,
      .input_descs = &d,
      .n_input_descs = 1,
      .output_descs = &d,
      .n_output_descs = 1 },
    { .name = { "c", 1 },
      .type = { "Const", 5 },
      .id = 1,
      .attrs = &value,
      .n_attrs = 1,
      .output_descs = &d,
      .n_output_descs = 1 },
    { .name = r,
      .type = { "Relu", 4 },
      .id = 2,
      .inputs = &from_x,
      .n_inputs = 1,
      .attrs = relu,
      .n_attrs = relu_attrs(relu, compressed),
      .src_names = &x,
      .n_src_names = 1,
      .src_indices = zero,
      .n_src_indices = 1,
      .input_descs = &d,
      .n_input_descs = 1,
      .output_descs = &d,
      .n_output_descs = 1 },
    { .name = { "Node_Output", 11 },
      .type = { "NetOutput", 9 },
      .id = 3,
      .inputs = &from_relu,
      .n_inputs = 1,
      .src_names = &r,
      .n_src_names = 1,
      .src_indices = zero,
      .n_src_indices = 1,
      .input_descs = &d,
      .n_input_descs = 1 },
  };
  struct oc_om_graph g = { .name = oc_str_of(graph_name), .ops = ops, .n_ops = 4 };
  struct oc_om_def def = { .name = oc_str_of(name),
                           .ir_version = 2,
                           .graphs = &g,
                           .n_graphs = 1,
                           .attrs = model,
                           .n_attrs = model_attrs(model, compressed) };

  oc_om_write_def(&def, out);
}

void make_tasks(struct oc_buf *out, const char *kernel)
{
  const uint64_t args[] = { 0x80000000u, 0x80000400u };
  const struct oc_om_kernel k = { .op_index = 2,
                                  .kernel_type = 2,
                                  .op_name = "relu",
                                  .kernel_name = kernel,
                                  .args = args,
                                  .n_args = 2 };
  const struct oc_om_tasks totals = { .memory_size = 4096,
                                      .weight_size = 1024,
                                      .stream_num = 1 };

  oc_om_write_tasks(out, &totals, 0x80000000u, 0x80001000u, &k, 1);
}

void make_kernels(struct oc_buf *out, const char *kernel)
{
  append_number(out, 0x5D776EFDu, 4);
  append_number(out, strlen(kernel), 4);
  append_number(out, 7, 4);
  oc_buf_puts(out, kernel);
  oc_buf_puts(out, "\177ELF...");
}
