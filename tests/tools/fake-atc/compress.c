/* FAKE_COMPRESS: attributes of ops and tensors as current compilers write them, names and
 * strings as numbers of dictionaries that stand among the model's attributes. */
#include "fake.h"

#include "base/arena.h"
#include "om/om.h"

/* What op_map.c writes; numbers of names count from 1 in a key. */
static const struct oc_str names[] = { { "_datadump_original_op_names", 27 },
                                       { "origin_data_type", 16 } };
static const struct oc_str keys[] = { { "\0\1", 2 }, { "\0\2", 2 } };
static const int64_t holds_text[] = { 1, 1 };

struct dictionary {
  struct oc_str *values;
  int64_t *numbers;
  uint32_t n;
};

static int64_t add(struct dictionary *d, struct oc_str value)
{
  d->values[d->n] = value;
  d->numbers[d->n] = d->n;
  return d->n++;
}

static void compress(struct dictionary *d, struct oc_om_attr *a)
{
  uint32_t first = d->n;

  a->name = keys[a->kind == OC_OM_ATTR_STRING];
  if (a->kind == OC_OM_ATTR_STRING) {
    a->u.i = add(d, a->u.s);
    a->kind = OC_OM_ATTR_INT;
    return;
  }
  for (size_t i = 0; i < a->n; i++)
    (void)add(d, a->u.strings[i]);
  a->kind = OC_OM_ATTR_INTS;
  a->u.ints = d->numbers + first;
}

static uint32_t count_strings(const struct oc_om_graph *g)
{
  uint32_t n = 0;

  for (uint32_t i = 0; i < g->n_ops; i++) {
    n += g->ops[i].n_output_descs;
    for (uint32_t k = 0; k < g->ops[i].n_attrs; k++)
      n += (uint32_t)g->ops[i].attrs[k].n;
  }
  return n;
}

int compress_attrs(struct oc_arena *arena, struct oc_om_graph *g, struct oc_om_attr *ret)
{
  size_t room = count_strings(g) + 1u;
  struct dictionary d = { .values = OC_NEW_N(arena, struct oc_str, room),
                          .numbers = OC_NEW_N(arena, int64_t, room) };

  if (!d.values || !d.numbers)
    return -1;
  for (uint32_t i = 0; i < g->n_ops; i++) {
    struct oc_om_op *op = &g->ops[i];

    for (uint32_t k = 0; k < op->n_attrs; k++)
      compress(&d, &op->attrs[k]);
    for (uint32_t o = 0; o < op->n_output_descs; o++)
      for (uint32_t k = 0; k < op->output_descs[o].n_attrs; k++)
        compress(&d, &op->output_descs[o].attrs[k]);
  }
  ret[0] = (struct oc_om_attr){ .name = { "om_compress_version", 19 },
                                .kind = OC_OM_ATTR_INT,
                                .u.i = 1 };
  ret[1] = (struct oc_om_attr){ .name = { "attr_name_enum", 14 },
                                .kind = OC_OM_ATTR_STRINGS,
                                .n = 2,
                                .u.strings = names };
  ret[2] = (struct oc_om_attr){ .name = { "attr_value_enum", 15 },
                                .kind = OC_OM_ATTR_STRINGS,
                                .n = d.n,
                                .u.strings = d.values };
  ret[3] = (struct oc_om_attr){ .name = { "attrs_use_string_value", 22 },
                                .kind = OC_OM_ATTR_BOOLS,
                                .n = 2,
                                .u.ints = holds_text };
  return 0;
}
