/* Stand-in for the vendor's compiler: the same flags, lines, exit statuses, file names
 * and droppings, and no compiling. Behaviour after the public description of the tool's
 * command line. */
#include "fake.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"

#define FAILED 255 /* the program returns -1 */

static void say(const char *text)
{
  fputs(text, stdout);
  fflush(stdout);
}

/* The lines of a failure: block of one code, as the tool of that year prints it. */
static int fail(const char *code, const char *text, const char *solution)
{
  time_t now = time(NULL);
  struct tm tm;
  char when[64] = "";

  if (localtime_r(&now, &tm))
    strftime(when, sizeof(when), "%Y-%m-%d-%H:%M:%S.000.000", &tm);
  say("ATC run failed, Please check the detail log, Try 'atc --help' for more "
      "information\n");
  printf("%s: [PID: %ld] %s %s\n        Solution: %s\n"
         "        TraceBack (most recent call last):\n        %s\n\n",
         code, (long)getpid(), when, text, solution, text);
  fflush(stdout);
  return FAILED;
}

static int fail_to_parse(const char *before, const char *word, const char *after)
{
  fprintf(stderr, "ERROR: %s%s%s\n", before, word, after);
  fflush(stderr);
  say("ATC run failed, Please check the detail log, Try 'atc --help' for more "
      "information\n"
      "E19999: Internal Error!\n        An unknown error occurred. Please check the "
      "log.\n\n");
  return FAILED;
}

/* 0, or the exit status of a mistake in the flags' form. */
static int parse(int argc, char **argv, struct oc_flags *flags)
{
  for (int i = 1; i < argc; i++) {
    const char *word = argv[i], *equals = strchr(word, '=');
    char name[128];
    if (word[0] != '-')
      return fail_to_parse("Non-option parameter: ", word, "");
    word += word[1] == '-' ? 2 : 1;
    snprintf(name, sizeof(name), "%.*s",
             (int)(equals ? equals - word : (long)strlen(word)), word);
    for (char *p = name; *p; p++)
      if (*p == '-')
        *p = '_';
    const struct oc_flag_info *info = oc_flag_find(name);
    if (!info && knob("FAKE_FLAG") && oc_streq(name, knob("FAKE_FLAG")))
      continue;
    if (!info || info->ours)
      return fail_to_parse("unknown command line flag '", name, "'");
    if (!equals && info->type == OC_FLAG_BOOL)
      oc_flags_set(flags, name, "true");
    else if (equals)
      oc_flags_set(flags, name, equals + 1);
    else if (i + 1 < argc)
      oc_flags_set(flags, name, argv[++i]);
    else
      return fail_to_parse("flag '", name, "' is missing its argument");
  }
  return 0;
}

/* The tool looks at real paths, and takes few characters in them. */
static bool path_is_taken(const char *path)
{
  char real[PATH_MAX];

  if (!realpath(path, real))
    return false;
  for (const unsigned char *p = (unsigned char *)real; *p; p++)
    if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
          (*p >= '0' && *p <= '9') || strchr("-._/", *p) || *p >= 0xe4))
      return *p >= 0x80; /* following bytes of a CJK character */
  return true;
}

static int check(const struct oc_flags *flags)
{
  int mode = oc_flags_mode(flags);
  const char *required[] = { "soc_version", mode == 3 ? NULL : "output", "model" };
  char text[512];

  if (mode == 1)
    return 0;
  for (size_t i = 0; i < 3; i++) {
    if (!required[i] || oc_flags_get(flags, required[i]))
      continue;
    snprintf(text, sizeof(text), "[--%s] is required.", required[i]);
    return fail("E10054", text, "Set the parameter and try again.");
  }
  if (!oc_flags_get(flags, "framework"))
    return fail("E10007",
                "[--framework] is required. The value must be [0(Caffe) or "
                "1(MindSpore) or 3(TensorFlow) or 5(Onnx)].",
                "Set the parameter and try again.");
  for (size_t i = 0; i < flags->n; i++) {
    const struct oc_flag *f = &flags->items[i];
    if (!f->info ||
        (f->info->content != OC_FLAG_FILE && f->info->content != OC_FLAG_LIST))
      continue;
    if (path_is_taken(f->value) && access(f->value, R_OK) == 0)
      continue;
    snprintf(text, sizeof(text),
             "Value [%s] for parameter [--%s] is invalid. Reason: path", f->value,
             f->name);
    return fail("E10001", text, "Check the path.");
  }
  return 0;
}

static void count_run(void)
{
  const char *path = knob("FAKE_COUNT_FILE");
  int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;

  if (fd < 0)
    return;
  if (write(fd, "run\n", 4) < 0)
    perror(path);
  close(fd);
}

static void load_knobs(void)
{
  char self[PATH_MAX], conf[PATH_MAX + 32];
  ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

  if (n <= 0)
    return;
  self[n] = '\0';
  for (int up = 0; up < 2; up++) {
    char *slash = strrchr(self, '/');
    if (slash)
      *slash = '\0';
  }
  snprintf(conf, sizeof(conf), "%s/fake-atc.conf", self);
  knobs_load(conf);
}

static int run(int argc, char **argv, struct oc_flags *flags)
{
  say("ATC start working now, please wait for a moment.\n");
  int rc = parse(argc, argv, flags);
  if (rc)
    return rc;
  if (oc_flags_true(flags, "help")) {
    say("usage: ./atc <args>\n  --mode  --model  --framework  --output  --soc_version\n");
    return 0;
  }
  count_run();
  rc = check(flags);
  if (rc)
    return rc;
  work();
  say("...\n");
  rc = (int)knob_number("FAKE_EXIT", 0);
  if (rc) {
    say("ATC run failed, Please check the detail log, Try 'atc --help' for more "
        "information\n");
    print_file(STDOUT_FILENO, knob("FAKE_STDOUT"));
    return rc;
  }
  if (write_result(flags, argc, argv) < 0)
    return fail("E10042", "Failed to generate the model.", "Check the output directory.");
  say("ATC run success, welcome to the next use.\n");
  print_file(STDOUT_FILENO, knob("FAKE_STDOUT"));
  say("\n");
  return 0;
}

int main(int argc, char **argv)
{
  struct oc_arena arena;
  struct oc_flags flags;

  load_knobs();
  oc_arena_init(&arena, 0);
  oc_flags_init(&flags, &arena);
  int rc = run(argc, argv, &flags);
  oc_arena_clear(&arena);
  return rc;
}
