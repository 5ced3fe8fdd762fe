/* Wrong and hostile TensorFlow graphs: each a finding, none a crash. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "graph_text.h"
#include "infer/infer.h"
#include "tf_text.h"

#define X "x Placeholder - dtype=t1 shape=h1;4\n"

static const struct {
  const char *text, *out_nodes, *findings;
} cases[] = {
  { X "r Relu y\n", NULL, "producer-missing(r)" },
  { X "r Relu x:1\n", NULL, "producer-missing(r)" },
  { X "r Relu x\n", "q:0", "out-node-unknown(q:0)" },
  { X "r Relu x\n", "r", "out-node-unknown(r)" },
  { X "r Relu x\n", "r:7", "out-node-unknown(r:7)" },
  { X, NULL, "no-outputs()" },
  { X "r Relu x\nr Relu x\n", NULL, "name-twice(r)" },
  { X "a Add x,b\nb Relu a\n", "b:0", "model-cycle(a)" },
  { X "f Frobnicate x\ng Frobnicate f\n", NULL, "tf-op-unknown(Frobnicate)" },
  { "v VariableV2 - dtype=t1\nr Relu v\n", NULL, "tf-not-frozen(v)" },
  { X "i StatelessIf x,x then_branch=Fa else_branch=Fb\n", NULL, "tf-function(i)" },
  { X "s Split x,x num_split=i-1\n", NULL, "node-refused(s)" },
  { X "r Relu x,x\n", NULL, "node-refused(r)" },
  { X "c Conv2D x,x data_format=sNCHW_VECT_C\n", NULL, "node-refused(c)" },
  { X "c Conv2D x,x padding=sEXPLICIT explicit_paddings=I1;2\n", NULL,
    "node-refused(c)" },
  { "c Const - dtype=t1\nr Relu c\n", NULL, "node-refused(c)" },
  { "c Const - value=c1:-2:1\nr Relu c\n", NULL, "tensor-bad(c)" },
  { "c Const - value=c1:1:1;2\nr Relu c\n", NULL, "tensor-bad(c)" },
  { "c Const - value=c77:1:1\nr Relu c\n", NULL, "tensor-bad(c)" },
  { "c Const - value=c1:9999999;9999999;9999999:1\nr Relu c\n", NULL, "tensor-bad(c)" },
  { "c Const - value=c1:1000000000:1\nr Relu c\n", NULL, "tensor-bad(c)" },
  { "x Placeholder - dtype=t99\nr Relu x\n", NULL, "dtype-unknown(x)" },
};

START_TEST(findings)
{
  static struct imported im;
  struct oc_import_options o = { .out_nodes = cases[_i].out_nodes };
  oc_buf_init(&im.model, 1 << 20);
  tf_graph_from(cases[_i].text, &im.model);
  import_bytes_with(oc_import_tensorflow, im.model.data, im.model.len, &o, &im);
  ck_assert_msg(strcmp(im.findings_text, cases[_i].findings) == 0, "%d: %s", _i,
                im.findings_text);
  ck_assert(oc_findings_have_errors(&im.findings));
  imported_clear(&im);
}
END_TEST

START_TEST(other_formats)
{
  static const struct {
    const char *bytes;
    size_t len;
    const char *findings;
  } files[] = {
    { "\x08\x01\x12\x04\x0a\x02\x0a\x00", 8, "tf-saved-model()" },
    { "node {\n  name: \"x\"\n}\n", 21, "tf-text()" },
    { "\x0a\x7f", 2, "model-malformed()" },
    { "", 0, "model-malformed()" },
    { "\x0a\x00", 2, "model-malformed()" },
    { "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10, "model-malformed()" },
  };
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    static struct imported im;
    oc_buf_init(&im.model, 64);
    import_bytes_with(oc_import_tensorflow, files[i].bytes, files[i].len, NULL, &im);
    ck_assert_msg(strcmp(im.findings_text, files[i].findings) == 0, "%zu: %s", i,
                  im.findings_text);
    imported_clear(&im);
  }
}
END_TEST

static uint64_t next(uint64_t *s)
{
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

static void mutate(uint8_t *p, size_t *len, uint64_t *seed)
{
  for (uint64_t k = 1 + next(seed) % 4; k > 0 && *len > 1; k--) {
    size_t at = (size_t)(next(seed) % *len);
    switch (next(seed) % 4) {
    case 0: p[at] ^= (uint8_t)(1u << next(seed) % 8); break;
    case 1: p[at] = (uint8_t)next(seed); break;
    case 2: memmove(p + at, p + at + 1, --*len - at); break;
    default: *len = at + 1; break;
    }
  }
}

/* Bytes changed, dropped and cut: whatever is imported can be inferred. */
START_TEST(mutations)
{
  static const char *const graph =
      "version 134\nx Placeholder - dtype=t1 shape=h1;8;8;4\n"
      "w Const - value=c1:3;3;4;2:0.5\nc Conv2D x,w strides=I1;1;1;1 padding=sSAME\n"
      "b Const - value=c1:2:1\nd BiasAdd c,b,^x T=t1\na Const - value=c3::3\n"
      "s Split a,d num_split=i2\nk ConcatV2 s,s:1,a N=i2\n"
      "t Const - value=c3:4:0;3;1;2\nu Transpose k,t\nn Const - value=c3:2:1;-1\n"
      "r Reshape u,n\ne Enter r frame_name=sf\nm Merge e,j N=i2\nl LoopCond l0\n"
      "l0 Const - value=c10::1\ng Switch m,l\nj NextIteration g:1\nq Exit g\n"
      "v PartitionedCall x f=Fh Tout=I1\n";
  struct oc_buf model;
  uint64_t seed = 88172645463325252u;
  unsigned imported = 0;
  oc_buf_init(&model, 1 << 16);
  tf_graph_from(graph, &model);
  tf_function_into(&model, "h", "a", "y", "z:activations:0", "z Relu a T=t1\n");
  for (unsigned round = 0; round < 4000; round++) {
    static struct imported im;
    struct oc_error err = { 0 };
    uint8_t *copy = malloc(model.len);
    size_t len = model.len;
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, model.data, len);
    if (round)
      mutate(copy, &len, &seed);
    oc_buf_init(&im.model, 64);
    import_bytes_with(oc_import_tensorflow, copy, len, NULL, &im);
    ck_assert(im.graph != NULL || oc_findings_have_errors(&im.findings));
    if (im.graph) {
      imported++;
      (void)oc_infer(im.graph, &(struct oc_infer_options){ 0 }, &im.findings, NULL, &err);
    }
    imported_clear(&im);
    free(copy);
  }
  ck_assert_uint_gt(imported, 100);
  oc_buf_clear(&model);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("import_tensorflow_bad");
  TCase *c = tcase_create("bad");
  tcase_set_timeout(c, 120);
  tcase_add_loop_test(c, findings, 0, (int)(sizeof(cases) / sizeof(cases[0])));
  tcase_add_test(c, other_formats);
  tcase_add_test(c, mutations);
  suite_add_tcase(s, c);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
