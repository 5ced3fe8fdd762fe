/* The life and the look at what it left; see work.h. Nothing in the life asserts: it runs
 * with calls that fail, in a child. */
#include "work.h"

#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "store.h"

/* Content of key `n` in a life of this seed; a pair of keys shares an object. */
static unsigned content_of(unsigned seed, unsigned n)
{
  return seed * 100 + n / 2;
}

/* Keys without a digest, which would take memory that may not be there. */
static void key_of(unsigned n, uint8_t ret[OC_SHA256_LEN])
{
  memset(ret, 0x5a, OC_SHA256_LEN);
  memcpy(ret, &n, sizeof(n));
}

struct work_known *work_share(void)
{
  void *p = mmap(NULL, sizeof(struct work_known), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  ck_assert(p != MAP_FAILED);
  return p;
}

/* The event that ends a put or another question; false when none came. */
static bool wait_for(struct oc_cache *c, uint64_t ticket, struct oc_cache_event *ret)
{
  struct pollfd p = { .fd = oc_cache_event_fd(c), .events = POLLIN };

  for (int patience = 0; patience < 20; patience++) {
    while (oc_cache_next_event(c, ret))
      if (ret->ticket == ticket &&
          (ret->kind == OC_CACHE_STORED || ret->kind == OC_CACHE_NOT_STORED ||
           ret->kind == OC_CACHE_DONE))
        return true;
    /* An event can be lost when there is no memory; a flush is not. */
    oc_cache_flush(c);
    poll(&p, 1, 20);
  }
  return false;
}

static bool put(struct oc_cache *c, unsigned n, unsigned content, struct oc_error *err)
{
  static uint8_t bytes[WORK_SIZE];
  struct oc_cache_output out;
  struct oc_cache_event e;

  if (oc_cache_output_new(c, &out, err) < 0)
    return false;
  store_fill(content, bytes, sizeof(bytes));
  size_t at = 0;
  while (at < sizeof(bytes)) {
    ssize_t done = write(out.fd, bytes + at, sizeof(bytes) - at);
    if (done <= 0)
      break;
    at += (size_t)done;
  }
  if (at < sizeof(bytes) || oc_cache_output_seal(&out, err) < 0) {
    oc_cache_output_clear(&out);
    return false;
  }
  struct oc_cache_put_member m = { .name = "model.om",
                                   .kind = "artifact",
                                   .mode = 0600,
                                   .from = OC_CACHE_FROM_OUTPUT,
                                   .output = &out,
                                   .size = sizeof(bytes) };
  struct oc_cache_put put = {
    .parts = "parts", .parts_len = 5, .members = &m, .n_members = 1, .has_plan_key = true
  };
  if (oc_sha256_bytes(bytes, sizeof(bytes), m.sha256) < 0) {
    oc_cache_output_clear(&out);
    return false;
  }
  key_of(n, put.key);
  key_of(1000000 + content, put.plan_key);
  if (oc_cache_put(c, &put, n, err) < 0)
    return false;
  if (!wait_for(c, n, &e))
    return oc_error_set(err, OC_E_STORE, "no event came") == 0;
  if (e.kind == OC_CACHE_STORED)
    return true;
  return oc_error_set(err, OC_E_STORE, "%s", e.reason) == 0;
}

void work_acked(struct work_known *k, unsigned n, unsigned place)
{
  k->stored[n] = place;
  if (k->n_acks < sizeof(k->acks))
    k->acks[k->n_acks++] = (unsigned char)n;
}

static bool put_known(struct oc_cache *c, struct work_known *k, unsigned n,
                      unsigned content, void (*acked)(unsigned n, unsigned place))
{
  struct oc_error err = { 0 };
  unsigned place = k->n_tried[n] + 1;

  k->tried[n][place - 1] = content;
  k->n_tried[n] = place;
  if (!put(c, n, content, &err)) {
    k->failures++;
    snprintf(k->reason, sizeof(k->reason), "%s", err.msg);
    return false;
  }
  if (acked)
    acked(n, place);
  work_acked(k, n, place);
  return true;
}

static void get(struct oc_cache *c, struct work_known *k, unsigned n)
{
  uint8_t key[OC_SHA256_LEN];
  struct oc_cache_hit hit;

  key_of(n, key);
  if (oc_cache_lookup(c, key, 0, &hit, NULL) == 0)
    return;
  k->hits++;
  oc_cache_hit_clear(&hit);
}

/* A pin for a moment and a dry collection: their rows and statements, no loss. */
static void care(struct oc_cache *c, unsigned n)
{
  struct oc_cache_gc dry = { .has_max = true, .dry_run = true };
  struct oc_cache_event e;
  uint8_t key[OC_SHA256_LEN];
  static const char *const names[] = { "weights.bin" };

  key_of(n, key);
  if (oc_cache_pin(c, key, 1, 100))
    wait_for(c, 100, &e);
  if (oc_cache_gc(c, &dry, 101))
    wait_for(c, 101, &e);
  oc_cache_inputs_put(c, key, names, 1);
}

void work_live(const char *folder, unsigned seed, bool full, struct work_known *k,
               void (*acked)(unsigned n, unsigned place), void (*calm)(void))
{
  struct oc_cache_options opt = { .dir = folder,
                                  .max_entries = WORK_KEPT,
                                  .full_durability = full };
  struct oc_error err = { 0 };
  struct oc_cache *c = NULL;

  if (oc_cache_open(&opt, &c, &err) < 0) {
    k->failures++;
    calm();
    k->ended = true;
    return;
  }
  k->opened = true;
  for (unsigned n = 0; n < WORK_ENTRIES; n++) {
    put_known(c, k, n, content_of(seed, n), acked);
    get(c, k, n);
  }
  put_known(c, k, WORK_ENTRIES - 1, content_of(seed, 50), acked);
  care(c, WORK_ENTRIES - 1);
  calm();
  k->recovered = put_known(c, k, WORK_ENTRIES - 1, content_of(seed, 70), acked);
  oc_cache_close(c);
  k->ended = true;
}

/* ---------------------------------------------------------------- afterwards */

static uint64_t now_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

/* Whether a key is there; its bytes must be those of the last one stored, or of one that
 * was tried later (or of any, when the last may be lost). */
static bool look(struct oc_cache *c, const struct work_known *k, unsigned n,
                 bool may_lose)
{
  uint8_t key[OC_SHA256_LEN], want[OC_SHA256_LEN], got[OC_SHA256_LEN];
  struct oc_cache_hit hit;
  bool right = false;

  key_of(n, key);
  if (oc_cache_lookup(c, key, 0, &hit, NULL) == 0)
    return false;
  ck_assert_int_eq(oc_cache_prove(c, key, &hit, NULL), 1);
  ck_assert_uint_eq(hit.n_members, 1);
  ck_assert_int_eq(oc_sha256_fd(hit.members[0].fd, NULL, got, NULL, NULL), 0);
  for (unsigned i = may_lose || k->stored[n] == 0 ? 0 : k->stored[n] - 1;
       i < k->n_tried[n]; i++) {
    store_object_digest(k->tried[n][i], WORK_SIZE, want);
    right |= memcmp(want, got, sizeof(want)) == 0;
  }
  ck_assert_msg(right, "key %u gives what was not stored under it last", n);
  oc_cache_hit_clear(&hit);
  return true;
}

/* The newest results that were said to be stored: as many different keys as are kept, one
 * less when something failed or the life was cut short, since one more may have been
 * stored and not said to be. */
static void newest(const struct work_known *k, bool ret[WORK_ENTRIES])
{
  unsigned n = 0, most = k->ended && !k->failures ? WORK_KEPT : WORK_KEPT - 1;

  memset(ret, 0, WORK_ENTRIES * sizeof(ret[0]));
  for (unsigned i = k->n_acks; i-- > 0 && n < most;) {
    n += !ret[k->acks[i]];
    ret[k->acks[i]] = true;
  }
}

uint64_t work_check(const char *folder, const struct work_known *k, bool may_lose,
                    unsigned *ret_there)
{
  bool wanted[WORK_ENTRIES];
  unsigned there = 0;
  uint64_t begun = now_us();
  struct oc_cache *c = store_open(folder);

  bool first = look(c, k, 0, may_lose);
  uint64_t took = now_us() - begun;
  newest(k, wanted);
  ck_assert_ptr_null(oc_cache_set_aside(c));
  for (unsigned n = 0; n < WORK_ENTRIES; n++) {
    bool found = n == 0 ? first : look(c, k, n, may_lose);
    there += found;
    ck_assert_msg(found || !wanted[n] || may_lose, "key %u was stored and is lost", n);
  }
  oc_cache_flush(c);
  oc_cache_close(c);
  if (ret_there)
    *ret_there = there;
  return took;
}
