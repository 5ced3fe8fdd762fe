/* Between records and results that are published: one way when a result is stored, the
 * other when a stored or exported one is taken up again. */
#include <string.h>

#include "cache/cache_internal.h"
#include "cache/record.h"

int oc_cache_record_of_job(const struct oc_cache_job *job, struct oc_arena *arena,
                           struct oc_cache_record *ret)
{
  const struct oc_cache_put_job *p = &job->put;

  *ret = (struct oc_cache_record){ .has_plan_key = p->has_plan_key,
                                   .created_s = p->created_s,
                                   .facts = p->facts,
                                   .parts = p->parts,
                                   .parts_len = p->parts_len,
                                   .n_members = p->n_members };
  memcpy(ret->key, job->key, sizeof(ret->key));
  memcpy(ret->model, p->model, sizeof(ret->model));
  memcpy(ret->options, p->options, sizeof(ret->options));
  memcpy(ret->plan_key, p->plan_key, sizeof(ret->plan_key));
  ret->members = OC_NEW_N(arena, struct oc_cache_record_member, p->n_members + 1);
  for (size_t i = 0; ret->members && i < p->n_members; i++) {
    const struct oc_cache_job_member *m = &p->members[i];

    ret->members[i] = (struct oc_cache_record_member){
      .name = m->name, .kind = m->kind, .mode = m->mode, .size = m->size, .data = m->data
    };
    memcpy(ret->members[i].sha256, m->sha256, OC_SHA256_LEN);
  }
  return ret->members ? 0 : OC_E_NOMEM;
}

struct oc_cache_job *oc_cache_record_job(const struct oc_cache_record *r,
                                         enum oc_cache_from from,
                                         struct oc_cache_output *outputs,
                                         struct oc_error *err)
{
  struct oc_cache_put_member members[OC_CACHE_MAX_MEMBERS];
  struct oc_cache_put put = { .has_plan_key = r->has_plan_key,
                              .parts = r->parts,
                              .parts_len = r->parts_len,
                              .facts = r->facts,
                              .created_s = r->created_s,
                              .members = members,
                              .n_members = r->n_members };

  memcpy(put.key, r->key, sizeof(put.key));
  memcpy(put.model, r->model, sizeof(put.model));
  memcpy(put.options, r->options, sizeof(put.options));
  memcpy(put.plan_key, r->plan_key, sizeof(put.plan_key));
  for (size_t i = 0; i < r->n_members; i++) {
    const struct oc_cache_record_member *m = &r->members[i];

    members[i] = (struct oc_cache_put_member){
      .name = m->name, .kind = m->kind, .mode = m->mode, .size = m->size, .fd = -1
    };
    memcpy(members[i].sha256, m->sha256, OC_SHA256_LEN);
    members[i].from = m->data                        ? OC_CACHE_FROM_DATA
                      : outputs && outputs[i].fd < 0 ? OC_CACHE_FROM_OBJECT
                                                     : from;
    members[i].data = m->data;
    members[i].output = outputs ? &outputs[i] : NULL;
  }
  return oc_cache_put_job_new(&put, err);
}
