// A libnvidia-ml.so for the tests: the GPUs that the file $(its own path).gpus describes, one a line:
//   INDEX MINOR UUID MEMORY_MIB NAME            a whole GPU
//   mig INDEX GI CI UUID MEMORY_MIB NAME        a part of GPU INDEX
//   use INDEX UTILIZATION USED_MIB MILLIWATTS MILLIJOULES CLOCK
//   near INDEX MASK                             the CPUs near it, in hexadecimal
//   lost INDEX                                  every question about it fails
//   init CODE                                   the driver cannot be used
//   hang                                        the driver does not answer
// The file is read again at each question, so that a test can change what the GPUs do.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMost = 16, kSuccess = 0, kNotSupported = 3, kNotFound = 6, kLost = 15 };

struct Gpu {
  int present, lost, parts, whole;  // whole: -1, or the index of the GPU that it is a part of
  unsigned minor, gi, ci, utilization, milliwatts, clock;
  unsigned long long memory, used, energy, near;
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
    struct Gpu one = {.present = 1, .whole = -1};
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
