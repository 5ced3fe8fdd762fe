/* TASK_INFO and the kernel store: which kernels a model launches, and which it has.
 *
 * A KERNEL task names its binary by the symbol inside; the store lists binaries by name.
 * A task whose kernel is on the AI CPU needs none from the file. */
#include <string.h>

#include "base/map.h"
#include "om_internal.h"

#define RECORD_MAGIC 0x5D776EFDu
#define RECORD_HEAD  12

enum {
  KERNEL_CCE = 0,
  KERNEL_TE = 2,
  KERNEL_CUSTOM = 3,
  KERNEL_MIX_CORE = 11,
  KERNEL_MIX_VECTOR = 12
};

/* Names in tasks and in the store differ by this suffix at times; it is left out of both.
 */
static struct oc_str bare_name(struct oc_str name)
{
  static const char suffix[] = "__kernel0";
  size_t k = sizeof suffix - 1;

  if (name.len > k && memcmp(name.p + name.len - k, suffix, k) == 0)
    name.len -= k;
  return name;
}

static int read_store(struct oc_str bytes, struct oc_map *names, struct oc_error *err)
{
  const uint8_t *p = (const uint8_t *)bytes.p;
  size_t at = 0;

  while (bytes.len - at >= RECORD_HEAD) {
    uint64_t name_len = om_get32(p + at + 4), bin_len = om_get32(p + at + 8);
    if (om_get32(p + at) != RECORD_MAGIC ||
        name_len + bin_len > bytes.len - at - RECORD_HEAD)
      return oc_error_set(err, OC_E_FORMAT,
                          "TBE_KERNELS: a record at byte %zu is malformed", at);
    struct oc_str name = { bytes.p + at + RECORD_HEAD, (size_t)name_len };
    if (oc_map_put(names, bare_name(name), names) < 0)
      return oc_error_set(err, OC_E_NOMEM, "not enough memory");
    at += RECORD_HEAD + (size_t)(name_len + bin_len);
  }
  return 0;
}

/* The kernel types whose binary comes with the file. */
static bool on_ai_core(uint64_t type)
{
  return type == KERNEL_CCE || type == KERNEL_TE || type == KERNEL_CUSTOM ||
         type == KERNEL_MIX_CORE || type == KERNEL_MIX_VECTOR;
}

/* Name and kernel type of a KERNEL (20) or of a kernel with a handle (40). */
static bool read_kernel(struct oc_str msg, struct oc_str *ret_name, uint64_t *ret_type)
{
  struct oc_wire w, c;
  struct oc_field f, g;

  *ret_name = oc_str_of("");
  *ret_type = 0;
  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    if (f.number == 17)
      *ret_name = oc_field_str(&f);
    if (f.number != 1 || f.type != OC_WIRE_BYTES)
      continue;
    oc_wire_open(&c, f.data, f.len);
    while (oc_wire_next(&c, &g))
      if (g.number == 1)
        *ret_type = g.u;
    if (c.bad)
      return false;
  }
  return !w.bad;
}

static int read_task(struct oc_str msg, const struct oc_map *names, struct oc_om_tasks *t)
{
  struct oc_wire w;
  struct oc_field f;

  oc_wire_open(&w, msg.p, msg.len);
  while (oc_wire_next(&w, &f)) {
    struct oc_str name;
    uint64_t type;
    if (f.number != 20)
      continue;
    if (!read_kernel(oc_field_str(&f), &name, &type))
      return OC_E_FORMAT;
    t->n_kernels++;
    if (oc_str_starts(name, OC_OM_NO_KERNEL) ||
        (on_ai_core(type) && !oc_map_has(names, bare_name(name))))
      t->n_absent++;
  }
  return w.bad ? OC_E_FORMAT : 0;
}

int oc_om_read_tasks(struct oc_str task_info, struct oc_str kernels,
                     struct oc_om_tasks *ret, struct oc_error *err)
{
  struct oc_map names = { 0 };
  struct oc_om_tasks t = { 0 };
  struct oc_wire w;
  struct oc_field f;
  int rc = read_store(kernels, &names, err);

  oc_wire_open(&w, task_info.p, task_info.len);
  while (rc == 0 && oc_wire_next(&w, &f))
    switch (f.number) {
    case 10:
      t.n_tasks++;
      rc = read_task(oc_field_str(&f), &names, &t);
      break;
    case 11: t.memory_size = f.u; break;
    case 12: t.stream_num = (uint32_t)f.u; break;
    case 13: t.event_num = (uint32_t)f.u; break;
    case 14: t.weight_size = f.u; break;
    }
  oc_map_clear(&names);
  if (rc == OC_E_NOMEM)
    return rc;
  if (rc < 0 || w.bad)
    return oc_error_set(err, OC_E_FORMAT, "TASK_INFO is malformed");
  *ret = t;
  return 0;
}

static void write_kernel(struct oc_buf *out, const struct oc_om_kernel *k,
                         struct oc_buf *child)
{
  uint8_t b[8];

  oc_buf_reset(child);
  oc_wire_put_varint(child, 1, k->kernel_type);
  if (k->op_index)
    oc_wire_put_varint(child, 4, k->op_index);
  if (k->n_args)
    oc_wire_put_varint(child, 7, k->n_args);
  oc_wire_put_message(out, 1, child);
  oc_buf_reset(child);
  oc_buf_printf(child, "1_-1_0_%s", k->op_name);
  oc_wire_put_bytes(out, 10, child->data, child->len);
  oc_wire_put_varint(out, 11, 1);
  if (k->n_args) {
    oc_wire_put_varint(out, 12, 8ull * k->n_args);
    oc_buf_reset(child);
    for (uint32_t i = 0; i < k->n_args; i++) {
      om_set64(b, k->args[i]);
      oc_buf_append(child, b, sizeof b);
    }
    oc_wire_put_bytes(out, 13, child->data, child->len);
  }
  oc_wire_put_string(out, 17, k->kernel_name);
}

int oc_om_write_tasks(struct oc_buf *out, const struct oc_om_tasks *totals,
                      uint64_t base_addr, uint64_t weight_addr,
                      const struct oc_om_kernel *kernels, size_t n)
{
  struct oc_buf task, kernel, child;

  oc_buf_init(&task, out->cap);
  oc_buf_init(&kernel, out->cap);
  oc_buf_init(&child, out->cap);
  for (size_t i = 0; i < n; i++) {
    oc_buf_reset(&task);
    oc_buf_reset(&kernel);
    if (i)
      oc_wire_put_varint(&task, 1, i);
    write_kernel(&kernel, &kernels[i], &child);
    oc_wire_put_message(&task, 20, &kernel);
    oc_wire_put_message(out, 10, &task);
  }
  if (totals->memory_size)
    oc_wire_put_varint(out, 11, totals->memory_size);
  oc_wire_put_varint(out, 12, totals->stream_num);
  if (totals->weight_size)
    oc_wire_put_varint(out, 14, totals->weight_size);
  oc_wire_put_varint(out, 16, base_addr);
  oc_wire_put_varint(out, 17, weight_addr);
  bool failed = task.failed || kernel.failed || child.failed;
  oc_buf_clear(&task);
  oc_buf_clear(&kernel);
  oc_buf_clear(&child);
  return om_finish(out, failed);
}
