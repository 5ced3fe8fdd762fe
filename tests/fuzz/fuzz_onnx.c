/* Bytes as an ONNX model, through the whole compiler. */
#include "import/import.h"
#include "pipeline.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
  struct oc_import_options options = { .model = data, .model_len = len, .lenient = true };
  const struct fuzz_options how = { .pick = len };
  struct oc_findings findings;
  struct oc_graph *graph = NULL;
  struct oc_error err = { 0 };
  const char *const *names = NULL;
  struct oc_arena arena;
  size_t n = 0;

  oc_arena_init(&arena, FUZZ_ARENA_CAP);
  oc_findings_init(&findings, &arena);
  (void)oc_import_external(data, len, &arena, &names, &n, &findings, &err);
  if (oc_import_onnx(&options, &arena, &graph, &findings, &err) == 0 && graph)
    fuzz_pipeline(graph, &how, &arena, &findings);
  oc_arena_clear(&arena);
  return 0;
}
