/* omcc-runner: one run of an installed `atc`, in a directory of its own.
 *
 * The daemon speaks frames on descriptor 3: Run comes in (with the files as descriptors),
 * RunOutput and RunProgress go out while the compiler works, RunDone with the members
 * ends it. On Stop, or when the daemon goes away, the compiler and everything it started
 * are gone within two seconds, and so is the runner. */
#ifndef OC_RUNNER_RUNNER_H
#define OC_RUNNER_RUNNER_H

/* Serves one run on `fd` (taken over). Returns the exit status of the program: 0 also
 * when the compiler failed, 1 when the protocol broke. */
int oc_runner_serve(int fd);

#endif
