/* Emit: a judged graph becomes the bytes of an .om file.
 *
 * Two steps. oc_emit_prepare() decides every byte but the weights': it orders and folds
 * constants, goes through them once (converted in bounded pieces, digested and counted),
 * plans memory, writes MODEL_DEF, TASK_INFO and MODEL_INOUT_INFO into memory, and knows
 * the exact size of the file. oc_emit_write() then writes it once, weights converted
 * again, straight from the mapped model to the file.
 *
 * Constants: a Cast that the judge put behind a constant is folded into it; byte-equal
 * constants are stored once; values that a lowering turns into infinity are reported per
 * constant (weight-overflow), those that become zero in one note (weight-underflow). The
 * same graph and options give the same bytes on every machine.
 *
 * Profiles: the first model of the file is the graph with its open dims; behind it comes
 * one model for each profile, the same ops with the profile's shapes and a memory plan
 * and tasks of their own. Constants are stored once, in the first model: a constant of a
 * later one has the place of its bytes there, a weight_size of 0, and their number in the
 * attribute `_root_weight_size`. The first model's memory_size is the most that any
 * needs.
 *
 * The file holds no kernels and says so: each compute op has a KERNEL task whose kernel
 * name begins with OC_OM_NO_KERNEL.
 *
 * The ops of the graph and its sub-graphs are put into topological order; nothing else of
 * the graph changes but `plan`, which is emit's.
 *
 * Ownership: the plan belongs to the caller, oc_emit_free(); it borrows the graph and the
 * mapped files behind its constants. */
#ifndef OC_EMIT_EMIT_H
#define OC_EMIT_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/finding.h"

struct oc_graph;

/* Several lanes of work: each() calls work(arg, lane, i) once for every i below `n`, in
 * any order, from up to `n_lanes` threads, each with a lane number of its own below that.
 * It returns when all are done: 0, or a failure of one, behind which the rest may be
 * left. */
struct oc_emit_lanes {
  unsigned n;
  int (*each)(void *ctx, unsigned n_lanes, uint64_t n,
              int (*work)(void *arg, unsigned lane, uint64_t i), void *arg);
  void *ctx;
};

struct oc_emit_options {
  const char *label;   /* model name inside the file, "model" when NULL */
  const char *soc;     /* exact string, such as "Ascend310P3" */
  int arch_type;       /* number of the chip's architecture, 0 or less: not written */
  const char *cmdline; /* atc_cmdline; a neutral one when NULL */
  const char *precision_mode; /* recorded in the graph's attributes; NULL: not recorded */
  /* The model's own names of its outputs, in order; NULL: names of NetOutput's inputs. */
  const char *const *output_names;
  size_t n_output_names;
  /* Sizes that the -1 dims may take: kind is 2 for batch sizes, 3 for image sizes, 4 for
   * dims, 0 for none; `n` profiles of `width` values for the inputs `names`. */
  struct oc_emit_profiles {
    uint32_t kind, n, width;
    const int64_t *values;
    const char *const *names;
    size_t n_names;
    /* Gives every tensor of the graph the shape it has in a profile, or with -1 its own
     * again. When it is set, a model per profile is written behind the dynamic one. */
    void (*use)(void *ctx, int profile);
    void *use_ctx;
  } profiles;
  /* A digest of bytes such as SHA-256: 0 or an OC_E_* code; equal results must mean equal
   * bytes. Called from every lane. NULL: oc_emit_identity() is not available. */
  int (*digest)(const void *p, size_t len, uint8_t ret[32]);
  /* Constants are made in these, by oc_emit_prepare() and oc_emit_write(). NULL: one
   * after the other; the bytes are the same. */
  const struct oc_emit_lanes *lanes;
  /* Told of mapped bytes that are not needed for now (they may be read again later): the
   * owner of the mapping may let go of the memory. Called from every lane. May be NULL.
   */
  void (*release)(void *ctx, const void *p, size_t len);
  void *release_ctx;
  uint64_t max_model_def; /* 0: OC_MAX_MODEL_DEF; smaller values are for tests */
};

struct oc_emit_stats {
  uint64_t overflowed, underflowed; /* values, over all constants */
  uint64_t n_constants, n_stored;   /* constants in the file; different ones among them */
  uint64_t memory_size, weight_size;
  uint64_t peak_live; /* most bytes alive at one step: no plan can need less */
  uint32_t n_models;  /* in the file */
};

struct oc_emit_plan;

/* 0 and a plan; negative with `err` when the graph cannot be written. Sizes over what the
 * format carries are error findings in `fs` with OC_E_LIMIT. Counts of lowered values are
 * findings too, all of them complete here: writing adds none. */
int oc_emit_prepare(struct oc_graph *root, const struct oc_emit_options *opt,
                    struct oc_findings *fs, struct oc_emit_plan **ret,
                    struct oc_error *err);
void oc_emit_free(struct oc_emit_plan *p);

/* Exact size of the file. */
uint64_t oc_emit_size(const struct oc_emit_plan *p);
const struct oc_emit_stats *oc_emit_stats(const struct oc_emit_plan *p);
/* Appends the bytes that decide every byte of the file: equal identities mean equal
 * files. Input of the plan key. OC_E_ARG when no digest function was given. */
int oc_emit_identity(const struct oc_emit_plan *p, struct oc_buf *out,
                     struct oc_error *err);

/* Writes the file from offset 0 of `fd`, an empty regular file: preallocated first, then
 * pwrite. OC_E_LIMIT when there is no space (`err` says so; nothing but the preallocation
 * was tried then), OC_E_IO when a write fails. A mapped model that is shortened meanwhile
 * is a SIGBUS, here and in oc_emit_prepare(). May be called again for another file. */
int oc_emit_write(const struct oc_emit_plan *p, int fd, struct oc_error *err);

#endif
