/* FAKE_OPMAP: ops that the file is to hold, as a compiler that fuses would leave them. */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/json.h"
#include "om/om.h"

static char *read_all(const char *path, size_t *ret_len)
{
  FILE *f = fopen(path, "re");
  char *text = NULL;
  size_t room = 0;
  ssize_t n = f ? getdelim(&text, &room, '\0', f) : -1;

  if (f)
    fclose(f);
  *ret_len = n > 0 ? (size_t)n : 0;
  return text;
}

static void set_origins(struct oc_arena *arena, const struct oc_json *names,
                        struct oc_om_op *op)
{
  struct oc_str *list = OC_NEW_N(arena, struct oc_str, names->n);
  struct oc_om_attr *attr = OC_NEW(arena, struct oc_om_attr);
  size_t n = 0;

  if (!list || !attr)
    return;
  for (const struct oc_json *v = names->first; v; v = v->next)
    list[n++] = oc_str_of(oc_json_string(v, ""));
  *attr = (struct oc_om_attr){ .name = oc_str_of("_datadump_original_op_names"),
                               .kind = OC_OM_ATTR_STRINGS,
                               .n = n,
                               .u.strings = list };
  op->attrs = attr;
  op->n_attrs = 1;
}

/* The model's dtype, as compilers record it at a tensor. */
static void set_orig(struct oc_arena *arena, const struct oc_json *word,
                     struct oc_om_desc *desc)
{
  struct oc_om_attr *attr = OC_NEW(arena, struct oc_om_attr);
  enum oc_dtype d;

  if (!attr || !oc_dtype_parse(oc_str_of(oc_json_string(word, "")), &d))
    return;
  *attr = (struct oc_om_attr){ .name = oc_str_of("origin_data_type"),
                               .kind = OC_OM_ATTR_STRING,
                               .u.s = oc_str_of(oc_om_dtype_word(d)) };
  desc->attrs = attr;
  desc->n_attrs = 1;
}

static int one_op(struct oc_arena *arena, const struct oc_json *v, struct oc_om_op *op)
{
  const struct oc_json *origins = oc_json_get(v, "origins");
  struct oc_om_desc *desc = OC_NEW(arena, struct oc_om_desc);
  static const int64_t dims[] = { 1 };

  if (!desc || !oc_dtype_parse(oc_str_of(oc_json_string(oc_json_get(v, "dtype"), "")),
                               &desc->dtype))
    return -1;
  desc->name = oc_str_of("y");
  desc->rank = 1;
  desc->dims = dims;
  desc->layout = oc_str_of("ND");
  op->name = oc_str_of(oc_json_string(oc_json_get(v, "name"), ""));
  op->type = oc_str_of(oc_json_string(oc_json_get(v, "type"), ""));
  op->output_descs = desc;
  op->n_output_descs = 1;
  if (origins)
    set_origins(arena, origins, op);
  if (oc_json_get(v, "orig"))
    set_orig(arena, oc_json_get(v, "orig"), desc);
  return 0;
}

int op_map_read(struct oc_arena *arena, int64_t first, struct oc_om_op **ret,
                uint32_t *ret_n)
{
  const char *path = knob("FAKE_OPMAP");
  struct oc_error err = { 0 };
  struct oc_json *root = NULL;
  size_t len = 0;
  uint32_t n = 0;

  *ret_n = 0;
  if (!path)
    return 0;
  char *text = read_all(path, &len);
  int rc = text ? oc_json_parse(text, len, 0, arena, &root, &err) : -1;
  free(text);
  struct oc_om_op *ops = rc ? NULL : OC_NEW_N(arena, struct oc_om_op, root->n);
  for (const struct oc_json *v = ops ? root->first : NULL; v; v = v->next) {
    if (one_op(arena, v, &ops[n]))
      ops = NULL;
    if (!ops)
      break;
    ops[n].id = first + n;
    n++;
  }
  if (!ops) {
    fprintf(stderr, "FAKE_OPMAP '%s' is not a list of ops: %s\n", path, err.msg);
    return -1;
  }
  *ret = ops;
  *ret_n = n;
  return 0;
}
