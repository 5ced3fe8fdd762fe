/* Scope-bound release of locals, and moving a value out on success. */
#ifndef OC_BASE_CLEANUP_H
#define OC_BASE_CLEANUP_H

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void oc_free_ptr(void *p)
{
  free(*(void **)p);
}
static inline void oc_close_fd(int *fd)
{
  if (*fd >= 0) {
    int saved = errno;
    close(*fd);
    errno = saved;
  }
}
static inline void oc_fclose_ptr(FILE **f)
{
  if (*f)
    fclose(*f);
}
static inline void oc_closedir_ptr(DIR **d)
{
  if (*d)
    closedir(*d);
}

#define auto_free     __attribute__((cleanup(oc_free_ptr)))
#define auto_close    __attribute__((cleanup(oc_close_fd)))   /* int fd, -1 = none */
#define auto_fclose   __attribute__((cleanup(oc_fclose_ptr))) /* FILE * */
#define auto_closedir __attribute__((cleanup(oc_closedir_ptr)))

/* Moves a pointer or a descriptor out of a cleaned-up local. */
#define OC_STEAL(p)                                                                      \
  ({                                                                                     \
    __typeof__(p) stolen_ = (p);                                                         \
    (p) = NULL;                                                                          \
    stolen_;                                                                             \
  })
#define OC_STEAL_FD(fd)                                                                  \
  ({                                                                                     \
    int stolen_ = (fd);                                                                  \
    (fd) = -1;                                                                           \
    stolen_;                                                                             \
  })

#define OC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
