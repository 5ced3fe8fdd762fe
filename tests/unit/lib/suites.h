/* The suites of this program and the folder that each test gets. */
#ifndef OC_TEST_LIB_SUITES_H
#define OC_TEST_LIB_SUITES_H

#include <check.h>
#include <stddef.h>

TCase *files_cases(void);
TCase *place_cases(void);
TCase *where_cases(void);
TCase *session_cases(void);

/* A new empty folder is the current directory; removed afterwards with all it holds. */
void folder_enter(void);
void folder_leave(void);
void write_file(const char *name, const void *bytes, size_t len);
/* Names in `dir`, without "." and "..". */
size_t count_names(const char *dir);

#endif
