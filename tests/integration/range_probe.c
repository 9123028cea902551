/* A program that knows nothing of profgate and does with NVTX what programs do:
 *   range_probe ranges <count> <name>             push and pop, in the default domain
 *   range_probe start-end <count> <name>          start and end, the end on another thread
 *   range_probe threads <threads> <count> <name>  the same ranges on several threads at once
 *   range_probe fork <children> <count> <name>    in children that go on without exec
 *   range_probe spawn <children> <count> <name>   in children that are programs of their own
 *   range_probe names <name>…                     one range of each name
 *   range_probe long-name <characters>            one range with such a name
 *   range_probe open <name>                       one range that ends, then one that never does
 *   range_probe none
 *   range_probe server <port> [<manners>]         a range "request" for each connection, until it is stopped;
 *       manners: polite (ends on SIGINT with code 0), deaf (only SIGKILL ends it), forking (polite, with a
 * worker that ignores SIGINT and SIGTERM), mute (never listens), dying (fails at once), fragile (dies by a
 * request), slow (polite, and takes four times as long for a request: the rest in a range "lookup")
 *   range_probe client <port> <count>             connects that often, each time until the server hangs up
 * At its end it prints how often and how long its ranges were open by its own clock: "ranges 3 in
 * 600123 ns".
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Work, so that a range lasts longer than a clock's grain. */
static void work_until(long long end_ns) {
  while (now_ns() < end_ns) {
  }
}

struct tally {
  long count;
  long long open_ns;
};

static struct tally push_and_pop(long count, const char* name) {
  struct tally done = {count, 0};
  const long long work_ns = count > 10000 ? 0 : 100000;
  for (long i = 0; i < count; ++i) {
    const long long begin_ns = now_ns();
    nvtxRangePushA(name);
    work_until(begin_ns + work_ns);
    nvtxRangePop();
    done.open_ns += now_ns() - begin_ns;
  }
  return done;
}

/* A request of a server that has become slower, and by what. */
static struct tally look_up_and_answer(void) {
  const long long begin_ns = now_ns();
  nvtxRangePushA("request");
  work_until(now_ns() + 100000);
  nvtxRangePushA("lookup");
  work_until(now_ns() + 300000);
  nvtxRangePop();
  nvtxRangePop();
  const struct tally done = {1, now_ns() - begin_ns};
  return done;
}

static void* end_elsewhere(void* id) {
  nvtxRangeEnd(*(const nvtxRangeId_t*)id);
  return NULL;
}

static struct tally start_and_end(long count, const char* name) {
  struct tally done = {count, 0};
  for (long i = 0; i < count; ++i) {
    const long long begin_ns = now_ns();
    nvtxRangeId_t id = nvtxRangeStartA(name);
    work_until(begin_ns + 100000);
    pthread_t other;
    pthread_create(&other, NULL, end_elsewhere, &id);
    pthread_join(other, NULL);
    done.open_ns += now_ns() - begin_ns;
  }
  return done;
}

struct share {
  pthread_t thread;
  long count;
  const char* name;
  struct tally done;
};

static void* run_share(void* given) {
  struct share* share = given;
  share->done = push_and_pop(share->count, share->name);
  return NULL;
}

static struct tally on_threads(long threads, long count, const char* name) {
  struct share* shares = calloc((size_t)threads, sizeof *shares);
  struct tally all = {0, 0};
  for (long i = 0; i < threads; ++i) {
    shares[i].count = count;
    shares[i].name = name;
    pthread_create(&shares[i].thread, NULL, run_share, &shares[i]);
  }
  for (long i = 0; i < threads; ++i) {
    pthread_join(shares[i].thread, NULL);
    all.count += shares[i].done.count;
    all.open_ns += shares[i].done.open_ns;
  }
  free(shares);
  return all;
}

static int say(struct tally done) {
  printf("ranges %ld in %lld ns\n", done.count, done.open_ns);
  return 0;
}

/* Each child says its own share. */
static int in_children(long children, char** words, int forks) {
  for (long i = 0; i < children; ++i) {
    pid_t pid = 0;
    if (forks) {
      pid = fork();
      if (pid == 0) exit(say(push_and_pop(atol(words[0]), words[1])));
    } else {
      char* argv[] = {"range_probe", "ranges", words[0], words[1], NULL};
      if (posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ) != 0) return 1;
    }
  }
  int failures = 0;
  for (int status = 0; wait(&status) > 0;) failures += status != 0;
  return failures;
}

static struct sockaddr_in loopback(const char* port) {
  struct sockaddr_in address;
  memset(&address, 0, sizeof address);
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)atoi(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

static volatile sig_atomic_t g_is_asked_to_end = 0;

static void ask_to_end(int signal) {
  (void)signal;
  g_is_asked_to_end = 1;
}

static int serve(const char* port, const char* manners) {
  struct tally served = {0, 0};
  if (strcmp(manners, "dying") == 0) {
    fprintf(stderr, "range_probe: no model at this path\n");
    return 3;
  }
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = ask_to_end; /* without SA_RESTART: accept returns */
  const int is_slow = strcmp(manners, "slow") == 0;
  if (is_slow || strcmp(manners, "polite") == 0 || strcmp(manners, "forking") == 0)
    sigaction(SIGINT, &action, NULL);
  if (strcmp(manners, "deaf") == 0) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
  }
  if (strcmp(manners, "forking") == 0 && fork() == 0) {
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    for (;;) pause();
  }
  if (strcmp(manners, "mute") == 0)
    for (;;) pause();
  const int listening = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  struct sockaddr_in address = loopback(port);
  if (bind(listening, (struct sockaddr*)&address, sizeof address) != 0 || listen(listening, 16) != 0) {
    perror("range_probe: port");
    return 3;
  }
  printf("listening on port %s\n", port);
  fflush(stdout);
  while (!g_is_asked_to_end) {
    const int connection = accept(listening, NULL, NULL);
    if (connection < 0) continue;
    char request[8];
    /* One who only looks whether the port is open says nothing. */
    if (read(connection, request, sizeof request) > 0) {
      if (strcmp(manners, "fragile") == 0) {
        /* It hangs up before its port is closed, as those that the kernel takes down may: one more gets in.
         */
        close(connection);
        struct pollfd next = {listening, POLLIN, 0};
        poll(&next, 1, -1);
        abort();
      }
      const struct tally one = is_slow ? look_up_and_answer() : push_and_pop(1, "request");
      served.count += one.count;
      served.open_ns += one.open_ns;
    }
    close(connection);
  }
  return say(served);
}

static int ask(const char* port, long count) {
  for (long i = 0; i < count; ++i) {
    const int connection = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = loopback(port);
    char answer[8];
    if (connect(connection, (struct sockaddr*)&address, sizeof address) != 0 ||
        write(connection, "ask\n", 4) != 4) {
      perror("range_probe: server");
      return 4;
    }
    ssize_t got = 0;
    while ((got = read(connection, answer, sizeof answer)) > 0) {
    }
    if (got < 0) {
      perror("range_probe: answer");
      return 4;
    }
    close(connection);
  }
  printf("requests %ld\n", count);
  return 0;
}

static int one_of_length(size_t characters) {
  char* name = malloc(characters + 1);
  memset(name, 'x', characters);
  name[characters] = '\0';
  const int result = say(push_and_pop(1, name));
  free(name);
  return result;
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (argc == 4 && strcmp(what, "ranges") == 0) return say(push_and_pop(atol(argv[2]), argv[3]));
  if (argc == 4 && strcmp(what, "start-end") == 0) return say(start_and_end(atol(argv[2]), argv[3]));
  if (argc == 5 && strcmp(what, "threads") == 0)
    return say(on_threads(atol(argv[2]), atol(argv[3]), argv[4]));
  if (argc == 5 && strcmp(what, "fork") == 0) return in_children(atol(argv[2]), argv + 3, 1);
  if (argc == 5 && strcmp(what, "spawn") == 0) return in_children(atol(argv[2]), argv + 3, 0);
  if (argc >= 3 && strcmp(what, "names") == 0) {
    struct tally all = {0, 0};
    for (int i = 2; i < argc; ++i) {
      const struct tally one = push_and_pop(1, argv[i]);
      all.count += one.count;
      all.open_ns += one.open_ns;
    }
    return say(all);
  }
  if (argc == 3 && strcmp(what, "long-name") == 0) return one_of_length((size_t)atol(argv[2]));
  if (argc == 3 && strcmp(what, "open") == 0) {
    const struct tally closed = push_and_pop(1, argv[2]);
    nvtxRangePushA(argv[2]);
    return say(closed);
  }
  if (argc == 2 && strcmp(what, "none") == 0) return 0;
  if (argc >= 3 && strcmp(what, "server") == 0) return serve(argv[2], argc > 3 ? argv[3] : "");
  if (argc == 4 && strcmp(what, "client") == 0) return ask(argv[2], atol(argv[3]));
  fprintf(stderr, "range_probe: the words at the top of range_probe.c\n");
  return 2;
}
