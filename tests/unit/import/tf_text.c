/* Lines to NodeDef messages. */
#include "tf_text.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

enum { MOST = 1 << 16, WORD = 512 };

static void put_shape(struct oc_buf *out, uint32_t number, const char *dims)
{
  struct oc_buf shape;
  oc_buf_init(&shape, MOST);
  if (*dims == '?')
    oc_wire_put_bool(&shape, 3, true);
  while (*dims && *dims != '?' && *dims != ':') {
    struct oc_buf dim;
    char *end = NULL;
    oc_buf_init(&dim, 64);
    oc_wire_put_i64(&dim, 1, strtoll(dims, &end, 10));
    ck_assert_msg(end != dims, "dims '%s'", dims);
    oc_wire_put_message(&shape, 2, &dim);
    oc_buf_clear(&dim);
    dims = *end == ';' ? end + 1 : end;
  }
  oc_wire_put_message(out, number, &shape);
  oc_buf_clear(&shape);
}

/* "<type>:<dims>:<values>". */
static void put_tensor(struct oc_buf *out, const char *text)
{
  struct oc_buf t;
  char *dims = NULL;
  long type = strtol(text, &dims, 10);
  ck_assert_msg(*dims == ':' && strchr(dims + 1, ':'), "tensor '%s'", text);
  oc_buf_init(&t, MOST);
  oc_wire_put_i64(&t, 1, type);
  put_shape(&t, 2, dims + 1);
  const char *v = strchr(dims + 1, ':') + 1;
  while (*v) {
    char *end = NULL;
    if (type == 1)
      oc_wire_put_f32(&t, 5, strtof(v, &end));
    else
      oc_wire_put_i64(&t, type == 9 ? 10 : 7, strtoll(v, &end, 10));
    v = *end == ';' ? end + 1 : end;
  }
  oc_wire_put_message(out, 8, &t);
  oc_buf_clear(&t);
}

static void put_ints(struct oc_buf *out, const char *text)
{
  struct oc_buf list;
  int64_t v[16];
  size_t n = 0;
  while (*text && n < 16) {
    char *end = NULL;
    v[n++] = strtoll(text, &end, 10);
    text = *end == ';' ? end + 1 : end;
  }
  oc_buf_init(&list, MOST);
  oc_wire_put_packed_i64(&list, 3, v, n);
  oc_wire_put_message(out, 1, &list);
  oc_buf_clear(&list);
}

static void put_value(struct oc_buf *out, const char *text)
{
  struct oc_buf func;
  switch (text[0]) {
  case 's': oc_wire_put_string(out, 2, text + 1); break;
  case 'i': oc_wire_put_i64(out, 3, strtoll(text + 1, NULL, 10)); break;
  case 'f': oc_wire_put_f32(out, 4, strtof(text + 1, NULL)); break;
  case 'b': oc_wire_put_bool(out, 5, text[1] == '1'); break;
  case 't': oc_wire_put_i64(out, 6, strtoll(text + 1, NULL, 10)); break;
  case 'h': put_shape(out, 7, text + 1); break;
  case 'c': put_tensor(out, text + 1); break;
  case 'I': put_ints(out, text + 1); break;
  case 'F':
    oc_buf_init(&func, MOST);
    oc_wire_put_string(&func, 1, text + 1);
    oc_wire_put_message(out, 10, &func);
    oc_buf_clear(&func);
    break;
  default: ck_abort_msg("attribute value '%s'", text);
  }
}

static void put_attr(struct oc_buf *node, char *word)
{
  struct oc_buf entry, value;
  char *eq = strchr(word, '=');
  ck_assert_msg(eq != NULL, "attribute '%s'", word);
  *eq = '\0';
  oc_buf_init(&entry, MOST);
  oc_buf_init(&value, MOST);
  put_value(&value, eq + 1);
  oc_wire_put_string(&entry, 1, word);
  oc_wire_put_message(&entry, 2, &value);
  oc_wire_put_message(node, 5, &entry);
  oc_buf_clear(&value);
  oc_buf_clear(&entry);
}

static void put_inputs(struct oc_buf *node, char *list)
{
  char *save = NULL;
  if (strcmp(list, "-") == 0)
    return;
  for (char *in = strtok_r(list, ",", &save); in; in = strtok_r(NULL, ",", &save))
    oc_wire_put_string(node, 3, in);
}

static void put_line(struct oc_buf *out, char *line)
{
  struct oc_buf node;
  char *save = NULL;
  char *name = strtok_r(line, " ", &save);
  char *op = strtok_r(NULL, " ", &save);
  if (!name)
    return;
  ck_assert_msg(op != NULL, "line '%s'", name);
  oc_buf_init(&node, MOST);
  if (strcmp(name, "version") == 0) {
    oc_wire_put_i64(&node, 1, strtoll(op, NULL, 10));
    oc_wire_put_message(out, 4, &node);
    oc_buf_clear(&node);
    return;
  }
  oc_wire_put_string(&node, 1, name);
  oc_wire_put_string(&node, 2, op);
  char *inputs = strtok_r(NULL, " ", &save);
  if (inputs)
    put_inputs(&node, inputs);
  for (char *w = strtok_r(NULL, " ", &save); w; w = strtok_r(NULL, " ", &save))
    put_attr(&node, w);
  oc_wire_put_message(out, 1, &node);
  oc_buf_clear(&node);
}

void tf_graph_from(const char *text, struct oc_buf *out)
{
  while (*text) {
    char line[WORD];
    size_t n = strcspn(text, "\n");
    ck_assert_msg(n < sizeof(line), "line too long");
    memcpy(line, text, n);
    line[n] = '\0';
    put_line(out, line);
    text += n + (text[n] == '\n');
  }
}

static void put_arg(struct oc_buf *signature, uint32_t number, const char *name)
{
  struct oc_buf arg;
  oc_buf_init(&arg, MOST);
  oc_wire_put_string(&arg, 1, name);
  oc_wire_put_message(signature, number, &arg);
  oc_buf_clear(&arg);
}

void tf_function_into(struct oc_buf *out, const char *name, const char *arg,
                      const char *result, const char *from, const char *nodes)
{
  struct oc_buf library, fn, signature, entry, text;
  struct oc_wire w;
  struct oc_field f;
  oc_buf_init(&library, MOST);
  oc_buf_init(&fn, MOST);
  oc_buf_init(&signature, MOST);
  oc_buf_init(&entry, MOST);
  oc_buf_init(&text, MOST);
  oc_wire_put_string(&signature, 1, name);
  put_arg(&signature, 2, arg);
  put_arg(&signature, 3, result);
  oc_wire_put_message(&fn, 1, &signature);
  tf_graph_from(nodes, &text);
  oc_wire_open(&w, text.data, text.len);
  while (oc_wire_next(&w, &f))
    oc_wire_put_bytes(&fn, 3, f.data, f.len);
  oc_wire_put_string(&entry, 1, result);
  oc_wire_put_string(&entry, 2, from);
  oc_wire_put_message(&fn, 4, &entry);
  oc_wire_put_message(&library, 1, &fn);
  oc_wire_put_message(out, 2, &library);
  oc_buf_clear(&library);
  oc_buf_clear(&fn);
  oc_buf_clear(&signature);
  oc_buf_clear(&entry);
  oc_buf_clear(&text);
}
