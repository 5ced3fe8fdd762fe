/* What an order asks for before it is compiled: the further files of its model, the
 * content of folders, and results of other machines. Included by server_internal.h, whose
 * structs it is about. */
#ifndef OC_SERVER_ASK_INTERNAL_H
#define OC_SERVER_ASK_INTERNAL_H

#include "server/server_internal.h"

/* ---- external_names.c */
/* The only framework whose models name further files that are not flags of their own. */
#define OC_FRAMEWORK_ONNX "5"
/* The further files of a model that the cache knows: 1 with names in the order's arena, 0
 * not known, or OC_E_NOMEM. */
int external_names(struct order *o, const uint8_t model[OC_SHA256_LEN],
                   const char *const **ret, size_t *ret_n);

/* ---- folders.c: flags that name a folder */
struct oc_key_folder;
/* One more; `fd` is taken over, also on failure. */
int folders_take(struct order *o, const Omcc__V1__File *m, int fd, struct oc_error *err);
void folders_start(struct order *o);
bool folders_known(const struct order *o);
/* True when one of them gives no key: `text` says why, and the request has a finding. */
bool folders_have_no_key(struct order *o, struct request *r, char *text, size_t size);
/* In the order's arena; 0 or OC_E_NOMEM. */
int folders_for_key(struct order *o, struct oc_key_folder **ret);
/* [any thread] Still what the key says? False: `text` is the path that is not. */
bool folders_unchanged(const struct order *o, char *text, size_t size);
void folders_cancel(struct order *o);
void folders_clear(struct order *o);

/* ---- remote.c: results of other machines */
int remote_open(struct oc_server *s, struct oc_error *err);
void remote_unwatch(struct oc_server *s); /* nothing is taken any more */
void remote_close(struct oc_server *s);   /* may wait for uploads */
/* 1: an outcome will come, 0: there is nobody to ask. `ask`: no bytes are wanted. */
int remote_look(struct order *o, const uint8_t *key, bool ask);
/* The same for flow, which may be told of what is here already. */
int remote_fetch(struct order *o, const uint8_t *key);
/* The entry becomes the order's members; the caller tells flow. 0 or a code. */
int remote_adopt(struct order *o, struct oc_remote_entry *e);
void remote_found(struct order *o, struct oc_remote_outcome *e);
void remote_tell_trouble(struct order *o, enum oc_remote_trouble trouble,
                         const char *why);
void remote_forget(struct order *o);
/* The order has what was found: makes it the result. */
int publish_remote(struct order *o);
/* The store has the order's result: others may have it too. */
void remote_put(struct order *o);

/* ---- remote_ask.c: requests that may start nothing */
/* Nothing is to be compiled for it. */
bool order_only_asks(const struct order *o);
/* Answers such an order: where it is cached, or (not) at all. */
void lookup_end(struct order *o, bool cached, const char *where);
/* True: an outcome will come. */
bool remote_ask(struct order *o);
/* A worker may look which files the model names, for the remote tier's sake. */
bool remote_may_look(const struct order *o);
void remote_take_asked(struct order *o, struct oc_remote_outcome *e);

#endif
