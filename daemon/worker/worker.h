/* The worker process as its main() sees it; worker_internal.h explains its three lives.
 */
#ifndef OC_WORKER_WORKER_H
#define OC_WORKER_WORKER_H

/* The descriptor on which the daemon speaks to the zygote. */
#define OC_WORKER_FD 3

/* The zygote: serves the daemon on `fd` until it goes away and returns the exit status.
 * In a forked child it does not return: the child exits. */
int oc_worker_serve(int fd);

#endif
