/* omcc daemon start | stop | run. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"

#define SCHEMA  "omcc.daemon/1"
#define STOP_MS 600000 /* jobs may take their time */
#define END_MS  10000  /* from the last answer to the end of the process */

static void say(struct cli *cli, const char *state, uint32_t pid, const char *socket)
{
  struct oc_json_writer w;
  struct oc_buf text;

  cli_buf(&text);
  if (cli->json) {
    oc_json_writer_init(&w, &text, true);
    oc_render_json_begin(&w, SCHEMA, 0, "ok", "", &cli->findings, NULL);
    oc_json_put_string(&w, "state", state);
    oc_json_put_u64(&w, "pid", pid);
    oc_json_put_string(&w, "socket", socket);
    oc_render_json_end(&w);
    oc_buf_putc(&text, '\n');
  } else {
    oc_buf_printf(&text, "daemon %s, pid %u, socket ", state, pid);
    oc_render_plain(socket, &text);
    oc_buf_putc(&text, '\n');
  }
  cli_out(STDOUT_FILENO, &text);
}

static int start(struct cli *cli)
{
  struct omcc_error err = { 0 };
  struct omcc_peer peer;
  struct omcc *c;

  if (cli_connect(cli, OMCC_START_IF_MISSING, &c, &err) < 0)
    return cli_fail(cli, SCHEMA, &err);
  omcc_peer(c, &peer);
  say(cli, peer.started ? "started" : "running", peer.pid, peer.socket);
  cli_print_findings(cli);
  omcc_close(c);
  return 0;
}

/* The connection ends before the process does; who wants to move the cache away has to
 * wait for the process. Where its number means nothing to us there is nothing to wait
 * for. */
static void await_end(int pidfd)
{
  struct pollfd p = { .fd = pidfd, .events = POLLIN };

  if (pidfd >= 0)
    (void)poll(&p, 1, END_MS);
}

/* The daemon closes the connection when its last job is over. */
static int stop(struct cli *cli)
{
  auto_close int pidfd = -1;
  bool now = oc_flags_true(&cli->flags, "now");
  struct omcc_error err = { 0 };
  struct omcc_peer peer;
  struct omcc *c;
  uint8_t *bytes;
  size_t len;
  int rc;

  if (cli_connect(cli, OMCC_START_NEVER, &c, &err) < 0)
    return cli_fail(cli, SCHEMA, &err);
  omcc_peer(c, &peer);
  pidfd = (int)syscall(SYS_pidfd_open, (pid_t)peer.pid, 0);
  rc = omcc_ask(c, now ? OMCC_ASK_STOP_NOW : OMCC_ASK_STOP, 0, STOP_MS, &bytes, &len,
                &err);
  if (!rc)
    free(bytes);
  cli_catch_signals();
  while (!rc && !cli_interrupts() && !cli_terminated())
    rc = omcc_wait(c, STOP_MS, &err);
  if (rc == OMCC_E_CLOSED)
    await_end(pidfd);
  if (rc == OMCC_E_CLOSED)
    say(cli, "stopped", peer.pid, peer.socket);
  else if (rc)
    cli_fail(cli, SCHEMA, &err);
  omcc_close(c);
  if (!rc)
    return cli_terminated() ? 128 + cli_terminated() : 130;
  return rc == OMCC_E_CLOSED ? 0 : err.status;
}

/* The daemon in the foreground, with the words behind `run` as its own flags. */
static int run(struct cli *cli)
{
  struct omcc_error err = { 0 };
  char **argv = OC_NEW_N(&cli->arena, char *, cli->n_args + 2);
  char path[4096];

  if (!argv)
    return cli_refuse(cli, SCHEMA, OMCC_BUG, "no memory");
  if (omcc_daemon_path(path, sizeof(path), &err) < 0)
    return cli_fail(cli, SCHEMA, &err);
  argv[0] = path;
  for (size_t i = 0; i < cli->n_args; i++)
    argv[i + 1] = (char *)cli->args[i];
  execv(path, argv);
  return cli_refuse(
      cli, SCHEMA, OMCC_DAEMON,
      oc_arena_printf(&cli->arena, "cannot run '%s': %s", path, strerror(errno)));
}

int verb_daemon(struct cli *cli)
{
  const char *what = cli->n_args ? cli->args[0] : "";
  int status;

  if (cli->n_args) {
    cli->args++;
    cli->n_args--;
  }
  if (!strcmp(what, "run"))
    return run(cli);
  status = cli_parse(cli, CLI_WORDS);
  if (status)
    return status;
  if (!oc_findings_have_errors(&cli->findings) && !strcmp(what, "start"))
    return start(cli);
  if (!oc_findings_have_errors(&cli->findings) && !strcmp(what, "stop"))
    return stop(cli);
  oc_finding_add(&cli->findings, OC_FINDING_VERB_UNKNOWN,
                 oc_arena_printf(&cli->arena, "daemon %s", what), "hint",
                 "omcc daemon start, omcc daemon stop, omcc daemon run", NULL);
  return cli_refuse(cli, "omcc.error/1", OMCC_REQUEST, "unknown command");
}
