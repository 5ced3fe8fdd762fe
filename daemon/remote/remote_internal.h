/* What the files of remote share.
 *
 *   transfer  one HTTP exchange: where its bytes go or come from, its limits, its verdict
 *   look      a record, then all the bytes it names
 *   push      bytes, then the record that names them
 *
 * The mutex guards the queues between the two threads, the breaker and the counters;
 * transfers, looks under way and the present push belong to the tier's thread. */
#ifndef OC_REMOTE_INTERNAL_H
#define OC_REMOTE_INTERNAL_H

#include <curl/curl.h>
#include <pthread.h>

#include "base/buf.h"
#include "remote/remote.h"

/* A record names at most so many files: members, captured output, report, parts. */
#define REMOTE_MOST_MEMBERS 72
/* A record is a few kilobytes. */
#define REMOTE_RECORD_CAP (1u << 20)
/* Members that are no objects: reports and captured output. */
#define REMOTE_MEMORY_CAP (64u << 20)
/* Pushes that wait. */
#define REMOTE_MOST_PUSHES 64
#define REMOTE_URL_ROOM    2048

/* ---- settings.c */
/* Request headers of the header file, to be freed with curl_slist_free_all(). */
int remote_read_headers(const char *path, struct curl_slist **ret, struct oc_error *err);

/* ---- record.c */
/* Packs the record of `e` into `out`. 0 or OC_E_NOMEM. */
int remote_record_pack(const struct oc_remote_entry *e, struct oc_buf *out);
/* 1: `ret` is filled, its strings live in `arena`, members have neither file nor data.
 * 0: not a record of ours for this key, `ret_why` says what is wrong with it. */
int remote_record_unpack(const void *p, size_t len, const uint8_t key[OC_SHA256_LEN],
                         uint64_t max_bytes, struct oc_arena *arena,
                         struct oc_remote_entry *ret, const char **ret_why);

/* ---- transfer.c */
enum method { METHOD_GET, METHOD_HEAD, METHOD_PUT };
enum verdict { VERDICT_OK, VERDICT_ABSENT, VERDICT_FAILED, VERDICT_WRONG };

struct transfer {
  struct transfer *prev, *next;
  struct oc_remote *remote;
  CURL *easy;
  enum method method;
  char error[CURL_ERROR_SIZE];
  /* What comes: into the file, or into `body` up to its cap. */
  int to_fd; /* -1: body */
  struct oc_buf body;
  bool checked; /* size and digest are known beforehand */
  uint64_t size;
  uint8_t sha256[OC_SHA256_LEN];
  struct oc_sha256 sha;
  /* What goes: `size` bytes of a file or of memory. */
  int from_fd;
  const uint8_t *from;

  uint64_t bytes; /* of the body, so far */
  uint64_t started_ns, first_ns, mark_ns, mark_bytes;
  bool wrong, full; /* too many bytes; the file cannot take them */
  enum verdict verdict;
  enum oc_remote_trouble trouble;
  bool reached; /* the remote did answer, with whatever */
  char why[OC_REMOTE_WHY];
  void (*done)(struct transfer *t); /* may free it: transfer_free() */
  void *owner;
};

/* `where` is "ac" or "cas". NULL without memory; then start. */
struct transfer *transfer_new(struct oc_remote *r, enum method method, const char *where,
                              const uint8_t name[OC_SHA256_LEN]);
void transfer_expect(struct transfer *t, uint64_t size, const uint8_t *sha256);
/* The caller's bytes, which stay until the end. */
void transfer_send(struct transfer *t, uint64_t size, int fd, const void *data);
void transfer_start(struct transfer *t, void (*done)(struct transfer *t), void *owner);
/* Also while it runs; done() is then not called. */
void transfer_free(struct transfer *t);
/* When it must be looked at again; 0: its time was over, done() was called, and whatever
 * belonged to it may be gone. */
uint64_t transfer_check(struct transfer *t, uint64_t now_ns);
/* Curl says that it is over. */
void transfer_over(struct transfer *t, CURLcode code);

/* ---- look.c */
struct look {
  struct look *prev, *next;
  struct oc_remote *remote;
  uint64_t ticket;
  uint8_t key[OC_SHA256_LEN];
  struct oc_breaker_look held; /* under the mutex */
  bool ask;                    /* no bytes are wanted */
  bool proven;                 /* the record came: the remote works */
  struct transfer *record;
  struct transfer *blobs[REMOTE_MOST_MEMBERS]; /* by member, NULL: done */
  size_t n_blobs;                              /* under way */
  struct oc_remote_outcome *outcome;
};
struct look *look_new(struct oc_remote *r, const uint8_t key[OC_SHA256_LEN],
                      uint64_t ticket);
void look_free(struct look *l);
void look_start(struct look *l);
/* Ends it with an outcome, or without one. Both free it. */
void look_fail(struct look *l, enum oc_remote_trouble trouble, const char *why);
void look_drop(struct look *l);
/* Its job goes on. */
void look_release(struct look *l);

/* ---- push.c */
struct push {
  struct push *next;
  struct oc_remote *remote;
  struct oc_arena arena;
  struct oc_remote_entry entry;
  struct oc_buf record, plan_record;
  size_t at; /* member, then the records */
  bool sending;
  struct transfer *transfer;
};
struct push *push_new(struct oc_remote *r, const struct oc_remote_entry *e);
void push_free(struct push *p);
void push_start(struct push *p);

/* ---- remote.c */
struct oc_remote {
  struct oc_remote_options o; /* strings are copied into the arena */
  struct oc_arena arena;
  struct curl_slist *headers;
  CURLM *multi;
  pthread_t thread;
  bool running;
  int event_fd;

  pthread_mutex_t mutex;
  struct oc_breaker breaker;
  enum oc_breaker_state told; /* the state that the log knows */
  struct oc_remote_status count;
  struct look *new_looks, *last_new_look;
  uint64_t *forgotten;
  size_t n_forgotten, room_forgotten;
  struct push *pushes, *last_push;
  struct oc_remote_outcome *outcomes, *last_outcome;
  bool stop;
  uint64_t stop_ns; /* uploads may go on until then */
  char refusal[OC_REMOTE_WHY + 64];

  /* The thread's own. */
  struct look *looks;
  struct push *push; /* under way */
  struct transfer *transfers;
  struct transfer *probe;
};

uint64_t remote_now_ns(void);
void remote_lock(struct oc_remote *r);
void remote_unlock(struct oc_remote *r);
/* Under the mutex: logs a change of the breaker's state. */
void remote_tell_state(struct oc_remote *r);
/* Keeps the last failure for status and refusals; under the mutex. */
void remote_note_trouble(struct oc_remote *r, enum oc_remote_trouble trouble,
                         const char *why);
void remote_send(struct oc_remote *r, struct oc_remote_outcome *o);
void *remote_thread(void *arg);

#endif
