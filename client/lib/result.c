/* A Finished message becomes a result that lives as long as its job: strings and inline
 * members are copied out of the frame, descriptors are taken over. A large result's first
 * members come in frames before it. */
#include <string.h>
#include <unistd.h>

#include "lib/lib_internal.h"

static const char *copy(struct omcc_job *job, const char *s)
{
  const char *c = oc_arena_strdup(&job->result_arena, s ? s : "");

  return c ? c : "";
}

static int take_member(struct omcc_job *job, const Omcc__V1__Member *m,
                       struct oc_frame *frame, struct omcc_member *ret,
                       struct omcc_error *err)
{
  *ret = (struct omcc_member){ .name = copy(job, m->name),
                               .kind = copy(job, m->kind),
                               .mode = m->mode,
                               .bytes = m->size,
                               .fd = -1 };
  if (m->sha256.len == sizeof(ret->sha256))
    memcpy(ret->sha256, m->sha256.data, sizeof(ret->sha256));
  if (m->where_case == OMCC__V1__MEMBER__WHERE_FD) {
    ret->fd = oc_frame_take_fd(frame, m->fd);
    if (ret->fd < 0)
      return omcc_fail(err, OMCC_E_PROTO, OMCC_DAEMON,
                       "the daemon sent member '%s' without its file", m->name);
    return 0;
  }
  ret->data = oc_arena_memdup(&job->result_arena, m->inline_.data, m->inline_.len);
  ret->bytes = m->inline_.len;
  return ret->data || !m->inline_.len
             ? 0
             : omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory for the result");
}

static void fill_plain(struct omcc_job *job, const Omcc__V1__Finished *m)
{
  struct omcc_result *r = &job->result;

  r->status = (int)m->status;
  r->code = copy(job, *m->code ? m->code : omcc_status_name(r->status));
  r->message = copy(job, m->message);
  r->result = copy(job, m->result);
  r->backend = copy(job, m->backend);
  r->device_ready = m->device_ready;
  r->has_key = m->key.len == sizeof(r->key);
  if (r->has_key)
    memcpy(r->key, m->key.data, sizeof(r->key));
  r->stored = copy(job, m->stored);
  r->stored_reason = copy(job, m->stored_reason);
  r->elapsed_ms = m->elapsed_ms;
  r->compile_ms = m->compile_ms;
  r->saved_ms = m->saved_ms;
}

int omcc_take_members(struct omcc_job *job, Omcc__V1__Member **m, size_t n,
                      struct oc_frame *frame, struct omcc_error *err)
{
  struct omcc_result *r = &job->result;
  struct omcc_member *grown;
  int rc = 0;

  if (n > OC_MAX_MEMBERS - r->n_members)
    return omcc_fail(err, OMCC_E_PROTO, OMCC_DAEMON, "a result of %zu members",
                     r->n_members + n);
  grown = oc_arena_grow(&job->result_arena, r->members, r->n_members,
                        r->n_members + n + 1, sizeof(*grown));
  if (!grown)
    return omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory for the result");
  r->members = grown;
  for (size_t i = 0; i < n && !rc; i++)
    rc = take_member(job, m[i], frame, &r->members[r->n_members++], err);
  return rc;
}

/* The message as it came; one that we made of a refusal is packed. */
static void keep_message(struct omcc_job *job, const Omcc__V1__Finished *m,
                         const struct oc_frame *frame)
{
  struct omcc_result *r = &job->result;
  struct oc_envelope e;
  struct oc_buf bytes;

  if (!oc_envelope_look(frame->body, frame->len, &e) &&
      e.number == OMCC__V1__TO_CLIENT__BODY_FINISHED) {
    r->message_bytes = oc_arena_memdup(&job->result_arena, e.body, e.body_len);
    r->message_len = r->message_bytes ? e.body_len : 0;
    return;
  }
  oc_buf_init(&bytes, OC_MAX_FRAME);
  if (!oc_message_pack(m, &bytes)) {
    r->message_bytes = oc_arena_memdup(&job->result_arena, bytes.data, bytes.len);
    r->message_len = r->message_bytes ? bytes.len : 0;
  }
  oc_buf_clear(&bytes);
}

int omcc_take_result(struct omcc_job *job, const Omcc__V1__Finished *m,
                     struct oc_frame *frame, struct omcc_error *err)
{
  struct omcc_result *r = &job->result;
  int rc = 0;

  fill_plain(job, m);
  rc = omcc_take_members(job, m->members, m->n_members, frame, err);
  if (rc < 0)
    return rc;
  if (m->report_case == OMCC__V1__FINISHED__REPORT_REPORT_FD)
    r->report_fd = oc_frame_take_fd(frame, m->report_fd);
  if (m->report_case == OMCC__V1__FINISHED__REPORT_REPORT_INLINE) {
    r->report =
        oc_arena_memdup(&job->result_arena, m->report_inline.data, m->report_inline.len);
    r->report_len = r->report ? m->report_inline.len : 0;
  }
  keep_message(job, m, frame);
  return 0;
}

void omcc_clear_result(struct omcc_job *job)
{
  struct omcc_result *r = &job->result;

  for (size_t i = 0; i < r->n_members; i++)
    if (r->members[i].fd >= 0)
      close(r->members[i].fd);
  if (r->report_fd >= 0)
    close(r->report_fd);
  memset(r, 0, sizeof(*r));
  r->report_fd = -1;
}
