/* Records: what is written can be read, what is not ours cannot. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "messages/messages.h"
#include "remote.pb-c.h"
#include "remote/remote_internal.h"

static struct oc_arena arena;
static uint8_t key[OC_SHA256_LEN], other[OC_SHA256_LEN];
static struct oc_remote_member members[6];
static struct oc_remote_entry entry;

static void set_member(size_t i, const char *name, const char *kind, uint64_t size)
{
  members[i] = (struct oc_remote_member){
    .name = name, .kind = kind, .mode = 0644, .size = size, .file = { .fd = -1 }
  };
  memset(members[i].sha256, (int)i + 1, OC_SHA256_LEN);
}

static void setup(void)
{
  memset(key, 7, sizeof(key));
  memset(other, 8, sizeof(other));
  oc_arena_init(&arena, 4u << 20);
  set_member(0, "model.om", "artifact", 1000);
  set_member(1, "weight/weight_1", "side", 5000000000ull);
  set_member(2, "report", "report", 300);
  set_member(3, "parts", "parts", 200);
  set_member(4, "stdout", "stdout", 50);
  set_member(5, "stderr", "stderr", 0); /* empty: left out */
  entry = (struct oc_remote_entry){ .has_plan_key = true,
                                    .facts = { "m.onnx", "Ascend310P3", "atc", "fp16",
                                               "t1", "8.0", true, 1234, 5678, -1 },
                                    .members = members,
                                    .n_members = 6 };
  memcpy(entry.key, key, sizeof(key));
  memcpy(entry.plan_key, other, sizeof(other));
}

static void teardown(void)
{
  oc_arena_clear(&arena);
}

/* 1 or 0; the record is that of `entry`. */
static int trip(uint64_t max_bytes, struct oc_remote_entry *ret, const char **ret_why)
{
  struct oc_buf record;
  int r;

  oc_buf_init(&record, REMOTE_RECORD_CAP);
  ck_assert_int_eq(remote_record_pack(&entry, &record), 0);
  r = remote_record_unpack(record.data, record.len, key, max_bytes, &arena, ret, ret_why);
  oc_buf_clear(&record);
  return r;
}

START_TEST(a_record_comes_back_as_it_was)
{
  struct oc_remote_entry got;
  const char *why = "";

  ck_assert_msg(trip(0, &got, &why) == 1, "%s", why);
  ck_assert_uint_eq(got.n_members, 5);
  for (size_t i = 0; i < got.n_members; i++) {
    ck_assert_str_eq(got.members[i].name, members[i].name);
    ck_assert_str_eq(got.members[i].kind, members[i].kind);
    ck_assert_uint_eq(got.members[i].size, members[i].size);
    ck_assert_mem_eq(got.members[i].sha256, members[i].sha256, OC_SHA256_LEN);
    ck_assert_int_eq(got.members[i].file.fd, -1);
  }
  ck_assert_uint_eq(got.members[0].mode, 0644);
  ck_assert(got.has_plan_key);
  ck_assert_mem_eq(got.plan_key, other, OC_SHA256_LEN);
  ck_assert_str_eq(got.facts.model, "m.onnx");
  ck_assert_str_eq(got.facts.toolkit, "8.0");
  ck_assert(got.facts.device_ready);
  ck_assert_uint_eq(got.facts.compile_ms, 1234);
  ck_assert_uint_eq(got.facts.peak_rss_bytes, 5678);
  ck_assert_int_eq(got.facts.tool_exit, -1);
}
END_TEST

/* Readers of the Remote Execution API see plain outputs. */
START_TEST(the_published_field_numbers_are_used)
{
  struct oc_buf record;
  bool files = false, out = false, meta = false;

  oc_buf_init(&record, REMOTE_RECORD_CAP);
  ck_assert_int_eq(remote_record_pack(&entry, &record), 0);
  for (size_t at = 0; at < record.len;) {
    unsigned tag = record.data[at++];
    size_t len = 0;

    ck_assert_uint_eq(tag & 7, 2);
    for (unsigned shift = 0;; shift += 7) {
      uint8_t byte = record.data[at++];

      len |= (size_t)(byte & 127) << shift;
      if (byte < 128)
        break;
    }
    files |= tag >> 3 == 2;
    out |= tag >> 3 == 6;
    meta |= tag >> 3 == 9;
    at += len;
  }
  ck_assert(files && out && meta);
  oc_buf_clear(&record);
}
END_TEST

static const struct bad {
  const char *name, *kind, *why;
} bad_members[] = {
  { "/etc/passwd", "artifact", "absolute" },
  { "../x", "artifact", "parent" },
  { "a/../../x", "side", "parent inside" },
  { "a//b", "side", "empty part" },
  { "a/", "side", "slash at the end" },
  { "a\nb", "side", "control byte" },
  { "", "side", "no name" },
  { "x", "program", "unknown kind" },
  { "model.om", "side", "a name twice" },
  { ".", "side", "dot" },
};

START_TEST(names_that_lead_elsewhere_are_foreign)
{
  const struct bad *row = &bad_members[_i];
  struct oc_remote_entry got;
  const char *why = "";

  set_member(1, row->name, row->kind, 10);
  ck_assert_msg(trip(0, &got, &why) == 0, "%s", row->why);
}
END_TEST

START_TEST(another_key_is_foreign)
{
  struct oc_remote_entry got;
  const char *why = "";

  memcpy(entry.key, other, sizeof(other));
  ck_assert_int_eq(trip(0, &got, &why), 0);
  ck_assert_str_eq(why, "it was made for another key");
}
END_TEST

START_TEST(too_large_is_foreign)
{
  struct oc_remote_entry got;
  const char *why = "";

  ck_assert_int_eq(trip(5000000000ull, &got, &why), 0);
  set_member(1, "weight/weight_1", "side", UINT64_MAX / 2);
  ck_assert_int_eq(trip(1u << 30, &got, &why), 0);
  set_member(1, "weight/weight_1", "side", 10);
  set_member(2, "report", "report", REMOTE_MEMORY_CAP + 1);
  ck_assert_int_eq(trip(0, &got, &why), 0);
}
END_TEST

START_TEST(no_artifact_is_foreign)
{
  struct oc_remote_entry got;
  const char *why = "";

  set_member(0, "x", "side", 10);
  ck_assert_int_eq(trip(0, &got, &why), 0);
}
END_TEST

/* Every cut and every changed byte is read or refused, never believed wrongly: the key
 * stays the one that was asked for. */
START_TEST(damage_is_survived)
{
  struct oc_buf record;
  struct oc_remote_entry got;
  const char *why;

  oc_buf_init(&record, REMOTE_RECORD_CAP);
  ck_assert_int_eq(remote_record_pack(&entry, &record), 0);
  for (size_t len = 0; len < record.len; len++) {
    oc_arena_clear(&arena);
    oc_arena_init(&arena, 4u << 20);
    ck_assert_int_eq(remote_record_unpack(record.data, len, key, 0, &arena, &got, &why),
                     0);
  }
  for (size_t at = 0; at < record.len; at++) {
    record.data[at] ^= 0x55;
    oc_arena_clear(&arena);
    oc_arena_init(&arena, 4u << 20);
    if (remote_record_unpack(record.data, record.len, key, 0, &arena, &got, &why) == 1)
      ck_assert_mem_eq(got.key, key, OC_SHA256_LEN);
    record.data[at] ^= 0x55;
  }
  oc_buf_clear(&record);
}
END_TEST

int main(void)
{
  Suite *s = suite_create("remote_record");
  TCase *c = tcase_create("record");
  SRunner *r;
  int failed;

  tcase_add_checked_fixture(c, setup, teardown);
  tcase_add_test(c, a_record_comes_back_as_it_was);
  tcase_add_test(c, the_published_field_numbers_are_used);
  tcase_add_loop_test(c, names_that_lead_elsewhere_are_foreign, 0,
                      (int)(sizeof(bad_members) / sizeof(bad_members[0])));
  tcase_add_test(c, another_key_is_foreign);
  tcase_add_test(c, too_large_is_foreign);
  tcase_add_test(c, no_artifact_is_foreign);
  tcase_add_test(c, damage_is_survived);
  suite_add_tcase(s, c);
  r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
