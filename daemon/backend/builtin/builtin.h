/* Backend `builtin`: our own compiler's last step.
 *
 * Writes well-formed, inspectable, deterministic .om files that hold no AI Core kernels
 * and therefore do not run on a device; every such file says so. A thin interface over
 * emit, so that the worker deals with a backend and not with a file format. */
#ifndef OC_BUILTIN_BUILTIN_H
#define OC_BUILTIN_BUILTIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/finding.h"

struct oc_graph;
struct oc_builtin;

struct oc_builtin_options {
  const char *label; /* neutral name inside the file; NULL: "model" */
  const char *soc;
  int arch_type;              /* number of its architecture, 0 or less when unknown */
  const char *precision_mode; /* effective mode as the vendor spells it */
  const char *cmdline;        /* recorded command line; NULL: a neutral one */
  const char *const *output_names; /* see emit.h */
  size_t n_output_names;
  /* Profiles of a dynamic model, see emit.h; kind 0: none. */
  uint32_t profile_kind, n_profiles, profile_width;
  const int64_t *profile_values;
  const char *const *profile_names;
  size_t n_profile_names;
  void (*use_profile)(void *ctx, int profile);
  void *use_profile_ctx;
  /* A digest for the plan key, see emit.h; NULL: no plan key. */
  int (*digest)(const void *p, size_t len, uint8_t ret[32]);
  /* Lanes in which constants are made, see emit.h; 0: one after the other. */
  unsigned n_lanes;
  int (*each_lane)(void *ctx, unsigned n_lanes, uint64_t n,
                   int (*work)(void *arg, unsigned lane, uint64_t i), void *arg);
  void *lanes_ctx;
  /* Mapped bytes that are not needed for now, see emit.h. */
  void (*release)(void *ctx, const void *p, size_t len);
  void *release_ctx;
};

struct oc_builtin_info {
  uint64_t size;                    /* of the file */
  uint64_t overflowed, underflowed; /* lowered values */
  bool device_ready;                /* false, always: no kernels */
};

/* Lays the whole file out. Findings and errors as oc_emit_prepare(). Free with
 * oc_builtin_free(). */
int oc_builtin_plan(struct oc_graph *graph, const struct oc_builtin_options *opt,
                    struct oc_findings *fs, struct oc_builtin **ret,
                    struct oc_error *err);
void oc_builtin_free(struct oc_builtin *b);
void oc_builtin_describe(const struct oc_builtin *b, struct oc_builtin_info *ret);
/* Appends the bytes whose digest is the plan key. */
int oc_builtin_identity(const struct oc_builtin *b, struct oc_buf *out,
                        struct oc_error *err);
/* Writes the file to the empty regular file `fd`; errors as oc_emit_write(). */
int oc_builtin_build(const struct oc_builtin *b, int fd, struct oc_error *err);

#endif
