/* Findings of the importers, and the bound on what one import may take.
 *
 * A model with a thousand nodes of one wrong kind would give a thousand findings: the
 * first few of each id are told in full, the others are counted. */
#include <stdio.h>

#include "base/error.h"
#include "import/reader.h"

static const size_t ROOM_PER_BYTE = 24;
static const size_t ROOM_AT_LEAST = (size_t)16 << 20;
/* Told in full of each kind of finding. */
static const uint32_t TOLD_IN_FULL = 16;

void import_tell(struct import_reader *r, enum oc_finding_id id, const char *subject,
                 const char *name1, const char *value1, const char *name2,
                 const char *value2)
{
  if (r->n_told[id]++ >= TOLD_IN_FULL)
    return;
  struct oc_finding *f =
      name1 && name2
          ? oc_finding_add(r->findings, id, subject, name1, value1, name2, value2, NULL)
      : name1 ? oc_finding_add(r->findings, id, subject, name1, value1, NULL)
              : oc_finding_add(r->findings, id, subject, NULL);
  import_lower(r, f);
}

static void tell_rest(struct import_reader *r)
{
  for (size_t id = 0; id < OC_FINDING_COUNT; id++) {
    if (r->n_told[id] <= TOLD_IN_FULL)
      continue;
    char n[16];
    (void)snprintf(n, sizeof(n), "%u", (unsigned)(r->n_told[id] - TOLD_IN_FULL));
    (void)oc_finding_add(r->findings, OC_FINDING_MORE_OF_THESE,
                         oc_finding_info((enum oc_finding_id)id)->id, "n", n, NULL);
  }
}

/* SIZE_MAX when it does not fit. */
static size_t import_room(size_t model_len)
{
  size_t room = 0;
  if (__builtin_mul_overflow(model_len, ROOM_PER_BYTE, &room) ||
      __builtin_add_overflow(room, ROOM_AT_LEAST, &room))
    return SIZE_MAX;
  return room;
}

size_t import_cap(const struct oc_arena *a, size_t model_len)
{
  size_t cap = 0;
  if (__builtin_add_overflow(a->used, import_room(model_len), &cap))
    return a->cap;
  return a->cap != 0 && a->cap < cap ? a->cap : cap;
}

int import_no_room(struct import_reader *r, struct oc_error *err)
{
  struct oc_arena *a = r->arena;
  char limit[32];

  if (!a->at_cap)
    return oc_error_set(err, OC_E_NOMEM, "no memory to import the model");
  (void)snprintf(limit, sizeof(limit), "%zu", import_room(r->len) >> 20);
  a->cap = 0; /* room for the finding and what follows */
  a->failed = false;
  (void)oc_finding_add(r->findings, OC_FINDING_MODEL_TOO_RICH, "", "limit", limit, NULL);
  return OC_E_FORMAT;
}

int import_end(struct import_reader *r, size_t cap, int rc, struct oc_error *err)
{
  if (rc == OC_E_NOMEM || (!rc && r->arena->failed))
    rc = import_no_room(r, err);
  r->arena->cap = cap;
  tell_rest(r);
  if (rc == OC_E_NOMEM)
    return rc;
  if (rc)
    return oc_error_set(err, OC_E_FORMAT, "the model could not be imported");
  return OC_OK;
}
