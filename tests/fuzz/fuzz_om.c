/* Bytes as an .om file: everything that inspect shows of it. */
#include "om/om.h"
#include "target.h"

#define TEXT_CAP ((size_t)64 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
  struct oc_om_info *info = NULL;
  struct oc_error err = { 0 };
  struct oc_json_writer w;
  struct oc_arena arena;
  struct oc_buf out;

  oc_arena_init(&arena, FUZZ_ARENA_CAP);
  oc_buf_init(&out, TEXT_CAP);
  if (oc_om_inspect(oc_om_source_bytes(data, len), &arena, &info, &err) == 0) {
    oc_json_writer_init(&w, &out, false);
    oc_json_begin_object(&w, NULL);
    oc_om_write_json(info, &w);
    oc_json_end_object(&w);
    (void)oc_om_display(info, &out);
  }
  oc_buf_clear(&out);
  oc_arena_clear(&arena);
  return 0;
}
