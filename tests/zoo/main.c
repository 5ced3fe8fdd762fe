/* zoogen KIND -o FILE [options]: writes one model; `zoogen list` names the kinds of ONNX
 * models, `zoogen list-tensorflow` those of TensorFlow graphs. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "tf.h"
#include "zoo.h"

static const struct zoo_kind large_kinds[] = {
  { "resnet50", "ResNet-50 (--layers 3,4,6,3 --width --image --batch --classes)",
    zoo_resnet },
  { "bert-base", "BERT (--layers --width --heads --ffn --vocab --seq --batch)",
    zoo_bert },
  { NULL, NULL, NULL },
};

static const struct zoo_kind tf_kinds[] = {
  { "tf-resnet50",
    "ResNet-50, frozen GraphDef (--layers 3,4,6,3 --width --image --batch --classes)",
    tf_resnet },
  { NULL, NULL, NULL },
};

static const struct zoo_kind *const all_kinds[] = { large_kinds, zoo_one_op_kinds,
                                                    zoo_graph_kinds, zoo_broken_kinds,
                                                    zoo_hazard_kinds };

enum option_id {
  LAYERS = 256,
  WIDTH,
  IMAGE,
  BATCH,
  SEQ,
  HEADS,
  FFN,
  VOCAB,
  CLASSES,
  OPSET,
  MEGABYTES,
  SEED,
  TYPE,
  DYNAMIC,
  EXTERNAL
};

static const struct option long_options[] = {
  { "layers", required_argument, NULL, LAYERS },
  { "width", required_argument, NULL, WIDTH },
  { "image", required_argument, NULL, IMAGE },
  { "batch", required_argument, NULL, BATCH },
  { "seq", required_argument, NULL, SEQ },
  { "heads", required_argument, NULL, HEADS },
  { "ffn", required_argument, NULL, FFN },
  { "vocab", required_argument, NULL, VOCAB },
  { "classes", required_argument, NULL, CLASSES },
  { "opset", required_argument, NULL, OPSET },
  { "megabytes", required_argument, NULL, MEGABYTES },
  { "seed", required_argument, NULL, SEED },
  { "type", required_argument, NULL, TYPE },
  { "dynamic", no_argument, NULL, DYNAMIC },
  { "external", no_argument, NULL, EXTERNAL },
  { NULL, 0, NULL, 0 },
};

static bool read_type(const char *word, enum zoo_type *ret)
{
  static const struct {
    const char *word;
    enum zoo_type type;
  } words[] = { { "float32", ZOO_F32 },
                { "float16", ZOO_F16 },
                { "bfloat16", ZOO_BF16 } };

  for (size_t i = 0; i < OC_COUNT(words); i++) {
    if (!strcmp(word, words[i].word)) {
      *ret = words[i].type;
      return true;
    }
  }
  return false;
}

/* The field that a number goes to. */
static int64_t *number_field(struct zoo_options *o, int id)
{
  switch (id) {
  case WIDTH: return &o->width;
  case IMAGE: return &o->image;
  case BATCH: return &o->batch;
  case SEQ: return &o->seq;
  case HEADS: return &o->heads;
  case FFN: return &o->ffn;
  case VOCAB: return &o->vocab;
  case CLASSES: return &o->classes;
  case OPSET: return &o->opset;
  case MEGABYTES: return &o->megabytes;
  default: return NULL;
  }
}

static bool apply(struct zoo_options *o, int id, const char *value)
{
  char *end = NULL;
  int64_t *field = number_field(o, id);

  switch (id) {
  case LAYERS: o->layers = value; return true;
  case DYNAMIC: o->dynamic = true; return true;
  case EXTERNAL: o->external = true; return true;
  case TYPE: return read_type(value, &o->type);
  case SEED: o->seed = strtoull(value, &end, 10); return *value && !*end;
  default: break;
  }
  if (!field)
    return false;
  *field = strtoll(value, &end, 10);
  return *value && !*end && *field > 0;
}

static const struct zoo_kind *find_tf_kind(const char *name)
{
  for (const struct zoo_kind *k = tf_kinds; k->name; k++) {
    if (!strcmp(k->name, name))
      return k;
  }
  return NULL;
}

static const struct zoo_kind *find_kind(const char *name)
{
  for (size_t t = 0; t < OC_COUNT(all_kinds); t++) {
    for (const struct zoo_kind *k = all_kinds[t]; k->name; k++) {
      if (!strcmp(k->name, name))
        return k;
    }
  }
  return NULL;
}

static int list_kinds(void)
{
  for (size_t t = 0; t < OC_COUNT(all_kinds); t++) {
    for (const struct zoo_kind *k = all_kinds[t]; k->name; k++)
      printf("%-20s %s\n", k->name, k->what);
  }
  return 0;
}

static int list_tf_kinds(void)
{
  for (const struct zoo_kind *k = tf_kinds; k->name; k++)
    printf("%-20s %s\n", k->name, k->what);
  return 0;
}

static int usage(void)
{
  fputs("use: zoogen KIND -o FILE [--layers N[,N...]] [--width N] [--image N] [--batch "
        "N] [--seq N]\n"
        "       [--heads N] [--ffn N] [--vocab N] [--classes N] [--opset N] [--megabytes "
        "N] [--seed N]\n"
        "       [--type float32|float16|bfloat16] [--dynamic] [--external]\n"
        "     zoogen list | list-tensorflow\n",
        stderr);
  return 2;
}

int main(int argc, char **argv)
{
  struct zoo_options options = { 0 };
  const char *path = NULL;
  struct zoo z;

  for (int id = 0; (id = getopt_long(argc, argv, "o:", long_options, NULL)) != -1;) {
    if (id == 'o')
      path = optarg;
    else if (!apply(&options, id, optarg))
      return usage();
  }
  if (optind + 1 != argc)
    return usage();
  if (!strcmp(argv[optind], "list"))
    return list_kinds();
  if (!strcmp(argv[optind], "list-tensorflow"))
    return list_tf_kinds();
  const struct zoo_kind *tf = find_tf_kind(argv[optind]);
  const struct zoo_kind *kind = tf ? tf : find_kind(argv[optind]);
  if (!kind || !path)
    return usage();
  zoo_init(&z, kind->name, &options);
  kind->build(&z);
  int rc = tf ? tf_write(&z, path) : zoo_write(&z, path);
  if (rc == 0)
    printf("%s: %llu parameters\n", path, (unsigned long long)z.n_parameters);
  zoo_clear(&z);
  return rc ? 1 : 0;
}
