/* A workload of somebody else: counts, inside the ranges that profgate looks for, and writes how long it
 * took.
 *
 *   counting_bench bench|profile <result.json>
 */
#include <inttypes.h>
#include <nvtx3/nvToolsExt.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { max_repetitions = 5 };

static int64_t now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static volatile uint64_t sink;

/* Counts inside one range of the domain, named by a registered string as nsys's gate requires; returns the
 * time. */
static int64_t run_stage(nvtxDomainHandle_t domain, const char* name, uint64_t count) {
  nvtxEventAttributes_t attributes = {0};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, name);
  const int64_t start_ns = now_ns();
  nvtxDomainRangePushEx(domain, &attributes);
  for (uint64_t i = 0; i < count; ++i) {
    sink += i;
  }
  nvtxDomainRangePop(domain);
  return now_ns() - start_ns;
}

static void write_samples(FILE* file, const char* stage, const int64_t* samples_ns, int count) {
  fprintf(file, "\"%s\": [", stage);
  for (int i = 0; i < count; ++i) {
    fprintf(file, "%s%" PRId64, i == 0 ? "" : ", ", samples_ns[i]);
  }
  fprintf(file, "]");
}

int main(int argc, char** argv) {
  if (argc != 3 || (strcmp(argv[1], "bench") != 0 && strcmp(argv[1], "profile") != 0)) {
    fprintf(stderr, "usage: counting_bench bench|profile <result.json>\n");
    return 2;
  }
  /* Under a profiler each stage is opened exactly once. */
  const int repetitions = strcmp(argv[1], "bench") == 0 ? max_repetitions : 1;
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("LLM");
  int64_t prefill_ns[max_repetitions];
  int64_t decode_ns[max_repetitions];
  for (int i = 0; i < repetitions; ++i) {
    prefill_ns[i] = run_stage(domain, "prefill", 2000000);
    decode_ns[i] = run_stage(domain, "decode_all", 5000000);
  }
  FILE* file = fopen(argv[2], "w");
  if (file == NULL) {
    perror(argv[2]);
    return 2;
  }
  fprintf(file, "{\"schema_version\": 1, \"mode\": \"%s\", \"samples_ns\": {", argv[1]);
  write_samples(file, "prefill", prefill_ns, repetitions);
  fprintf(file, ", ");
  write_samples(file, "decode_all", decode_ns, repetitions);
  fprintf(file, "}}\n");
  return fclose(file) == 0 ? 0 : 2;
}
