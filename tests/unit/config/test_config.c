/* Settings: what is taken, what is refused, and with which words. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "config/config.h"

static struct oc_config c;

static void init(void)
{
  struct oc_error err = { 0 };

  ck_assert_msg(!oc_config_init(&c, &err), "%s", err.msg);
}

static void clear(void)
{
  oc_config_clear(&c);
}

static const char *origin_of(const char *key)
{
  for (size_t i = 0; i < OC_CONFIG_N_KEYS; i++)
    if (!strcmp(oc_config_keys[i].name, key))
      return c.origin[i];
  ck_abort_msg("no key %s", key);
}

START_TEST(every_key_has_a_valid_default_and_words)
{
  for (size_t i = 0; i < OC_CONFIG_N_KEYS; i++) {
    ck_assert_str_eq(c.origin[i], "default");
    ck_assert_msg(strlen(oc_config_keys[i].doc) > 10, "%s", oc_config_keys[i].name);
    ck_assert_ptr_nonnull(strstr(oc_config_schema_text(), oc_config_keys[i].name));
  }
  ck_assert_uint_eq(c.v.workers, 2);
  ck_assert_uint_eq(c.v.orphan_grace, 0);
  ck_assert_str_eq(c.v.backend, "auto");
  ck_assert_uint_eq(c.v.socket_mode, 0600);
  ck_assert_uint_eq(c.v.plan_limit, 600000);
  ck_assert(!c.v.cache_on_network);
}
END_TEST

static const struct {
  const char *key, *value, *message; /* NULL: taken */
} values[] = {
  { "workers", "4", NULL },
  { "workers", "0", "test: 'workers' must be at least 1, not '0'" },
  { "workers", "257", "test: 'workers' must be at most 256, not '257'" },
  { "workers", "four", "test: 'workers' must be a number, not 'four'" },
  { "workers", "-1", "test: 'workers' must be a number, not '-1'" },
  { "workers", "", "test: 'workers' must be a number, not ''" },
  { "workers", "4K", "test: 'workers' must be a number, not '4K'" },
  { "cache_limit", "50G", NULL },
  { "cache_limit", "1 G", NULL },
  { "cache_limit", "1", "test: 'cache_limit' must be at least 1M, not '1'" },
  { "cache_limit", "20GB",
    "test: 'cache_limit' must be a number of bytes, such as 512M or 20G, not '20GB'" },
  { "cache_limit", "99999999999T",
    "test: 'cache_limit' must be a number of bytes, such as 512M or 20G, not "
    "'99999999999T'" },
  { "idle_exit", "30min", NULL },
  { "idle_exit", "1800s", NULL },
  { "idle_exit", "1d",
    "test: 'idle_exit' must be a time, such as 500ms, 10s, 30min or 2h, not '1d'" },
  { "orphan_grace", "25h", "test: 'orphan_grace' must be at most 24h, not '25h'" },
  { "backend", "builtin", NULL },
  { "backend", "gcc", "test: 'backend' must be one of 'auto atc builtin', not 'gcc'" },
  { "backend", "a", "test: 'backend' must be one of 'auto atc builtin', not 'a'" },
  { "cache_dir", "/var/cache/omcc", NULL },
  { "cache_dir", "cache", "test: 'cache_dir' must be an absolute path, not 'cache'" },
  { "socket_mode", "0660", NULL },
  { "socket_mode", "rw",
    "test: 'socket_mode' must be octal permissions such as 0600, not 'rw'" },
  { "socket_mode", "01777777",
    "test: 'socket_mode' must be octal permissions such as 0600, not '01777777'" },
  { "cache_on_network", "true", NULL },
  { "cache_on_network", "yes",
    "test: 'cache_on_network' must be true or false, not 'yes'" },
  { "worker", "", NULL },
  { "wrokers", "4", "test: unknown setting 'wrokers', did you mean 'workers'" },
  { "colour", "red", "test: unknown setting 'colour'" },
};

START_TEST(one_value)
{
  struct oc_error err = { 0 };
  int r = oc_config_set(&c, values[_i].key, values[_i].value, "test", &err);

  ck_assert_msg((r == 0) == (values[_i].message == NULL), "%s=%s: %s", values[_i].key,
                values[_i].value, err.msg);
  ck_assert_str_eq(err.msg, values[_i].message ? values[_i].message : "");
}
END_TEST

START_TEST(a_file_sets_values_and_their_places)
{
  static const char text[] = "# comment\nworkers: 3\n\ncache_limit: 1G\n"
                             "toolkit: \"/opt/with blank\"\n";
  struct oc_error err = { 0 };

  ck_assert_msg(!oc_config_read(&c, text, strlen(text), "f.yaml", &err), "%s", err.msg);
  ck_assert_uint_eq(c.v.workers, 3);
  ck_assert_uint_eq(c.v.cache_limit, 1u << 30);
  ck_assert_str_eq(c.v.toolkit, "/opt/with blank");
  ck_assert_str_eq(origin_of("workers"), "f.yaml:2");
  ck_assert_str_eq(origin_of("cache_limit"), "f.yaml:4");
  ck_assert_str_eq(origin_of("backend"), "default");
}
END_TEST

static const struct {
  const char *text, *message; /* NULL: fine */
} files[] = {
  { "", NULL },
  { "# nothing\n", NULL },
  { "workers: 3\nwrokers: 4\n",
    "f:2: unknown setting 'wrokers', did you mean 'workers'" },
  { "workers: 3\nworkers: 4\n", "f:2: setting 'workers' is given twice" },
  { "workers: [1, 2]\n", "f:1: lists and aliases are not settings" },
  { "workers: {a: 1}\n", "f:1: setting 'workers' must be a single value" },
  { "workers\n", "f:1: 'key: value' lines are expected" },
  { "- workers\n", "f:1: lists and aliases are not settings" },
  { "a: &x 1\nb: *x\n", "f:1: unknown setting 'a'" },
  { "workers: \"3\n", "f:2: found unexpected end of stream" },
  { "workers: many\n", "f:1: 'workers' must be a number, not 'many'" },
};

START_TEST(one_file)
{
  struct oc_error err = { 0 };
  int r = oc_config_read(&c, files[_i].text, strlen(files[_i].text), "f", &err);

  ck_assert_msg((r == 0) == (files[_i].message == NULL), "%d: %s", _i, err.msg);
  ck_assert_str_eq(err.msg, files[_i].message ? files[_i].message : "");
}
END_TEST

START_TEST(later_ways_win)
{
  struct oc_error err = { 0 };

  ck_assert_int_eq(oc_config_read(&c, "workers: 3\n", 11, "f", &err), 0);
  ck_assert_int_eq(oc_config_set(&c, "workers", "5", "--workers", &err), 0);
  ck_assert_uint_eq(c.v.workers, 5);
  ck_assert_str_eq(origin_of("workers"), "--workers");
}
END_TEST

START_TEST(files_from_disk)
{
  struct oc_error err = { 0 };
  char path[] = "/tmp/omcc-test-config-XXXXXX";
  int fd = mkstemp(path);

  ck_assert_int_ge(fd, 0);
  ck_assert_int_eq(write(fd, "workers: 7\n", 11), 11);
  close(fd);
  ck_assert_int_eq(oc_config_load(&c, path, false, &err), 0);
  ck_assert_uint_eq(c.v.workers, 7);
  unlink(path);
  ck_assert_int_eq(oc_config_load(&c, path, true, &err), 0);
  ck_assert_int_lt(oc_config_load(&c, path, false, &err), 0);
  ck_assert_ptr_nonnull(strstr(err.msg, path));
  ck_assert_int_lt(oc_config_load(&c, "/tmp", false, &err), 0);
}
END_TEST

/* ---------------------------------------------------------------- places */

static const char *env[8][2];

static char *fake_getenv(const char *name)
{
  for (size_t i = 0; i < OC_COUNT(env) && env[i][0]; i++)
    if (!strcmp(env[i][0], name))
      return (char *)env[i][1];
  return NULL;
}

static const struct {
  const char *env[3][2];
  const char *socket, *cache, *message;
} places[] = {
  { { { "XDG_RUNTIME_DIR", "/run/user/7" }, { "XDG_CACHE_HOME", "/c" } },
    "/run/user/7/omcc/omccd.sock",
    "/c/omcc",
    NULL },
  { { { "HOME", "/home/u" } }, "/tmp/omcc-7/omccd.sock", "/home/u/.cache/omcc", NULL },
  { { { "XDG_RUNTIME_DIR", "relative" }, { "HOME", "/h" } },
    "/tmp/omcc-7/omccd.sock",
    "/h/.cache/omcc",
    NULL },
  { { { NULL } }, NULL, NULL, "no place for the cache: set OMCC_CACHE_DIR or HOME" },
};

START_TEST(one_place)
{
  struct oc_error err = { 0 };
  int r;

  memset(env, 0, sizeof(env));
  memcpy(env, places[_i].env, sizeof(places[_i].env));
  r = oc_config_places(&c, fake_getenv, 7, &err);
  ck_assert_str_eq(err.msg, places[_i].message ? places[_i].message : "");
  if (r)
    return;
  ck_assert_str_eq(c.v.socket, places[_i].socket);
  ck_assert_str_eq(c.v.cache_dir, places[_i].cache);
}
END_TEST

START_TEST(a_socket_path_that_no_socket_can_have)
{
  struct oc_error err = { 0 };
  char path[200];

  memset(path, 'x', sizeof(path) - 1);
  path[0] = '/';
  path[108] = '\0';
  memset(env, 0, sizeof(env));
  env[0][0] = "HOME";
  env[0][1] = "/h";
  ck_assert_int_eq(oc_config_set(&c, "socket", path, "test", &err), 0);
  ck_assert_int_lt(oc_config_places(&c, fake_getenv, 7, &err), 0);
  ck_assert_ptr_nonnull(strstr(err.msg, "is longer than 107 bytes"));
  path[107] = '\0';
  ck_assert_int_eq(oc_config_set(&c, "socket", path, "test", &err), 0);
  ck_assert_int_eq(oc_config_places(&c, fake_getenv, 7, &err), 0);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("config");
  TCase *t = tcase_create("settings");
  SRunner *r;
  int failed;

  tcase_add_checked_fixture(t, init, clear);
  tcase_add_test(t, every_key_has_a_valid_default_and_words);
  tcase_add_loop_test(t, one_value, 0, (int)OC_COUNT(values));
  tcase_add_test(t, a_file_sets_values_and_their_places);
  tcase_add_loop_test(t, one_file, 0, (int)OC_COUNT(files));
  tcase_add_test(t, later_ways_win);
  tcase_add_test(t, files_from_disk);
  tcase_add_loop_test(t, one_place, 0, (int)OC_COUNT(places));
  tcase_add_test(t, a_socket_path_that_no_socket_can_have);
  suite_add_tcase(s, t);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
