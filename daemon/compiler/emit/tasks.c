/* TASK_INFO: one KERNEL task per op that computes, in the order of execution.
 *
 * We have no kernels. Each task names one that cannot exist, so that a loader stops
 * instead of running nothing and handing out what lay in memory. Arguments are right all
 * the same: logical addresses of the inputs, then the outputs. */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "emit_internal.h"

enum { KERNEL_TYPE_CORE = 2, KERNEL_TYPE_CPU = 6 };

static int by_step(const void *a, const void *b)
{
  const struct emit_op *x = *(struct emit_op *const *)a, *y = *(struct emit_op *const *)b;

  return (x->step > y->step) - (x->step < y->step);
}

/* 0 for a tensor whose place is only known when it runs. */
static uint64_t address(const struct oc_emit_plan *p, const struct emit_op *e,
                        uint32_t out)
{
  if (e->constant)
    return EMIT_BASE_ADDR + p->stats.memory_size + e->constant->offset;
  return e->blocks[out] ? EMIT_BASE_ADDR + e->blocks[out]->offset : 0;
}

static bool set_kernel(struct oc_emit_plan *p, const struct emit_op *e,
                       struct oc_om_kernel *k)
{
  uint64_t *args =
      OC_NEW_N(&p->arena, uint64_t, (size_t)e->op->n_inputs + e->op->n_outputs);
  uint32_t n = 0;

  if (!args)
    return false;
  for (uint32_t i = 0; i < e->op->n_inputs; i++)
    if (emit_producer(e, i))
      args[n++] = address(p, emit_producer(e, i), emit_producer_out(e, i));
  for (uint32_t i = 0; i < e->op->n_outputs; i++)
    args[n++] = address(p, e, i);
  *k = (struct oc_om_kernel){
    .op_index = e->id,
    .kernel_type = e->op->engine == OC_ENGINE_AICPU ? KERNEL_TYPE_CPU : KERNEL_TYPE_CORE,
    .op_name = e->name,
    .kernel_name = oc_arena_printf(&p->arena, OC_OM_NO_KERNEL "__%s", e->op->type),
    .args = args,
    .n_args = n,
  };
  return k->kernel_name != NULL;
}

int emit_tasks(struct oc_emit_plan *p, struct oc_error *err)
{
  struct oc_om_tasks totals = { .memory_size = p->stats.memory_size,
                                .weight_size = emit_weight_size(p),
                                .stream_num = 1 };
  size_t n = 0, all = 0;

  for (uint32_t g = 0; g < p->n_graphs; g++)
    all += p->graphs[g].n_ops;
  struct emit_op **ops = OC_NEW_N(&p->arena, struct emit_op *, all);
  struct oc_om_kernel *kernels = OC_NEW_N(&p->arena, struct oc_om_kernel, all);
  if (!ops || !kernels)
    return emit_no_memory(err);
  for (uint32_t g = 0; g < p->n_graphs; g++)
    for (uint32_t i = 0; i < p->graphs[g].n_ops; i++)
      if (emit_is_compute(p->graphs[g].ops[i]))
        ops[n++] = p->graphs[g].ops[i];
  if (n)
    qsort(ops, n, sizeof *ops, by_step);
  for (size_t i = 0; i < n; i++)
    if (!set_kernel(p, ops[i], &kernels[i]))
      return emit_no_memory(err);
  oc_buf_init(&p->model->tasks, OC_MAX_MODEL_DEF);
  if (oc_om_write_tasks(&p->model->tasks, &totals, EMIT_BASE_ADDR,
                        EMIT_BASE_ADDR + totals.memory_size, kernels, n) < 0)
    return emit_no_memory(err);
  return 0;
}
