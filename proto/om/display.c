/* The lines that the vendor's compiler prints for a finished file (--mode=6): a missing
 * string prints empty, a missing number -1, and the list of sizes must have five. */
#include "om_internal.h"

static void put_sizes(const struct oc_om_view *v, struct oc_buf *out)
{
  const struct oc_om_attr *a =
      oc_om_attr_find(v->def->attrs, v->def->n_attrs, "om_info_list");

  if (!a || (a->kind != OC_OM_ATTR_INTS && a->kind != OC_OM_ATTR_EMPTY)) {
    oc_buf_puts(out,
                "Display Model Info failed, attr \"om_info_list\" is not found in om, "
                "check the version is matched.\n");
    return;
  }
  if (a->n != 5) {
    oc_buf_puts(out, "Display Model Info error, please check!\n");
    return;
  }
  oc_buf_printf(out,
                "om       info: modeldef_size[%llu B], weight_data_size[%lld B], "
                "tbe_kernels_size[%lld B], cust_aicpu_kernel_store_size[%lld B], "
                "task_info_size[%lld B], so_store_size[%lld B].\n",
                (unsigned long long)v->def_size, (long long)a->u.ints[0],
                (long long)a->u.ints[1], (long long)a->u.ints[2], (long long)a->u.ints[3],
                (long long)a->u.ints[4]);
}

int oc_om_display(const struct oc_om_info *info, struct oc_buf *out)
{
  const struct oc_om_view *v = &info->views[0];
  const struct oc_om_attr *attrs = v->def->attrs;
  uint32_t n = v->def->n_attrs;
  struct oc_str cmdline = oc_om_attr_str(attrs, n, "atc_cmdline");
  struct oc_str version = oc_om_attr_str(attrs, n, "atc_version");
  struct oc_str soc = oc_om_attr_str(attrs, n, "soc_version");
  struct oc_str framework = oc_om_attr_str(attrs, n, "framework_type");

  oc_buf_puts(out, "============ Display Model Info start ============\n");
  oc_buf_printf(out, "Original Atc command line: %.*s\n", (int)cmdline.len, cmdline.p);
  oc_buf_printf(
      out, "system   info: atc_version[%.*s], soc_version[%.*s], framework_type[%.*s].\n",
      (int)version.len, version.p, (int)soc.len, soc.p, (int)framework.len, framework.p);
  oc_buf_printf(
      out,
      "resource info: memory_size[%lld B], weight_size[%lld B], stream_num[%lld], "
      "event_num[%lld].\n",
      (long long)oc_om_attr_int(attrs, n, "memory_size", -1),
      (long long)oc_om_attr_int(attrs, n, "weight_size", -1),
      (long long)oc_om_attr_int(attrs, n, "stream_num", -1),
      (long long)oc_om_attr_int(attrs, n, "event_num", -1));
  put_sizes(v, out);
  return oc_buf_puts(out, "============ Display Model Info end   ============\n");
}
