/* A request on its way out: every file opened, everything copied, one frame. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "flags/flags.h"
#include "lib/lib_internal.h"

static int no_memory(struct omcc_error *err)
{
  return omcc_fail(err, OMCC_E_NOMEM, OMCC_BUG, "no memory for the request");
}

static int add_file(struct omcc_job *job, const struct oc_flag_info *info,
                    const char *value, struct omcc_error *err)
{
  struct omcc_job_file *file = &job->files[job->n_files];
  int rc;

  if (job->n_files == OC_MAX_FRAME_FDS)
    return omcc_fail(err, OMCC_E_LIMIT, OMCC_REQUEST, "more than %d files in one request",
                     OC_MAX_FRAME_FDS);
  file->flag = info->name;
  file->name = oc_arena_strdup(&job->arena, value);
  file->sealed = info->content == OC_FLAG_LIST;
  if (!file->name)
    return no_memory(err);
  rc = omcc_open_file(info->name, value, file->sealed, &file->fd, err);
  if (rc < 0)
    return rc;
  if (!strcmp(info->name, "model"))
    job->model = (int)job->n_files;
  job->n_files++;
  return 0;
}

/* Whoever compiles has a working directory of its own, and goes by the path. */
static char *whole_path(struct oc_arena *arena, const char *path)
{
  auto_free char *here = *path == '/' ? NULL : getcwd(NULL, 0);

  return here ? oc_arena_printf(arena, "%s/%s", here, path)
              : oc_arena_strdup(arena, path);
}

/* A folder is sent when it can be opened; without it the request has no key. */
static int add_folder(struct omcc_job *job, const struct oc_flag_info *info,
                      Omcc__V1__Flag *m, struct omcc_error *err)
{
  struct omcc_job_file *file = &job->files[job->n_files];

  if (job->n_files == OC_MAX_FRAME_FDS)
    return omcc_fail(err, OMCC_E_LIMIT, OMCC_REQUEST, "more than %d files in one request",
                     OC_MAX_FRAME_FDS);
  m->value = whole_path(&job->arena, m->value);
  if (!m->value)
    return no_memory(err);
  *file = (struct omcc_job_file){ .flag = info->name,
                                  .name = m->value,
                                  .fd = omcc_open_folder(m->value),
                                  .directory = true };
  job->n_files += file->fd >= 0;
  return 0;
}

static int add_flag(struct omcc_job *job, const struct omcc_flag *flag,
                    struct omcc_error *err)
{
  const struct oc_flag_info *info = oc_flag_find(flag->name);
  Omcc__V1__Flag *m = OC_NEW(&job->arena, Omcc__V1__Flag);

  if (!m)
    return no_memory(err);
  omcc__v1__flag__init(m);
  m->name = oc_arena_strdup(&job->arena, flag->name);
  m->value = oc_arena_strdup(&job->arena, flag->value);
  m->known = info != NULL;
  if (!m->name || !m->value)
    return no_memory(err);
  job->submit.flags[job->submit.n_flags++] = m;
  if (info && *flag->value && info->content == OC_FLAG_DIR)
    return add_folder(job, info, m, err);
  if (!info || !*flag->value ||
      (info->content != OC_FLAG_FILE && info->content != OC_FLAG_LIST))
    return 0;
  return add_file(job, info, flag->value, err);
}

/* The File entries of the message; descriptor numbers are positions in the frame. */
static int list_files(struct omcc_job *job, struct omcc_error *err)
{
  job->submit.files = OC_NEW_N(&job->arena, Omcc__V1__File *, job->n_files + 1);
  if (!job->submit.files)
    return no_memory(err);
  for (size_t i = 0; i < job->n_files; i++) {
    Omcc__V1__File *m = OC_NEW(&job->arena, Omcc__V1__File);

    if (!m)
      return no_memory(err);
    omcc__v1__file__init(m);
    m->flag = (char *)job->files[i].flag;
    m->name = (char *)job->files[i].name;
    m->fd = (uint32_t)i;
    m->sealed = job->files[i].sealed;
    m->directory = job->files[i].directory;
    job->submit.files[job->submit.n_files++] = m;
  }
  return 0;
}

static int fill_submit(struct omcc_job *job, const struct omcc_request *request,
                       struct omcc_error *err)
{
  Omcc__V1__Submit *m = &job->submit;
  int rc = 0;

  omcc__v1__submit__init(m);
  m->want = (Omcc__V1__Submit__Want)request->want;
  m->flags = OC_NEW_N(&job->arena, Omcc__V1__Flag *, request->n_flags + 1);
  job->files = OC_NEW_N(&job->arena, struct omcc_job_file, OC_MAX_FRAME_FDS);
  m->backend = oc_arena_strdup(&job->arena, request->backend ? request->backend : "");
  m->stop_at = oc_arena_strdup(&job->arena, request->stop_at ? request->stop_at : "");
  m->strict_lists = request->strict_lists;
  m->relabel = request->relabel;
  m->verbose = request->verbose;
  m->cached_only = request->cached_only;
  m->link = request->size > offsetof(struct omcc_request, link) && request->link;
  m->report_inline = request->size > offsetof(struct omcc_request, report_inline) &&
                     request->report_inline;
  if (!m->flags || !job->files || !m->backend || !m->stop_at)
    return no_memory(err);
  for (size_t i = 0; i < request->n_flags && !rc; i++)
    rc = add_flag(job, &request->flags[i], err);
  return rc ? rc : list_files(job, err);
}

int omcc_send(struct omcc *c, Omcc__V1__ToDaemon *m, const int *fds, size_t n_fds,
              bool move, struct omcc_error *err)
{
  struct oc_error e = { 0 };
  struct oc_buf body;
  int rc;

  if (!c->channel)
    return omcc_fail(err, OMCC_E_CLOSED, OMCC_DAEMON,
                     "the connection to the daemon is broken");
  oc_buf_init(&body, OC_MAX_FRAME);
  rc = oc_message_pack(m, &body);
  if (rc < 0)
    oc_error_set(&e, rc, "the request is too large for one frame");
  else
    rc = oc_channel_send(c->channel, body.data, body.len, fds, n_fds, move, &e);
  oc_buf_clear(&body);
  return rc < 0 ? omcc_fail_from(err, OMCC_DAEMON, &e) : 0;
}

int omcc_send_submit(struct omcc_job *job, struct omcc_error *err)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  int fds[OC_MAX_FRAME_FDS];

  for (size_t i = 0; i < job->n_files; i++) {
    fds[i] = job->files[i].fd;
    (void)lseek(fds[i], 0, SEEK_SET);
  }
  m.id = job->request;
  m.body_case = OMCC__V1__TO_DAEMON__BODY_SUBMIT;
  m.submit = &job->submit;
  return omcc_send(job->c, &m, fds, job->n_files, false, err);
}

int omcc_submit(struct omcc *c, const struct omcc_request *request,
                const struct omcc_callbacks *callbacks, void *user, struct omcc_job **ret,
                struct omcc_error *err)
{
  struct omcc_job *job = calloc(1, sizeof(*job));
  int rc;

  if (!job)
    return no_memory(err);
  oc_arena_init(&job->arena, 0);
  oc_arena_init(&job->result_arena, 0);
  job->c = c;
  job->model = -1;
  job->result.report_fd = -1;
  job->on = *callbacks;
  job->user = user;
  job->request = c->next_id++;
  job->next = c->jobs;
  c->jobs = job;
  rc = fill_submit(job, request, err);
  if (!rc)
    rc = omcc_send_submit(job, err);
  /* A daemon that was lost between greeting and request is like one that is lost later:
   * the next wait says so, and omcc_reconnect() sends the job again. */
  if (rc == OMCC_E_CLOSED && c->channel) {
    oc_channel_free(c->channel);
    c->channel = NULL;
    rc = 0;
  }
  if (rc < 0) {
    job->finished = true; /* nothing to detach from */
    omcc_job_free(job);
    return rc;
  }
  *ret = job;
  return 0;
}

uint64_t omcc_job_id(const struct omcc_job *job)
{
  return job->id;
}

static int tell(struct omcc_job *job, Omcc__V1__ToDaemon__BodyCase what,
                struct omcc_error *err)
{
  Omcc__V1__ToDaemon m = OMCC__V1__TO_DAEMON__INIT;
  Omcc__V1__Detach detach = OMCC__V1__DETACH__INIT;
  Omcc__V1__Cancel cancel = OMCC__V1__CANCEL__INIT;

  m.id = job->request;
  m.body_case = what;
  detach.job = cancel.job = job->id;
  if (what == OMCC__V1__TO_DAEMON__BODY_DETACH)
    m.detach = &detach;
  else
    m.cancel = &cancel;
  return omcc_send(job->c, &m, NULL, 0, false, err);
}

int omcc_job_detach(struct omcc_job *job, struct omcc_error *err)
{
  int rc = tell(job, OMCC__V1__TO_DAEMON__BODY_DETACH, err);

  if (!rc)
    job->finished = true;
  if (!rc && job->c->channel && oc_channel_drain(job->c->channel, OMCC_DRAIN_MS, NULL))
    return omcc_fail(err, OMCC_E_IO, OMCC_DAEMON, "the daemon does not take the message");
  return rc;
}

int omcc_job_cancel(struct omcc_job *job, struct omcc_error *err)
{
  return tell(job, OMCC__V1__TO_DAEMON__BODY_CANCEL, err);
}

void omcc_job_free(struct omcc_job *job)
{
  if (!job)
    return;
  for (struct omcc_job **p = &job->c->jobs; *p; p = &(*p)->next)
    if (*p == job) {
      *p = job->next;
      break;
    }
  if (!job->finished && job->id)
    (void)omcc_job_cancel(job, NULL);
  for (size_t i = 0; i < job->n_files; i++)
    close(job->files[i].fd);
  omcc_clear_result(job);
  oc_arena_clear(&job->arena);
  oc_arena_clear(&job->result_arena);
  free(job);
}

const char *omcc_job_list(const struct omcc_job *job, const char *flag, size_t *ret_len)
{
  for (size_t i = 0; i < job->n_files; i++) {
    struct stat st;
    char *text;
    size_t n = 0;

    if (!job->files[i].sealed || strcmp(job->files[i].flag, flag) ||
        fstat(job->files[i].fd, &st))
      continue;
    /* The arena is the job's own memory, not part of what the caller sees as constant. */
    text = oc_arena_alloc((struct oc_arena *)&job->arena, (size_t)st.st_size + 1);
    while (text && n < (size_t)st.st_size) {
      ssize_t got = pread(job->files[i].fd, text + n, (size_t)st.st_size - n, (off_t)n);

      if (got <= 0)
        break;
      n += (size_t)got;
    }
    if (!text)
      return NULL;
    text[n] = '\0';
    *ret_len = n;
    return text;
  }
  return NULL;
}
