/* bench_answer serve SOCKET FILE
 * bench_answer ask SOCKET TARGET
 *
 * The floor of a hit by hard link: what is left when nothing is looked up. `serve`
 * answers whatever comes on a connection with the descriptor of FILE, until it is
 * stopped; `ask`, a static program like the client, connects, asks, and gives what it
 * receives the name TARGET unless that is its name already. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BYTES 200 /* as long as a request or an answer */

union control {
  struct cmsghdr align;
  char bytes[CMSG_SPACE(sizeof(int))];
};

static int at_socket(const char *path, bool serve)
{
  struct sockaddr_un addr = { .sun_family = AF_UNIX };
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int rc;

  snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
  rc = serve ? bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 4096)
             : connect(fd, (struct sockaddr *)&addr, sizeof(addr));
  return rc ? -1 : fd;
}

static ssize_t say(int to, int fd)
{
  union control control = { .bytes = { 0 } };
  char bytes[BYTES] = { 0 };
  struct iovec iov = { bytes, sizeof(bytes) };
  struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

  if (fd >= 0) {
    msg.msg_control = &control;
    msg.msg_controllen = sizeof(control);
    struct cmsghdr *h = CMSG_FIRSTHDR(&msg);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(h), &fd, sizeof(fd));
  }
  return sendmsg(to, &msg, MSG_NOSIGNAL);
}

/* The descriptor that came, -1 none; `ret_n` as recvmsg() says. */
static int hear(int from, ssize_t *ret_n)
{
  union control control;
  char bytes[BYTES];
  struct iovec iov = { bytes, sizeof(bytes) };
  struct msghdr msg = { .msg_iov = &iov,
                        .msg_iovlen = 1,
                        .msg_control = &control,
                        .msg_controllen = sizeof(control) };
  int fd = -1;

  *ret_n = recvmsg(from, &msg, MSG_CMSG_CLOEXEC);
  if (*ret_n > 0 && CMSG_FIRSTHDR(&msg))
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
  return fd;
}

static int serve(const char *path, const char *file)
{
  int listener = at_socket(path, true), object = open(file, O_RDONLY | O_CLOEXEC);
  int loop = epoll_create1(EPOLL_CLOEXEC);
  struct epoll_event e = { .events = EPOLLIN, .data.fd = listener };

  if (listener < 0 || object < 0 || epoll_ctl(loop, EPOLL_CTL_ADD, listener, &e))
    return 1;
  while (epoll_wait(loop, &e, 1, -1) >= 0) {
    ssize_t n;

    if (e.data.fd == listener) {
      e.data.fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
      e.events = EPOLLIN;
      epoll_ctl(loop, EPOLL_CTL_ADD, e.data.fd, &e);
      continue;
    }
    (void)hear(e.data.fd, &n);
    if (n <= 0 || say(e.data.fd, object) < 0)
      close(e.data.fd);
  }
  return 1;
}

static int ask(const char *path, const char *target)
{
  int peer = at_socket(path, false), fd;
  struct stat own, there;
  ssize_t n;

  if (peer < 0 || say(peer, -1) < 0)
    return 1;
  fd = hear(peer, &n);
  if (fd < 0 || fstat(fd, &own))
    return 1;
  if (!linkat(fd, "", AT_FDCWD, target, AT_EMPTY_PATH))
    return 0;
  return lstat(target, &there) || own.st_ino != there.st_ino;
}

int main(int argc, char **argv)
{
  if (argc == 4 && !strcmp(argv[1], "serve"))
    return serve(argv[2], argv[3]);
  if (argc == 4 && !strcmp(argv[1], "ask"))
    return ask(argv[2], argv[3]);
  fputs("use: bench_answer serve SOCKET FILE | ask SOCKET TARGET\n", stderr);
  return 2;
}
