/* Which further files a model names, without reading the model.
 *
 * The index keeps a list for each model that was compiled here. Entries that came in
 * another way (a rebuilt index, an import, another machine's result) brought none, but
 * each has the names among the parts of its key. A model that was imported in another
 * framework's way says nothing: its key never had the names. */
#include "server/server_internal.h"

#include <string.h>

#include "base/str.h"
#include "key/key.h"

/* Entries of the model that are looked at. */
#define MOST_ENTRIES 8

#define EXTERNAL "external:"

/* The names in a key's parts: 1, 0 when they say nothing, or OC_E_NOMEM. */
static int names_of(const struct oc_cache_candidate *c, struct oc_arena *arena,
                    const char *const **ret, size_t *ret_n)
{
  struct oc_key_parts ps;
  size_t n = 0;

  oc_key_parts_init(&ps, arena);
  if (oc_key_parts_unpack(c->parts, c->parts_len, &ps, NULL))
    return 0;
  const struct oc_key_part *framework = oc_key_find(&ps, "framework");
  if (!framework || !oc_streq(framework->text, OC_FRAMEWORK_ONNX))
    return 0;
  const char **names = OC_NEW_N(arena, const char *, ps.n + 1);
  if (!names)
    return OC_E_NOMEM;
  for (size_t i = 0; i < ps.n; i++)
    if (oc_starts_with(ps.items[i].name, EXTERNAL))
      names[n++] = ps.items[i].name + strlen(EXTERNAL);
  *ret = names;
  *ret_n = n;
  return 1;
}

int external_names(struct order *o, const uint8_t model[OC_SHA256_LEN],
                   const char *const **ret, size_t *ret_n)
{
  struct oc_cache_candidate *c;
  size_t n = 0;
  int found = oc_cache_inputs_get(o->srv->cache, model, &o->arena, ret, ret_n);

  if (found || oc_cache_of_model(o->srv->cache, model, MOST_ENTRIES, &o->arena, &c, &n))
    return found;
  for (size_t i = 0; i < n && !found; i++)
    found = names_of(&c[i], &o->arena, ret, ret_n);
  return found;
}
