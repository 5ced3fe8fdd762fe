/* bench_worker ROUNDS WORKER TABLES MODEL OUTPUT_DIR FLAG=VALUE... [external=FILE]
 *
 * The compile alone: plays the daemon for a real omcc-worker and prints one line per
 * round, total_us import_us infer_us resolve_us emit_us max_rss_kib where total is from
 * the Plan order (the worker has not read a byte) to Built (the last byte is written).
 * Each round is a fresh child, as in the daemon. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "frame/frame.h"
#include "messages/messages.h"

#define MOST_FLAGS  32
#define MOST_TABLES 64
#define WAIT_MS     600000

struct bench {
  struct oc_channel *zygote;
  pid_t pid;
  int external;              /* data file of the model, -1: none */
  const char *external_name; /* as the model names it */
  struct oc_arena arena;
};

static void die(const char *what, const struct oc_error *err)
{
  fprintf(stderr, "bench_worker: %s%s%s\n", what, err && err->msg[0] ? ": " : "",
          err ? err->msg : "");
  exit(1);
}

static void tell(struct oc_channel *c, const Omcc__V1__ToWorker *m, const int *fds,
                 size_t n)
{
  struct oc_error err = { 0 };
  struct oc_buf out;

  oc_buf_init(&out, OC_MAX_FRAME);
  if (oc_message_pack(m, &out) < 0 ||
      oc_channel_send(c, out.data, out.len, fds, n, false, &err) < 0 ||
      oc_channel_drain(c, WAIT_MS, &err) < 0)
    die("cannot speak to the worker", &err);
  oc_buf_clear(&out);
}

static Omcc__V1__FromWorker *hear(struct bench *b, struct oc_channel *c,
                                  struct oc_frame *frame)
{
  struct oc_error err = { 0 };
  ProtobufCMessage *m = NULL;

  if (oc_channel_wait(c, WAIT_MS, frame, &err) < 0 ||
      oc_message_unpack(&omcc__v1__from_worker__descriptor, frame->body, frame->len,
                        &b->arena, &m, &err) < 0)
    die("the worker does not answer", &err);
  return (Omcc__V1__FromWorker *)m;
}

/* Hears until a message of the kind comes; others (Inputs, ChildGone of an earlier round)
 * are of no interest, a refusal is the end. */
static Omcc__V1__FromWorker *hear_kind(struct bench *b, struct oc_channel *c,
                                       Omcc__V1__FromWorker__BodyCase kind,
                                       struct oc_frame *frame)
{
  for (;;) {
    Omcc__V1__FromWorker *m = hear(b, c, frame);
    if (m->body_case == kind)
      return m;
    if (m->body_case == OMCC__V1__FROM_WORKER__BODY_FAILED ||
        m->body_case == OMCC__V1__FROM_WORKER__BODY_UNPLANNED)
      die("the worker refuses the model", NULL);
    oc_frame_close_fds(frame);
  }
}

static void send_table(struct bench *b, const char *tables, const char *name, bool last)
{
  Omcc__V1__TableFile file = OMCC__V1__TABLE_FILE__INIT;
  Omcc__V1__TableFile *files[] = { &file };
  Omcc__V1__Setup setup = OMCC__V1__SETUP__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  auto_close int fd =
      open(oc_arena_printf(&b->arena, "%s/%s", tables, name), O_RDONLY | O_CLOEXEC);

  if (fd < 0)
    die("cannot open a table", NULL);
  file.name = (char *)name;
  setup.files = files;
  setup.n_files = 1;
  setup.last = last;
  m.body_case = OMCC__V1__TO_WORKER__BODY_SETUP;
  m.setup = &setup;
  tell(b->zygote, &m, &fd, 1);
}

static void send_tables(struct bench *b, const char *tables)
{
  static const char *const folders[] = { "soc", "ops" };
  const char *names[MOST_TABLES];
  size_t n = 0;

  for (size_t i = 0; i < OC_COUNT(folders); i++) {
    auto_closedir DIR *d =
        opendir(oc_arena_printf(&b->arena, "%s/%s", tables, folders[i]));
    for (struct dirent *e = d ? readdir(d) : NULL; e && n < MOST_TABLES; e = readdir(d)) {
      if (oc_ends_with(e->d_name, ".yaml"))
        names[n++] = oc_arena_printf(&b->arena, "%s/%s", folders[i], e->d_name);
    }
  }
  if (!n)
    die("no tables", NULL);
  for (size_t i = 0; i < n; i++)
    send_table(b, tables, names[i], i + 1 == n);
}

static void start(struct bench *b, const char *worker, const char *tables)
{
  struct oc_frame frame;
  int pair[2];

  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
    die("no socket", NULL);
  b->pid = fork();
  if (b->pid == 0) {
    dup2(pair[1], 3);
    fcntl(3, F_SETFD, 0);
    execl(worker, "omcc-worker", (char *)NULL);
    _exit(127);
  }
  close(pair[1]);
  b->zygote = oc_channel_new(pair[0], OC_MAX_FRAME);
  send_tables(b, tables);
  hear_kind(b, b->zygote, OMCC__V1__FROM_WORKER__BODY_READY, &frame);
}

static struct oc_channel *child(struct bench *b)
{
  Omcc__V1__Fork one = OMCC__V1__FORK__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  struct oc_frame frame;

  one.n = 1;
  m.body_case = OMCC__V1__TO_WORKER__BODY_FORK;
  m.fork = &one;
  tell(b->zygote, &m, NULL, 0);
  hear_kind(b, b->zygote, OMCC__V1__FROM_WORKER__BODY_CHILD, &frame);
  struct oc_channel *c = oc_channel_new(oc_frame_take_fd(&frame, 0), OC_MAX_FRAME);
  hear_kind(b, c, OMCC__V1__FROM_WORKER__BODY_HELLO, &frame);
  return c;
}

static void order_plan(const struct bench *b, struct oc_channel *c, int model,
                       char **words)
{
  Omcc__V1__ExternalFile data = OMCC__V1__EXTERNAL_FILE__INIT;
  Omcc__V1__ExternalFile *external[] = { &data };
  const int fds[] = { model, b->external };
  Omcc__V1__Plan plan = OMCC__V1__PLAN__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  Omcc__V1__File file = OMCC__V1__FILE__INIT;
  Omcc__V1__File *files[] = { &file };
  Omcc__V1__Flag flags[MOST_FLAGS];
  Omcc__V1__Flag *list[MOST_FLAGS];
  char text[MOST_FLAGS][256];

  for (size_t i = 0; words[i] && i < MOST_FLAGS; i++) {
    omcc__v1__flag__init(&flags[i]);
    snprintf(text[i], sizeof(text[i]), "%s", words[i]);
    char *equal = strchr(text[i], '=');
    if (!equal)
      die("a flag is FLAG=VALUE", NULL);
    *equal = '\0';
    flags[i].name = text[i];
    flags[i].value = equal + 1;
    flags[i].known = true;
    list[i] = &flags[i];
    plan.n_flags = i + 1;
  }
  file.flag = (char *)"model";
  file.name = (char *)"model.onnx";
  plan.flags = list;
  plan.files = files;
  plan.n_files = 1;
  plan.backend = (char *)"builtin";
  plan.label = (char *)"model";
  m.body_case = OMCC__V1__TO_WORKER__BODY_PLAN;
  m.plan = &plan;
  if (b->external >= 0) {
    data.name = (char *)b->external_name;
    data.fd = 1;
    plan.external = external;
    plan.n_external = 1;
  }
  tell(c, &m, fds, b->external >= 0 ? 2 : 1);
}

static double now_us(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void one_round(struct bench *b, int model, const char *folder, char **flags)
{
  Omcc__V1__Build build = OMCC__V1__BUILD__INIT;
  Omcc__V1__ToWorker m = OMCC__V1__TO_WORKER__INIT;
  struct oc_channel *c = child(b);
  struct oc_frame frame;
  auto_close int output = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

  if (output < 0)
    die("cannot write to the output folder", NULL);
  double begin = now_us();
  order_plan(b, c, model, flags);
  Omcc__V1__FromWorker *planned =
      hear_kind(b, c, OMCC__V1__FROM_WORKER__BODY_PLANNED, &frame);
  oc_frame_close_fds(&frame);
  if (!planned->planned->ok)
    die("the plan has errors", NULL);
  m.body_case = OMCC__V1__TO_WORKER__BODY_BUILD;
  m.build = &build;
  tell(c, &m, &output, 1);
  const Omcc__V1__Built *built =
      hear_kind(b, c, OMCC__V1__FROM_WORKER__BODY_BUILT, &frame)->built;
  double total = now_us() - begin;
  oc_channel_free(c);
  const Omcc__V1__ChildGone *gone =
      hear_kind(b, b->zygote, OMCC__V1__FROM_WORKER__BODY_CHILD_GONE, &frame)->child_gone;
  printf("%.0f %llu %llu %llu %llu %llu\n", total, (unsigned long long)built->import_us,
         (unsigned long long)built->infer_us, (unsigned long long)built->resolve_us,
         (unsigned long long)built->emit_us,
         (unsigned long long)gone->max_rss_bytes / 1024);
}

int main(int argc, char **argv)
{
  struct bench b = { 0 };

  if (argc < 7) {
    fputs("use: bench_worker ROUNDS WORKER TABLES MODEL OUTPUT_DIR FLAG=VALUE...\n",
          stderr);
    return 2;
  }
  oc_arena_init(&b.arena, 0);
  auto_close int model = open(argv[4], O_RDONLY | O_CLOEXEC);
  if (model < 0)
    die("cannot open the model", NULL);
  b.external = -1;
  if (oc_starts_with(argv[argc - 1], "external=")) {
    const char *path = argv[argc - 1] + strlen("external="), *slash = strrchr(path, '/');
    b.external = open(path, O_RDONLY | O_CLOEXEC);
    b.external_name = slash ? slash + 1 : path;
    argv[argc - 1] = NULL;
    if (b.external < 0)
      die("cannot open the external data", NULL);
  }
  start(&b, argv[2], argv[3]);
  for (long i = strtol(argv[1], NULL, 10); i > 0; i--)
    one_round(&b, model, argv[5], argv + 6);
  oc_channel_free(b.zygote);
  waitpid(b.pid, NULL, 0);
  oc_arena_clear(&b.arena);
  return 0;
}
