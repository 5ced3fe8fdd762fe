/* One directory per test holds socket, cache, tables and models. */
#include "house.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "talk.h"

struct house house;

static void make_dir(const char *path)
{
  ck_assert_msg(!mkdir(path, 0700), "mkdir %s", path);
}

const char *house_file(const char *name, const char *text)
{
  static char paths[16][256];
  static unsigned next;
  char *path = paths[next++ % 16];
  int fd;

  snprintf(path, sizeof(paths[0]), "%s/%s", house.dir, name);
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
  return path;
}

const char *house_gated(const char *name, const char *text)
{
  char all[512];

  snprintf(all, sizeof(all), "gate build %s/gate\n%s", house.dir, text);
  return house_file(name, all);
}

void house_open_gate(void)
{
  house_file("gate", "");
}

void house_setup(void)
{
  char room[128];

  signal(SIGPIPE, SIG_IGN);
  memset(&house, 0, sizeof(house));
  snprintf(house.dir, sizeof house.dir, "/tmp/omcc-test-server-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(house.dir));
  snprintf(house.socket, sizeof(house.socket), "%s/sock", house.dir);
  snprintf(house.cache, sizeof(house.cache), "%s/cache", house.dir);
  snprintf(house.tables, sizeof(house.tables), "%s/tables", house.dir);
  snprintf(house.worker, sizeof(house.worker), "%s/bin/fake-worker",
           getenv("OMCC_BINARY_DIR"));
  make_dir(house.tables);
  snprintf(room, sizeof(room), "%s/soc", house.tables);
  make_dir(room);
  snprintf(room, sizeof(room), "%s/ops", house.tables);
  make_dir(room);
  house_file("tables/soc/a.yaml", "a: 1\n");
  unsetenv("ASCEND_HOME_PATH");
  house.log =
      (struct oc_log){ .fd = getenv("OMCC_TEST_LOG") ? 2 : -1, .level = OC_LOG_DEBUG };
  house.options = (struct oc_server_options){ .log = &house.log,
                                              .socket_path = house.socket,
                                              .listen_fd = -1,
                                              .socket_mode = 0600,
                                              .cache_dir = house.cache,
                                              .cache_limit_bytes = 1u << 30,
                                              .cache_durability = "normal",
                                              .worker_path = house.worker,
                                              .runner_path = house.worker,
                                              .tables_dir = house.tables,
                                              .backend = "auto",
                                              .toolkit = "",
                                              .workers = 2,
                                              .digest_threads = 2,
                                              .max_jobs = 100,
                                              .max_jobs_per_uid = 50,
                                              .max_connections = 50,
                                              .plan_limit_ms = 200000,
                                              .build_limit_ms = 200000,
                                              .run_limit_ms = 200000,
                                              .nofile = { 256, 256 },
                                              .stop_at = "" };
}

static void *run_server(void *arg)
{
  (void)arg;
  oc_server_run(house.server);
  return NULL;
}

void house_open(void)
{
  struct oc_error err = { 0 };

  ck_assert_msg(!oc_server_open(&house.options, &house.server, &err), "%s", err.msg);
  ck_assert_int_eq(pthread_create(&house.thread, NULL, run_server, NULL), 0);
  house.running = true;
}

static size_t open_fds(void)
{
  DIR *d = opendir("/proc/self/fd");
  size_t n = 0;

  while (readdir(d))
    n++;
  closedir(d);
  return n;
}

size_t house_fds(void)
{
  size_t n = open_fds();

  /* Equal for a third of a second: connections are closed and children have come. */
  for (int same = 0, tries = 0; same < 11 && tries < 300; tries++) {
    size_t now;

    usleep(30000);
    now = open_fds();
    same = now == n ? same + 1 : 0;
    n = now;
  }
  return n;
}

void house_await_fds(size_t most)
{
  for (int tries = 0; tries < TALK_MS / 30 && open_fds() > most; tries++)
    usleep(30000);
  ck_assert_uint_le(open_fds(), most);
}

void house_join(void)
{
  ck_assert(house.running);
  pthread_join(house.thread, NULL);
  house.running = false;
  ck_assert_int_eq(oc_server_free(house.server), 0);
}

void house_close(void)
{
  struct talk t;

  if (!house.running)
    return;
  talk_open(&t);
  talk_stop(&t, true);
  talk_close(&t);
  house_join();
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
  (void)st;
  (void)type;
  (void)at;
  return remove(path);
}

void house_teardown(void)
{
  house_close();
  nftw(house.dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void house_toolkit(void)
{
  static const char *const dirs[] = { "kit", "kit/bin", "kit/opp", "kit/opp/built-in",
                                      "kit/compiler" };
  char path[128];

  for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
    snprintf(path, sizeof(path), "%s/%s", house.dir, dirs[i]);
    make_dir(path);
  }
  house_file("kit/bin/atc", "#!/bin/sh\n");
  house_file("kit/compiler/version.info", "Version=1.2.test\n");
  snprintf(house.toolkit, sizeof(house.toolkit), "%s/kit", house.dir);
  house.options.toolkit = house.toolkit;
}
