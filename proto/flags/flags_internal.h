/* What the files of this module share. */
#ifndef OC_FLAGS_INTERNAL_H
#define OC_FLAGS_INTERNAL_H

#include "flags/flags.h"

/* Made from schema/flags.yaml. */
extern const struct oc_flag_info oc_flag_rows[];
extern const size_t oc_flag_n_rows;

enum oc_flag_match { OC_FLAG_NO_MATCH, OC_FLAG_ONE_MATCH, OC_FLAG_SEVERAL };

/* Resolves a name as it was written (dashes already gone, '-' already '_'): exact, else
 * an unambiguous prefix of one of ATC's flags. With several candidates their names,
 * joined by
 * ", ", are written to `ret_names` (room bytes). */
enum oc_flag_match oc_flag_resolve(const char *name, const struct oc_flag_info **ret,
                                   char *ret_names, size_t room);
/* One of our own flags by its full name. */
const struct oc_flag_info *oc_flag_find_own(const char *name);

/* Replaces or adds as the flag's rule says. */
int oc_flags_put(struct oc_flags *f, const struct oc_flag *flag);

/* Traps of the shell in one value; adds findings and returns true when one was found. */
bool oc_flag_trap(const struct oc_flag *flag, struct oc_findings *findings);
/* The value without surrounding quotes, and without any blank or quote when `blanks`.
 * NULL when memory is short. */
const char *oc_flag_clean(const char *value, bool blanks, struct oc_arena *arena);
/* True when every byte is a blank of some kind (and there is one). */
bool oc_flag_only_blanks(const char *s);

/* Type of the value: digits for int, a bool word for bool. */
void oc_flag_check_type(const struct oc_flag *flag, struct oc_findings *findings);
/* 1 true, 0 false, -1 neither; any case, the words that the vendor's parser takes. */
int oc_flag_bool_word(const char *s);

void oc_flags_rules(const struct oc_flags *f, bool need_output,
                    struct oc_findings *findings);

#endif
