/* omccd: settings, log, and the server in one loop.
 *
 * Everything that comes from outside the process (arguments, environment, descriptors
 * from a service manager) is read here and nowhere else. The daemon stays in the
 * foreground; whoever starts it decides what it is a child of, and hears through
 * --ready_fd when it is of use. */
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"
#include "config/config.h"
#include "server/server.h"
#include "telemetry/telemetry.h"

#ifndef OMCC_DATADIR
#define OMCC_DATADIR "/usr/local/share/omcc"
#endif
#ifndef OMCC_LIBEXECDIR
#define OMCC_LIBEXECDIR "/usr/local/libexec/omcc"
#endif

#define SYSTEM_CONFIG   "/etc/omcc/omccd.yaml"
#define STATUS_USAGE    2
#define STATUS_FAILED   1
#define FIRST_LISTEN_FD 3

static const char usage[] =
    "usage: omccd [--config=FILE] [--KEY=VALUE ...]\n"
    "\n"
    "  --config=FILE    settings from FILE instead of the system's and the user's\n"
    "  --KEY=VALUE      one setting, such as --socket=PATH, --cache_dir=DIR, "
    "--idle_exit=30min\n"
    "  --print-config   every setting with its meaning and default\n"
    "  --ready_fd=N     write 'ready' (or why not) to descriptor N\n"
    "  --foreground     the daemon always stays in the foreground\n"
    "  --version\n";

struct arguments {
  const char *config;
  int ready_fd;
  bool print_config;
};

/* ---------------------------------------------------------------- settings */

/* "--name=value" or "--name value" as name and value; '-' in names is '_'. */
static bool split(char **argv, int argc, int *i, char *name, size_t room,
                  const char **value)
{
  const char *word = argv[*i];
  size_t len;

  if (!oc_starts_with(word, "--"))
    return false;
  word += 2;
  len = strcspn(word, "=");
  if (!len || len >= room)
    return false;
  for (size_t k = 0; k < len; k++)
    name[k] = word[k] == '-' ? '_' : word[k];
  name[len] = '\0';
  *value = word[len] ? word + len + 1 : NULL;
  if (!*value && *i + 1 < argc)
    *value = argv[++*i];
  return true;
}

static bool is_switch(const char *word)
{
  return oc_streq(word, "--foreground") || oc_streq(word, "--print-config");
}

/* First pass: what must be known before the files are read. Second: the settings. */
static int read_arguments(int argc, char **argv, struct arguments *a, struct oc_config *c,
                          struct oc_error *err)
{
  for (int i = 1; i < argc; i++) {
    char name[64], origin[72];
    const char *value = NULL;
    int64_t fd;

    if (is_switch(argv[i])) {
      a->print_config |= oc_streq(argv[i], "--print-config");
      continue;
    }
    if (!split(argv, argc, &i, name, sizeof(name), &value) || !value)
      return oc_error_set(err, OC_E_ARG, "cannot understand '%s'", argv[i]);
    if (oc_streq(name, "config")) {
      a->config = value;
    } else if (oc_streq(name, "ready_fd")) {
      if (!oc_str_to_i64(oc_str_of(value), &fd) || fd < 3 || fd > 1023)
        return oc_error_set(err, OC_E_ARG,
                            "--ready_fd must be the number of a descriptor");
      a->ready_fd = (int)fd;
    } else if (c) {
      snprintf(origin, sizeof(origin), "--%s", name);
      if (oc_config_set(c, name, value, origin, err))
        return err->code;
    }
  }
  return 0;
}

static int load_files(struct oc_config *c, const char *only, struct oc_error *err)
{
  const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  char path[4096] = "";
  int r;

  if (only)
    return oc_config_load(c, only, false, err);
  r = oc_config_load(c, SYSTEM_CONFIG, true, err);
  if (xdg && *xdg == '/')
    snprintf(path, sizeof(path), "%s/omcc/omccd.yaml", xdg);
  else if (home && *home == '/')
    snprintf(path, sizeof(path), "%s/.config/omcc/omccd.yaml", home);
  if (!r && *path)
    r = oc_config_load(c, path, true, err);
  return r;
}

static int load_environment(struct oc_config *c, struct oc_error *err)
{
  static const char *const pairs[][2] = { { "OMCC_SOCKET", "socket" },
                                          { "OMCC_CACHE_DIR", "cache_dir" },
                                          { "OMCC_BACKEND", "backend" } };
  int r = 0;

  for (size_t i = 0; i < OC_COUNT(pairs) && !r; i++) {
    const char *value = getenv(pairs[i][0]);

    if (value && *value)
      r = oc_config_set(c, pairs[i][1], value, pairs[i][0], err);
  }
  return r;
}

static int load_settings(int argc, char **argv, struct arguments *a, struct oc_config *c,
                         struct oc_error *err)
{
  int r = read_arguments(argc, argv, a, NULL, err);

  if (!r)
    r = oc_config_init(c, err);
  if (!r)
    r = load_files(c, a->config, err);
  if (!r)
    r = load_environment(c, err);
  if (!r)
    r = read_arguments(argc, argv, a, c, err);
  if (!r)
    r = oc_config_places(c, getenv, geteuid(), err);
  return r;
}

/* ---------------------------------------------------------------- places of programs and
 * tables */

static void exe_dir(char *ret, size_t room)
{
  ssize_t n = readlink("/proc/self/exe", ret, room - 1);
  char *slash;

  ret[n > 0 ? n : 0] = '\0';
  slash = strrchr(ret, '/');
  if (slash)
    *slash = '\0';
}

/* The setting, else the first of the usual places that exists; "" when none does. */
static int find_place(struct oc_config *c, const char *key, const char *set,
                      const char *const *candidates, size_t n, struct oc_error *err)
{
  char dir[3000], path[4096];

  if (*set)
    return 0;
  exe_dir(dir, sizeof(dir));
  for (size_t i = 0; i < n; i++) {
    snprintf(path, sizeof(path), "%s%s%s", candidates[i][0] == '/' ? "" : dir,
             candidates[i][0] == '/' ? "" : "/", candidates[i]);
    if (!access(path, F_OK))
      return oc_config_set(c, key, path, "installation", err);
  }
  return 0;
}

static int find_places(struct oc_config *c, struct oc_error *err)
{
  static const char *const workers[] = { "omcc-worker", "../libexec/omcc/omcc-worker",
                                         OMCC_LIBEXECDIR "/omcc-worker" };
  static const char *const runners[] = { "omcc-runner", "../libexec/omcc/omcc-runner",
                                         OMCC_LIBEXECDIR "/omcc-runner" };
  static const char *const tables[] = { "../share/omcc", OMCC_DATADIR };
  int r = find_place(c, "worker", c->v.worker, workers, OC_COUNT(workers), err);

  if (!r)
    r = find_place(c, "runner", c->v.runner, runners, OC_COUNT(runners), err);
  if (!r)
    r = find_place(c, "tables", c->v.tables, tables, OC_COUNT(tables), err);
  if (r)
    return r;
  if (!*c->v.worker)
    return oc_error_set(err, OC_E_IO,
                        "the program omcc-worker was not found beside omccd");
  if (!*c->v.tables)
    return oc_error_set(err, OC_E_IO,
                        "the operator tables were not found, see the setting "
                        "'tables'");
  return 0;
}

/* ---------------------------------------------------------------- descriptors and log */

/* 0 to 2 exist, so that nothing of ours gets their numbers. */
static void open_standard(void)
{
  int fd;

  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= 2);
  if (fd > 2)
    close(fd);
}

/* The socket that a service manager hands over; -1 when there is none. */
static int passed_socket(void)
{
  const char *n = getenv("LISTEN_FDS"), *pid = getenv("LISTEN_PID");
  int64_t who;

  if (!oc_streq(n, "1") || !pid || !oc_str_to_i64(oc_str_of(pid), &who) ||
      who != getpid())
    return -1;
  return FIRST_LISTEN_FD;
}

static int open_log(const struct oc_config *c, struct oc_log *log, struct oc_error *err)
{
  log->fd = STDERR_FILENO;
  log->journal = getenv("JOURNAL_STREAM") && !*c->v.log_file;
  oc_log_level_parse(c->v.log_level, &log->level);
  if (!*c->v.log_file)
    return 0;
  log->fd = open(c->v.log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log->fd < 0)
    return oc_error_errno(err, OC_E_IO, "cannot open the log '%s'", c->v.log_file);
  return 0;
}

/* As many descriptors as allowed: every connection, input and object in delivery is one.
 */
static struct rlimit raise_nofile(void)
{
  struct rlimit was = { 1024, 1024 }, more;

  getrlimit(RLIMIT_NOFILE, &was);
  more = was;
  more.rlim_cur = was.rlim_max;
  setrlimit(RLIMIT_NOFILE, &more);
  return was;
}

/* One line: "ready", or why not. */
static void tell_starter(const struct arguments *a, const char *text)
{
  if (a->ready_fd < 0)
    return;
  dprintf(a->ready_fd, "%s\n", text);
  close(a->ready_fd);
}

/* ---------------------------------------------------------------- the life */

static struct oc_remote_options remote_of(const struct oc_config *c)
{
  return (struct oc_remote_options){ .url = c->v.remote_url,
                                     .write = oc_streq(c->v.remote_mode, "read-write"),
                                     .netrc = c->v.remote_netrc,
                                     .header_file = c->v.remote_header_file,
                                     .ca = c->v.remote_ca,
                                     .connect_ms = c->v.remote_connect_limit,
                                     .answer_ms = c->v.remote_answer_limit,
                                     .retry_ms = c->v.remote_retry,
                                     .outage_ms = c->v.remote_outage_limit,
                                     .bytes_per_s = c->v.remote_min_speed };
}

static struct oc_server_options options_of(const struct oc_config *c)
{
  return (struct oc_server_options){ .socket_path = c->v.socket,
                                     .listen_fd = passed_socket(),
                                     .socket_mode = (uint32_t)c->v.socket_mode,
                                     .cache_dir = c->v.cache_dir,
                                     .cache_limit_bytes = c->v.cache_limit,
                                     .cache_on_network = c->v.cache_on_network,
                                     .cache_durability = c->v.durability,
                                     .cache_entries = c->v.cache_entries,
                                     .cache_user_bytes = c->v.cache_user_limit,
                                     .cache_free_bytes = c->v.cache_free_floor,
                                     .cache_scrub_bytes_per_s = c->v.scrub_rate,
                                     .cache_memo_on_network = c->v.memo_on_network,
                                     .deliver_link = !strcmp(c->v.delivery, "link"),
                                     .admin_gid = -1,
                                     .worker_path = c->v.worker,
                                     .runner_path = c->v.runner,
                                     .tables_dir = c->v.tables,
                                     .tables_extra = c->v.tables_extra,
                                     .backend = c->v.backend,
                                     .toolkit = c->v.toolkit,
                                     .workers = (unsigned)c->v.workers,
                                     .digest_threads = (unsigned)c->v.digest_threads,
                                     .max_jobs = (unsigned)c->v.max_jobs,
                                     .max_jobs_per_uid = (unsigned)c->v.max_jobs_per_user,
                                     .max_connections = (unsigned)c->v.max_connections,
                                     .orphan_grace_ms = c->v.orphan_grace,
                                     .idle_exit_ms = c->v.idle_exit,
                                     .drain_limit_ms = c->v.drain_limit,
                                     .worker_memory_bytes = c->v.worker_memory,
                                     .plan_limit_ms = c->v.plan_limit,
                                     .build_limit_ms = c->v.build_limit,
                                     .run_limit_ms = c->v.compile_limit,
                                     .run_memory_bytes = c->v.compile_memory,
                                     .remote = remote_of(c),
                                     .stop_at = getenv("OMCC_STOP_AT") };
}

/* The group's number; a name that does not exist is a mistake in the settings. */
static int find_group(const char *name, int64_t *ret, struct oc_error *err)
{
  struct group entry, *found = NULL;
  char room[16384];

  if (!*name)
    return 0;
  if (getgrnam_r(name, &entry, room, sizeof(room), &found) || !found)
    return oc_error_set(err, OC_E_ARG,
                        "the group '%s' of the setting 'admin_group' does "
                        "not exist",
                        name);
  *ret = entry.gr_gid;
  return 0;
}

static int serve(const struct oc_config *c, const struct arguments *a,
                 struct oc_error *err)
{
  struct oc_server_options o = options_of(c);
  struct oc_server *server = NULL;
  struct oc_log log;
  int r = open_log(c, &log, err);

  if (!r)
    r = find_group(c->v.admin_group, &o.admin_gid, err);
  if (r)
    return r;
  o.log = &log;
  /* A daemon that a client started is to live on: its client asks for stop points itself.
   */
  if (a->ready_fd >= 0)
    o.stop_at = NULL;
  o.nofile = raise_nofile();
  r = oc_server_open(&o, &server, err);
  if (!r) {
    tell_starter(a, "ready");
    oc_server_run(server);
    r = oc_server_free(server);
  } else {
    oc_log_event(&log, OC_LOG_ERROR, "not_started", 0, err->msg);
  }
  if (log.fd != STDERR_FILENO)
    close(log.fd);
  return r;
}

int main(int argc, char **argv)
{
  struct arguments a = { .ready_fd = -1 };
  struct oc_config config = { 0 };
  struct oc_error err = { 0 };
  int r;

  if (argc == 2 && oc_streq(argv[1], "--version")) {
    printf("omccd %s\n", OMCC_VERSION);
    return 0;
  }
  if (argc == 2 && oc_streq(argv[1], "--help")) {
    fputs(usage, stdout);
    return 0;
  }
  open_standard();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGIO, SIG_IGN); /* a read lease of a moment may be broken in that moment */
  r = load_settings(argc, argv, &a, &config, &err);
  if (a.ready_fd >= 0)
    fcntl(a.ready_fd, F_SETFD, FD_CLOEXEC);
  if (!r && a.print_config) {
    fputs(oc_config_schema_text(), stdout);
    oc_config_clear(&config);
    return 0;
  }
  if (r) {
    fprintf(stderr, "omccd: %s\n", err.msg);
    tell_starter(&a, err.msg);
    oc_config_clear(&config);
    return STATUS_USAGE;
  }
  r = find_places(&config, &err);
  if (!r)
    r = serve(&config, &a, &err);
  if (r) {
    fprintf(stderr, "omccd: %s\n", err.msg);
    tell_starter(&a, err.msg);
  }
  oc_config_clear(&config);
  return r ? STATUS_FAILED : 0;
}
