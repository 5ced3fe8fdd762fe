/* Bytes as a frozen TensorFlow graph, through the whole compiler. */
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
  struct oc_arena arena;

  oc_arena_init(&arena, FUZZ_ARENA_CAP);
  oc_findings_init(&findings, &arena);
  options.input_format = len % 4 == 0 ? "NCHW" : NULL;
  if (oc_import_tensorflow(&options, &arena, &graph, &findings, &err) == 0 && graph)
    fuzz_pipeline(graph, &how, &arena, &findings);
  oc_arena_clear(&arena);
  return 0;
}
