/* One HTTP exchange, and everything it may not do.
 *
 * Curl keeps the limit for the connection; the others are kept here: the first byte of an
 * answer in time, then a pace that is measured twice a second. What has a digest is
 * digested while it comes, and more bytes than announced end it at once. An upload, which
 * nobody waits for, only must not stand still. */
#include "remote/remote_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"

#define MS            1000000ull
#define PACE_NS       (500 * MS)
#define STANDSTILL_NS (10000 * MS)
/* Of an error page that nobody reads. */
#define MOST_ERROR_BYTES (64u << 10)

static long status_of(const struct transfer *t)
{
  long status = 0;

  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  return status;
}

static size_t on_header(char *p, size_t size, size_t n, void *arg)
{
  struct transfer *t = arg;

  (void)p;
  if (!t->first_ns) {
    t->first_ns = t->mark_ns = remote_now_ns();
    t->mark_bytes = t->bytes;
  }
  return size * n;
}

static bool take(struct transfer *t, const char *p, size_t len)
{
  if (t->checked) {
    if (t->bytes + len > t->size) {
      t->wrong = true;
      return false;
    }
    oc_sha256_update(&t->sha, p, len);
  }
  if (t->to_fd < 0)
    return oc_buf_append(&t->body, p, len) == 0;
  for (size_t done = 0; done < len;) {
    ssize_t n = pwrite(t->to_fd, p + done, len - done, (off_t)(t->bytes + done));

    if (n <= 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      t->full = true;
      return false;
    }
    done += (size_t)n;
  }
  return true;
}

static size_t on_body(char *p, size_t size, size_t n, void *arg)
{
  struct transfer *t = arg;
  size_t len = size * n;
  bool ok;

  if (t->method == METHOD_PUT)
    return len; /* what a server says to an upload besides its status */
  ok = status_of(t) == 200 ? take(t, p, len) : t->bytes + len <= MOST_ERROR_BYTES;

  if (!ok)
    return len ? 0 : 1;
  t->bytes += len;
  return len;
}

static size_t on_send(char *p, size_t size, size_t n, void *arg)
{
  struct transfer *t = arg;
  size_t room = size * n;
  uint64_t left = t->size - t->bytes;
  size_t len = left < room ? (size_t)left : room;

  if (t->from_fd < 0) {
    memcpy(p, t->from + t->bytes, len);
  } else if (len) {
    ssize_t got = pread(t->from_fd, p, len, (off_t)t->bytes);

    if (got <= 0)
      return CURL_READFUNC_ABORT;
    len = (size_t)got;
  }
  t->bytes += len;
  return len;
}

/* A connection that broke while it sent begins again from the start. */
static int on_seek(void *arg, curl_off_t offset, int origin)
{
  struct transfer *t = arg;

  if (origin != SEEK_SET || offset < 0 || (uint64_t)offset > t->size)
    return CURL_SEEKFUNC_FAIL;
  t->bytes = (uint64_t)offset;
  return CURL_SEEKFUNC_OK;
}

static void set_common(struct transfer *t, const char *url)
{
  const struct oc_remote_options *o = &t->remote->o;
  CURL *c = t->easy;

  curl_easy_setopt(c, CURLOPT_URL, url);
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_QUICK_EXIT,
                   1L); /* a name server that hangs is not waited for */
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error);
  curl_easy_setopt(c, CURLOPT_USERAGENT, "omccd/" OMCC_VERSION);
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->remote->headers);
  curl_easy_setopt(c, CURLOPT_PRIVATE, t);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
  if (*o->netrc) {
    curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_REQUIRED);
    curl_easy_setopt(c, CURLOPT_NETRC_FILE, o->netrc);
  }
  if (*o->ca)
    curl_easy_setopt(c, CURLOPT_CAINFO, o->ca);
}

struct transfer *transfer_new(struct oc_remote *r, enum method method, const char *where,
                              const uint8_t name[OC_SHA256_LEN])
{
  struct transfer *t = calloc(1, sizeof(*t));
  char url[REMOTE_URL_ROOM], hex[OC_SHA256_TEXT];

  if (!t)
    return NULL;
  t->remote = r;
  t->method = method;
  t->to_fd = t->from_fd = -1;
  oc_buf_init(&t->body, REMOTE_RECORD_CAP);
  t->easy = curl_easy_init();
  if (!t->easy) {
    free(t);
    return NULL;
  }
  oc_hex(name, OC_SHA256_LEN, hex);
  snprintf(url, sizeof(url), "%s/%s/%s", r->o.url, where, hex);
  set_common(t, url);
  if (method == METHOD_HEAD)
    curl_easy_setopt(t->easy, CURLOPT_NOBODY, 1L);
  return t;
}

void transfer_send(struct transfer *t, uint64_t size, int fd, const void *data)
{
  t->size = size;
  t->from_fd = fd;
  t->from = data;
}

void transfer_expect(struct transfer *t, uint64_t size, const uint8_t *sha256)
{
  t->checked = true;
  t->size = size;
  memcpy(t->sha256, sha256, OC_SHA256_LEN);
  t->body.cap = size < REMOTE_MEMORY_CAP ? (size_t)size : REMOTE_MEMORY_CAP;
  if (oc_sha256_init(&t->sha))
    t->wrong = true;
}

static void set_upload(struct transfer *t)
{
  curl_easy_setopt(t->easy, CURLOPT_UPLOAD, 1L);
  curl_easy_setopt(t->easy, CURLOPT_READFUNCTION, on_send);
  curl_easy_setopt(t->easy, CURLOPT_READDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_SEEKFUNCTION, on_seek);
  curl_easy_setopt(t->easy, CURLOPT_SEEKDATA, t);
  curl_easy_setopt(t->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t)t->size);
}

void transfer_start(struct transfer *t, void (*done)(struct transfer *t), void *owner)
{
  struct oc_remote *r = t->remote;
  bool put = t->method == METHOD_PUT;

  t->done = done;
  t->owner = owner;
  t->started_ns = t->mark_ns = remote_now_ns();
  /* An upload may take its time to connect: nobody waits for it. */
  curl_easy_setopt(t->easy, CURLOPT_CONNECTTIMEOUT_MS,
                   (long)(put ? STANDSTILL_NS / MS : r->o.connect_ms));
  if (put)
    set_upload(t);
  t->next = r->transfers;
  if (t->next)
    t->next->prev = t;
  r->transfers = t;
  curl_multi_add_handle(r->multi, t->easy);
}

void transfer_free(struct transfer *t)
{
  struct oc_remote *r = t->remote;

  if (t->done) {
    curl_multi_remove_handle(r->multi, t->easy);
    if (t->prev)
      t->prev->next = t->next;
    else
      r->transfers = t->next;
    if (t->next)
      t->next->prev = t->prev;
  }
  curl_easy_cleanup(t->easy);
  oc_sha256_clear(&t->sha);
  oc_buf_clear(&t->body);
  free(t);
}

/* ---------------------------------------------------------------- the end */

static void fail(struct transfer *t, enum oc_remote_trouble trouble, const char *why)
{
  t->verdict = VERDICT_FAILED;
  t->trouble = trouble;
  snprintf(t->why, sizeof(t->why), "%s", why);
}

static void judge_error(struct transfer *t, CURLcode code)
{
  switch (code) {
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_CACERT_BADFILE:
  case CURLE_SSL_ISSUER_ERROR:
    fail(t, OC_REMOTE_CERTIFICATE, *t->error ? t->error : curl_easy_strerror(code));
    break;
  default:
    if (t->full)
      fail(t, OC_REMOTE_FINE, "a result cannot be written into the cache");
    else
      fail(t, OC_REMOTE_DOWN, *t->error ? t->error : curl_easy_strerror(code));
  }
}

static void judge_status(struct transfer *t, long status)
{
  char text[64];

  snprintf(text, sizeof(text), "it answers with HTTP status %ld", status);
  if (status == 404 || status == 410)
    t->verdict = VERDICT_ABSENT;
  else if (status == 401 || status == 403 || status == 407 || status == 405)
    fail(t, OC_REMOTE_DENIED, text);
  else
    fail(t, OC_REMOTE_DOWN, text);
}

static void judge_bytes(struct transfer *t)
{
  uint8_t now[OC_SHA256_LEN];

  t->verdict = VERDICT_OK;
  if (!t->checked)
    return;
  if (oc_sha256_final(&t->sha, now) || t->bytes != t->size ||
      memcmp(now, t->sha256, sizeof(now)) != 0)
    t->wrong = true;
}

void transfer_over(struct transfer *t, CURLcode code)
{
  long status = status_of(t);

  t->reached = status > 0;
  if (t->wrong)
    t->verdict = VERDICT_WRONG;
  else if (code != CURLE_OK)
    judge_error(t, code);
  else if (status == 200 && t->method == METHOD_GET)
    judge_bytes(t);
  else if (status == 200 || (t->method == METHOD_PUT && (status == 201 || status == 204)))
    t->verdict = VERDICT_OK;
  else
    judge_status(t, status);
  if (t->wrong) {
    t->verdict = VERDICT_WRONG;
    t->trouble = OC_REMOTE_WRONG;
    snprintf(t->why, sizeof(t->why), "its bytes are not what their digest says");
  }
  t->done(t);
}

/* ---------------------------------------------------------------- time */

static void out_of_time(struct transfer *t, const char *why)
{
  fail(t, OC_REMOTE_DOWN, why);
  t->done(t);
}

/* When the answer must have begun. */
static uint64_t answer_due(const struct transfer *t)
{
  const struct oc_remote_options *o = &t->remote->o;
  curl_off_t ready_us = 0;

  curl_easy_getinfo(t->easy, CURLINFO_PRETRANSFER_TIME_T, &ready_us);
  if (ready_us > 0)
    return t->started_ns + (uint64_t)ready_us * 1000 + o->answer_ms * MS;
  return t->started_ns + (o->connect_ms + o->answer_ms) * MS;
}

static uint64_t check_upload(struct transfer *t, uint64_t now_ns)
{
  if (t->bytes != t->mark_bytes) {
    t->mark_bytes = t->bytes;
    t->mark_ns = now_ns;
  }
  if (now_ns < t->mark_ns + STANDSTILL_NS)
    return t->mark_ns + STANDSTILL_NS;
  out_of_time(t, "an upload stands still");
  return 0;
}

uint64_t transfer_check(struct transfer *t, uint64_t now_ns)
{
  uint64_t due;

  if (t->method == METHOD_PUT)
    return check_upload(t, now_ns);
  if (!t->first_ns) {
    due = answer_due(t);
    if (now_ns < due)
      return due;
    out_of_time(t, "it does not answer in time");
    return 0;
  }
  if (now_ns < t->mark_ns + PACE_NS)
    return t->mark_ns + PACE_NS;
  if (t->bytes - t->mark_bytes < t->remote->o.bytes_per_s / (1000 * MS / PACE_NS)) {
    out_of_time(t, "its bytes come too slowly");
    return 0;
  }
  t->mark_ns = now_ns;
  t->mark_bytes = t->bytes;
  return now_ns + PACE_NS;
}
