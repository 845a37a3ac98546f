// A libnvidia-ml.so for the tests: the GPUs that the file $(its own path).gpus describes, one a line:
//   INDEX MINOR UUID MEMORY_MIB NAME            a whole GPU
//   mig INDEX GI CI UUID MEMORY_MIB NAME        a part of GPU INDEX
//   use INDEX UTILIZATION USED_MIB MILLIWATTS MILLIJOULES CLOCK
//   near INDEX MASK                             the CPUs near it, in hexadecimal
//   gpm INDEX METRIC=VALUE …                    it has GPM (Hopper on), with these metrics by nvml.h's numbers, and no others.
//                                               A GPU instance of it has the half of each
//   pcie INDEX RECEIVED SENT                    KiB/s of nvmlDeviceGetPcieThroughput
//   nvlink INDEX LINKS RECEIVED SENT            the links, and totals of KiB
//   lost INDEX                                  every question about it fails
//   init CODE                                   the driver cannot be used
//   hang                                        the driver does not answer
// The file $(its own path).sampled, where there is one, gets a line "INDEX" for each sample of GPM that was taken.
// With -DOLD_LIBRARY it has no GPM, and tells no rates.
// The file is read again at each question, so that a test can change what the GPUs do.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMost = 16, kSuccess = 0, kNotSupported = 3, kNotFound = 6, kLost = 15 };

struct Gpu {
  int present, lost, parts, whole;  // whole: -1, or the index of the GPU that it is a part of
  unsigned minor, gi, ci, utilization, milliwatts, clock;
  unsigned long long memory, used, energy, near;
  int has_gpm, has_pcie, links, has_metric[64];  // links: -1: not told
  double metric[64];
  unsigned pcie[2];
  unsigned long long nvlink[2];
  char uuid[96], name[96];
  struct Gpu* part[kMost];
};
static struct Gpu gpus[kMost], all_parts[kMost * kMost];
static int init_code, count;

static void read_gpus(void) {
  Dl_info self;
  char path[4096], line[512];
  dladdr((void*)read_gpus, &self);
  snprintf(path, sizeof path, "%s.gpus", self.dli_fname);
  FILE* file = fopen(path, "r");
  int parts = 0;
  memset(gpus, 0, sizeof gpus);
  count = init_code = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    int i;
    struct Gpu one = {.present = 1, .whole = -1, .links = -1};
    if (strncmp(line, "hang", 4) == 0) {
      pause();
    } else if (sscanf(line, "init %d", &init_code) == 1) {
    } else if (sscanf(line, "near %d %llx", &i, &one.near) == 2) {
      gpus[i].near = one.near;
    } else if (sscanf(line, "lost %d", &i) == 1) {
      gpus[i].lost = 1;
    } else if (sscanf(line, "use %d", &i) == 1) {
      struct Gpu* gpu = &gpus[i];
      sscanf(line, "use %d %u %llu %u %llu %u", &i, &gpu->utilization, &gpu->used, &gpu->milliwatts, &gpu->energy,
             &gpu->clock);
    } else if (sscanf(line, "gpm %d", &i) == 1) {
      gpus[i].has_gpm = 1;
      for (char* word = strtok(line + 4, " \n"); word != NULL; word = strtok(NULL, " \n")) {
        int metric;
        double value;
        if (sscanf(word, "%d=%lf", &metric, &value) != 2) continue;
        gpus[i].has_metric[metric] = 1;
        gpus[i].metric[metric] = value;
      }
    } else if (sscanf(line, "pcie %d %u %u", &i, &one.pcie[0], &one.pcie[1]) == 3) {
      gpus[i].has_pcie = 1;
      memcpy(gpus[i].pcie, one.pcie, sizeof one.pcie);
    } else if (sscanf(line, "nvlink %d %d %llu %llu", &i, &one.links, &one.nvlink[0], &one.nvlink[1]) == 4) {
      gpus[i].links = one.links;
      memcpy(gpus[i].nvlink, one.nvlink, sizeof one.nvlink);
    } else if (sscanf(line, "mig %d %u %u %95s %llu %95[^\n]", &i, &one.gi, &one.ci, one.uuid, &one.memory,
                      one.name) == 6) {
      one.whole = i;
      all_parts[parts] = one;
      gpus[i].part[gpus[i].parts++] = &all_parts[parts++];
    } else if (sscanf(line, "%d %u %95s %llu %95[^\n]", &i, &one.minor, one.uuid, &one.memory, one.name) == 5) {
      gpus[i] = one;
      if (i >= count) count = i + 1;
    }
  }
  if (file != NULL) fclose(file);
}

static struct Gpu* ask(void* device) {
  read_gpus();
  return device;
}
#define ASK(device)               \
  struct Gpu* gpu = ask(device);  \
  struct Gpu* whole = gpu->whole < 0 ? gpu : &gpus[gpu->whole]; \
  if (whole->lost) return kLost

int nvmlInit_v2(void) { read_gpus(); return init_code; }
int nvmlShutdown(void) { return kSuccess; }
const char* nvmlErrorString(int code) {
  return code == kLost ? "GPU is lost" : code == 18 ? "Driver/library version mismatch" : "Unknown Error";
}
int nvmlDeviceGetCount_v2(unsigned* number) { read_gpus(); *number = (unsigned)count; return kSuccess; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  read_gpus();
  if (index >= kMost || !gpus[index].present) return kNotFound;
  if (gpus[index].lost) return kLost;
  *device = &gpus[index];
  return kSuccess;
}
int nvmlDeviceGetName(void* device, char* text, unsigned size) { ASK(device); snprintf(text, size, "%s", gpu->name); return kSuccess; }
int nvmlDeviceGetUUID(void* device, char* text, unsigned size) { ASK(device); snprintf(text, size, "%s", gpu->uuid); return kSuccess; }
int nvmlDeviceGetMinorNumber(void* device, unsigned* minor) { ASK(device); *minor = gpu->minor; return kSuccess; }
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* memory) {
  ASK(device);
  memory[0] = gpu->memory << 20;
  memory[2] = gpu->used << 20;
  memory[1] = memory[0] - memory[2];
  return kSuccess;
}
int nvmlDeviceGetCpuAffinity(void* device, unsigned words, unsigned long* cpus) {
  ASK(device);
  if (gpu->near == 0) return kNotSupported;
  memset(cpus, 0, words * sizeof *cpus);
  cpus[0] = gpu->near;
  return kSuccess;
}
int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  ASK(device);
  *current = *pending = gpu->parts > 0;
  return kSuccess;
}
int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* most) { ASK(device); *most = 7; return kSuccess; }
int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** part) {
  ASK(device);
  if ((int)index >= gpu->parts) return kNotFound;
  *part = gpu->part[index];
  return kSuccess;
}
int nvmlDeviceGetGpuInstanceId(void* device, unsigned* id) { ASK(device); *id = gpu->gi; return kSuccess; }
int nvmlDeviceGetComputeInstanceId(void* device, unsigned* id) { ASK(device); *id = gpu->ci; return kSuccess; }
int nvmlDeviceGetUtilizationRates(void* device, unsigned* rates) {
  ASK(device);
  if (gpu->whole >= 0) return kNotSupported;
  rates[0] = gpu->utilization;
  rates[1] = gpu->utilization / 2;
  return kSuccess;
}
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) { ASK(device); *milliwatts = gpu->milliwatts; return kSuccess; }
int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) { ASK(device); *millijoules = gpu->energy; return kSuccess; }
int nvmlDeviceGetClockInfo(void* device, unsigned kind, unsigned* mhz) { ASK(device); (void)kind; *mhz = gpu->clock; return kSuccess; }

#ifndef OLD_LIBRARY
// GPM: two samples are compared.
struct Sample {
  struct Gpu* gpu;
  int of_instance;
  unsigned long long number;  // 0: nothing was sampled into it
};
struct Metric {
  unsigned id;
  int code;
  double value;
  const char* texts[3];
};
struct Comparison {
  unsigned version, count;
  struct Sample *before, *after;
  struct Metric metrics[98];
};
enum { kInvalidArgument = 2 };

int nvmlGpmQueryDeviceSupport(void* device, unsigned* support) {
  ASK(device);
  if (support[0] != 1) return kInvalidArgument;
  support[1] = (unsigned)gpu->has_gpm;
  return kSuccess;
}
int nvmlGpmSampleAlloc(struct Sample** sample) { *sample = calloc(1, sizeof **sample); return kSuccess; }
int nvmlGpmSampleFree(struct Sample* sample) { free(sample); return kSuccess; }
static int take(struct Gpu* gpu, struct Sample* sample, int of_instance) {
  static unsigned long long number;
  if (!gpu->has_gpm) return kNotSupported;
  *sample = (struct Sample){gpu, of_instance, ++number};
  Dl_info self;
  char path[4096];
  dladdr((void*)read_gpus, &self);
  snprintf(path, sizeof path, "%s.sampled", self.dli_fname);
  const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file >= 0) {
    dprintf(file, "%d\n", (int)(gpu - gpus));
    close(file);
  }
  return kSuccess;
}
int nvmlGpmSampleGet(void* device, struct Sample* sample) { ASK(device); return take(gpu, sample, 0); }
int nvmlGpmMigSampleGet(void* device, unsigned instance, struct Sample* sample) {
  ASK(device);
  for (int i = 0; i < gpu->parts; ++i)
    if (gpu->part[i]->gi == instance) return take(gpu, sample, 1);
  return kNotFound;
}
int nvmlGpmMetricsGet(struct Comparison* asked) {
  const struct Sample *before = asked->before, *after = asked->after;
  if (asked->version != 1 || before->number == 0 || after->number <= before->number || before->gpu != after->gpu ||
      before->of_instance != after->of_instance)
    return kInvalidArgument;
  read_gpus();
  for (unsigned i = 0; i < asked->count; ++i) {
    struct Metric* metric = &asked->metrics[i];
    metric->code = metric->id < 64 && after->gpu->has_metric[metric->id] ? kSuccess : kNotSupported;
    if (metric->code == kSuccess) metric->value = after->gpu->metric[metric->id] / (1 + after->of_instance);
  }
  return kSuccess;
}

int nvmlDeviceGetPcieThroughput(void* device, unsigned counter, unsigned* kib) {
  ASK(device);
  if (!gpu->has_pcie) return kNotSupported;
  *kib = gpu->pcie[counter == 0 ? 1 : 0];
  return kSuccess;
}

struct Field {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int code;
  unsigned long long value;
};
int nvmlDeviceGetFieldValues(void* device, int number, struct Field* fields) {
  ASK(device);
  for (int i = 0; i < number; ++i) {
    struct Field* field = &fields[i];
    const int total = field->field == 139 ? 0 : field->field == 138 ? 1 : -1;  // received, sent
    field->code = gpu->links < 0 || (field->field != 91 && (total < 0 || field->scope != 0xffffffff || gpu->links == 0))
                      ? kNotSupported : kSuccess;
    field->type = total < 0 ? 1 : 3;
    if (field->code == kSuccess) field->value = total < 0 ? (unsigned long long)gpu->links : gpu->nvlink[total];
  }
  return kSuccess;
}
#endif
