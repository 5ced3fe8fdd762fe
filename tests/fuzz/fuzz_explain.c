/* Lists and flags against a model: the first byte picks model, chip and mode, then come
 * the texts one behind the other, each ended by a zero byte (missing ones are not given).
 * The models are seeds of the target `onnx`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "import/import.h"
#include "lists/lists.h"
#include "pipeline.h"
#include "shipped/shipped.h"
#include "target.h"

enum {
  KEEP,
  CUSTOM,
  MIX,
  IMPL,
  INPUT_SHAPE,
  OUT_NODES,
  BATCH,
  IMAGE,
  DIMS,
  FP16_NODES,
  OUTPUT_TYPE,
  N_TEXTS
};

struct model {
  const char *name;
  char *bytes;
  size_t len;
};

static const struct model *model_of(size_t pick)
{
  static struct model models[] = {
    { "g4", NULL, 0 }, { "g2", NULL, 0 }, { "conv", NULL, 0 }, { "addn", NULL, 0 }
  };
  struct model *m = &models[pick % OC_COUNT(models)];
  char path[4096];

  snprintf(path, sizeof path, "%s/onnx/%s", FUZZ_SEEDS, m->name);
  if (!m->bytes)
    m->bytes = oc_shipped_file(path, &m->len);
  if (!m->bytes) {
    fprintf(stderr, "cannot read '%s'\n", path);
    abort();
  }
  return m;
}

/* Copies of the texts, each exactly as long as it is. */
static void split(const uint8_t *data, size_t len, struct oc_arena *arena,
                  const char *ret[N_TEXTS], size_t lens[N_TEXTS])
{
  for (size_t i = 0; i < N_TEXTS && len > 0; i++) {
    lens[i] = strnlen((const char *)data, len);
    ret[i] = oc_arena_strndup(arena, (const char *)data, lens[i]);
    size_t step = lens[i] < len ? lens[i] + 1 : len;
    data += step;
    len -= step;
  }
}

struct lists {
  struct oc_keep_list *keep;
  struct oc_custom_list *custom;
  struct oc_mix_list *mix;
  struct oc_impl_list *impl;
};

static void run(const struct model *model, size_t pick, const char *const *texts,
                const struct lists *lists, struct oc_arena *arena, struct oc_findings *fs)
{
  const struct oc_import_options import = { .model = (const uint8_t *)model->bytes,
                                            .model_len = model->len,
                                            .out_nodes = texts[OUT_NODES],
                                            .input_shape = texts[INPUT_SHAPE] };
  const struct fuzz_options how = { .pick = pick,
                                    .no_emit = true,
                                    .input_shape = texts[INPUT_SHAPE],
                                    .batch = texts[BATCH],
                                    .image = texts[IMAGE],
                                    .dims = texts[DIMS],
                                    .fp16_nodes = texts[FP16_NODES],
                                    .output_type = texts[OUTPUT_TYPE],
                                    .keep = lists->keep,
                                    .custom = lists->custom,
                                    .mix = lists->mix };
  struct oc_graph *graph = NULL;
  struct oc_error err = { 0 };

  if (oc_import_onnx(&import, arena, &graph, fs, &err) == 0 && graph)
    fuzz_pipeline(graph, &how, arena, fs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
  const char *texts[N_TEXTS] = { 0 };
  size_t lens[N_TEXTS] = { 0 };
  struct lists lists = { 0 };
  struct oc_findings fs;
  struct oc_arena arena;

  if (len == 0)
    return 0;
  oc_arena_init(&arena, FUZZ_ARENA_CAP);
  oc_findings_init(&fs, &arena);
  split(data + 1, len - 1, &arena, texts, lens);
  if (lens[KEEP])
    (void)oc_keep_parse(&arena, texts[KEEP], lens[KEEP], 0, &fs, &lists.keep);
  if (lens[CUSTOM])
    (void)oc_custom_parse(&arena, texts[CUSTOM], lens[CUSTOM], 0, &fs, &lists.custom);
  if (lens[MIX])
    (void)oc_mix_parse(&arena, texts[MIX], lens[MIX], 0, &fs, &lists.mix);
  if (lens[IMPL])
    (void)oc_impl_parse(&arena, texts[IMPL], lens[IMPL], 0, &fs, &lists.impl);
  run(model_of(data[0]), data[0] / 4, texts, &lists, &arena, &fs);
  oc_custom_clear(lists.custom);
  oc_mix_clear(lists.mix);
  oc_arena_clear(&arena);
  return 0;
}
