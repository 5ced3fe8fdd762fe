/* Opening a file that must lie beneath a directory, whatever its name says.
 *
 * Links are followed as long as they stay beneath; where the kernel has no openat2 none
 * is followed at all. Thread: any. */
#ifndef OC_BASE_BENEATH_H
#define OC_BASE_BENEATH_H

/* A descriptor (close-on-exec), or -1 with errno: EXDEV or ELOOP when the name leads out.
 * `flags` as for open(2); O_NOFOLLOW forbids links in every part of the name. */
int oc_open_beneath(int dir, const char *name, int flags);

#endif
