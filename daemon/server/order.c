/* An order: all that one job of flow is about. */
#include "server/server_internal.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/same_stat.h"

/* Flags, findings, names: bounded by frames of 1 MiB each, some of them several times. */
#define ORDER_ARENA_CAP (64u << 20)
/* Output of the vendor's compiler that is kept; what is more is delivered live only. */
#define CAPTURE_CAP (8u << 20)
/* A packed part list holds capped texts. */
#define PARTS_CAP (4u << 20)

struct order *order_new(struct oc_server *s, uint32_t uid)
{
  struct order *o = calloc(1, sizeof(*o));

  if (!o)
    return NULL;
  o->srv = s;
  o->uid = uid;
  oc_arena_init(&o->arena, ORDER_ARENA_CAP);
  oc_flags_init(&o->flags, &o->arena);
  oc_findings_init(&o->findings, &o->arena);
  oc_buf_init(&o->parts, PARTS_CAP);
  oc_buf_init(&o->captured[0], CAPTURE_CAP);
  oc_buf_init(&o->captured[1], CAPTURE_CAP);
  o->report_fd = -1;
  o->building.fd = -1;
  o->tool_exit = -1;
  o->stop_at = o->toolkit = o->hit_kind = "";
  return o;
}

static void close_inputs(struct input *inputs, size_t n)
{
  for (size_t i = 0; i < n; i++) {
    if (inputs[i].bytes)
      munmap((void *)inputs[i].bytes, inputs[i].len);
    if (inputs[i].fd >= 0)
      close(inputs[i].fd);
  }
}

struct member *order_add_member(struct order *o, const char *name, const char *kind,
                                uint32_t mode)
{
  struct member *grown, *m;

  if (o->n_members == o->room_members) {
    size_t room = o->room_members ? 2 * o->room_members : 4;

    grown = oc_arena_grow(&o->arena, o->members, o->n_members, room, sizeof(*m));
    if (!grown)
      return NULL;
    o->members = grown;
    o->room_members = room;
  }
  m = &o->members[o->n_members];
  *m = (struct member){ .kind = kind, .mode = mode, .fd = -1 };
  m->output.fd = -1;
  m->name = oc_arena_strdup(&o->arena, name);
  if (!m->name)
    return NULL;
  o->n_members++;
  return m;
}

void order_drop_members(struct order *o)
{
  for (size_t i = 0; i < o->n_members; i++) {
    if (o->members[i].fd >= 0)
      close(o->members[i].fd);
    if (o->members[i].held)
      oc_cache_release(o->srv->cache, o->members[i].sha256);
    oc_cache_output_clear(&o->members[i].output);
  }
  o->n_members = 0;
}

void order_maybe_free(struct order *o)
{
  if (!o->forgotten || o->n_tasks)
    return;
  run_clear(o);
  order_drop_members(o);
  close_inputs(o->files, o->n_files);
  close_inputs(o->external, o->n_external);
  close_inputs(o->lists, o->n_lists);
  folders_clear(o);
  oc_cache_output_clear(&o->building);
  if (o->report_fd >= 0)
    close(o->report_fd);
  oc_buf_clear(&o->parts);
  oc_buf_clear(&o->captured[0]);
  oc_buf_clear(&o->captured[1]);
  oc_arena_clear(&o->arena);
  free(o);
}

void order_hold(struct order *o)
{
  o->n_tasks++;
}

void order_drop(struct order *o)
{
  o->n_tasks--;
  order_maybe_free(o);
}

void order_set_failure(struct order *o, unsigned status, const char *fmt, ...)
{
  char text[512];
  va_list ap;

  va_start(ap, fmt);
  vsnprintf(text, sizeof(text), fmt, ap);
  va_end(ap);
  o->fail_status = status;
  o->fail_message = oc_arena_strdup(&o->arena, text);
}

static bool unchanged(const struct input *inputs, size_t n, const char **ret_name)
{
  for (size_t i = 0; i < n; i++) {
    struct oc_cache_seen now;

    if (inputs[i].list || inputs[i].fd < 0)
      continue; /* sealed */
    if (!oc_cache_see(inputs[i].fd, &now) && oc_same_stat(&now.st, &inputs[i].seen.st))
      continue;
    *ret_name = inputs[i].name;
    return false;
  }
  return true;
}

bool order_inputs_unchanged(const struct order *o, const char **ret_name)
{
  return unchanged(o->files, o->n_files, ret_name) &&
         unchanged(o->external, o->n_external, ret_name);
}

void order_log(const struct order *o, enum oc_log_level level, const char *event,
               const char *text)
{
  oc_log_event(o->srv->log, level, event, o->job, text);
}
