/* Log lines and counters.
 *
 * One event is one line of key=value pairs, written with one write(2):
 *
 *   2026-03-01T10:11:12.345Z info job_done job=1842 result=miss ms=312
 *
 * Values with blanks, quotes, '=' or control bytes are quoted and escaped, so that a line
 * stays a line whatever a user's file is called. A line longer than its buffer is cut at
 * a value and ends in `cut=1`.
 *
 * Ownership: the caller's structs; nothing is allocated. Thread: a log may be used by
 * several threads (its level and descriptor are fixed after init); counters belong to the
 * loop thread. */
#ifndef OC_TELEMETRY_TELEMETRY_H
#define OC_TELEMETRY_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum oc_log_level { OC_LOG_ERROR, OC_LOG_WARNING, OC_LOG_INFO, OC_LOG_DEBUG };

struct oc_log {
  int fd; /* not owned; -1 drops every line */
  enum oc_log_level level;
  bool journal; /* sd-daemon priority prefix instead of a time: the journal has its own */
};

/* Room of one line; stderr tails are cut to this. */
#define OC_LOG_LINE 2048

struct oc_log_line {
  const struct oc_log *log; /* NULL when the level is not wanted */
  char text[OC_LOG_LINE];
  size_t len;
  bool cut;
};

void oc_log_begin(struct oc_log_line *l, const struct oc_log *log,
                  enum oc_log_level level, const char *event);
void oc_log_str(struct oc_log_line *l, const char *key, const char *value);
void oc_log_u64(struct oc_log_line *l, const char *key, uint64_t value);
void oc_log_i64(struct oc_log_line *l, const char *key, int64_t value);
/* The first `n` bytes as hex digits. */
void oc_log_hex(struct oc_log_line *l, const char *key, const uint8_t *bytes, size_t n);
void oc_log_end(struct oc_log_line *l);

/* A line with at most one number and one text, which is what most events are. */
void oc_log_event(const struct oc_log *log, enum oc_log_level level, const char *event,
                  uint64_t job, const char *text);

bool oc_log_level_parse(const char *word, enum oc_log_level *ret);

/* Everything the daemon counts; status and the metrics page show it under these names. */
#define OC_COUNTERS(X)                                                                   \
  X(CONNECTIONS, "connections")                                                          \
  X(REFUSED, "refused")                                                                  \
  X(PROTOCOL_ERRORS, "protocol_errors")                                                  \
  X(REQUESTS, "requests")                                                                \
  X(LOOKUPS, "lookups")                                                                  \
  X(EXPLAINS, "explains")                                                                \
  X(HITS_EXACT, "hits_exact")                                                            \
  X(HITS_PLAN, "hits_plan")                                                              \
  X(HITS_RELABELLED, "hits_relabelled")                                                  \
  X(HITS_REMOTE, "hits_remote")                                                          \
  X(JOINED, "joined")                                                                    \
  X(MISSES, "misses")                                                                    \
  X(MISSED_NEW, "missed_new")                                                            \
  X(MISSED_MODEL, "missed_model")                                                        \
  X(MISSED_LIST, "missed_list")                                                          \
  X(MISSED_SOC, "missed_soc")                                                            \
  X(MISSED_OPTION, "missed_option")                                                      \
  X(MISSED_BACKEND, "missed_backend")                                                    \
  X(MISSED_DROPPED, "missed_dropped")                                                    \
  X(MISSED_DAMAGED, "missed_damaged")                                                    \
  X(UNCACHED, "uncached")                                                                \
  X(FINISHED, "finished")                                                                \
  X(FAILED, "failed")                                                                    \
  X(STOPPED, "stopped")                                                                  \
  X(RETRIES, "retries")                                                                  \
  X(WORKER_DEATHS, "worker_deaths")                                                      \
  X(COMPILES, "compiles")                                                                \
  X(TOOL_RUNS, "tool_runs")                                                              \
  X(STORED, "stored")                                                                    \
  X(NOT_STORED, "not_stored")                                                            \
  X(INPUTS_CHANGED, "inputs_changed")                                                    \
  X(BYTES_DELIVERED, "bytes_delivered")                                                  \
  X(SAVED_MS, "saved_ms")

enum oc_counter {
#define OC_COUNTER_ENUM(id, name) OC_COUNT_##id,
  OC_COUNTERS(OC_COUNTER_ENUM)
#undef OC_COUNTER_ENUM
      OC_COUNTER_N
};

struct oc_counters {
  uint64_t value[OC_COUNTER_N];
};

void oc_counter_add(struct oc_counters *c, enum oc_counter id, uint64_t n);
const char *oc_counter_name(enum oc_counter id);

#endif
