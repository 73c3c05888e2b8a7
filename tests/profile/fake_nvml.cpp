// libnvidia-ml.so.1 of one GPU, or FAKE_NVML_GPUS, of which the first has a load that is a square wave and
// the others idle: FAKE_NVML_PERIOD seconds from one rise to the next, of which it is busy a share
// FAKE_NVML_DUTY. fake_gpu.h defines the levels of the wave. A query to the device keeps the caller busy for
// FAKE_NVML_CALL_MICROSECONDS, as a driver does. Clocks that are locked and released are noted in the file
// FAKE_NVML_CLOCKS, a line each; without the file, nobody may do that.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>

#include "profile/fake_gpu.h"

namespace {

using trainyard::fake_gpu::kBusy;
using trainyard::fake_gpu::kIdle;
using trainyard::fake_gpu::Level;

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double began, period = 1, duty = 0.5, call_seconds = 0;
unsigned gpus = 1;
constexpr unsigned kMostGpus = 8;
char handles[kMostGpus];  // a GPU is a place in it

double from_environment(const char* name, double otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atof(text);
}

void take_time() {
  for (const double until = now() + call_seconds; call_seconds > 0 && now() < until;) {
  }
}

const Level& level(const void* device) {
  if (device != &handles[0]) return kIdle;
  const double turn = (now() - began) / period;
  return turn - std::floor(turn) < duty ? kBusy : kIdle;
}

long number_of(const void* device) { return static_cast<const char*>(device) - handles; }

int note_clocks(const void* device, const std::string& what) {
  constexpr int kNoPermission = 4;
  const char* const path = std::getenv("FAKE_NVML_CLOCKS");
  if (path == nullptr) return kNoPermission;
  std::ofstream(path, std::ios::app) << number_of(device) << ' ' << what << '\n';
  return 0;
}

int say(char* text, unsigned length, const char* what) {
  std::snprintf(text, length, "%s", what);
  return 0;
}

struct Memory {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  began = now();
  period = from_environment("FAKE_NVML_PERIOD", 1);
  duty = from_environment("FAKE_NVML_DUTY", 0.5);
  gpus = static_cast<unsigned>(std::fmin(from_environment("FAKE_NVML_GPUS", 1), kMostGpus));
  call_seconds = 1e-6 * from_environment("FAKE_NVML_CALL_MICROSECONDS", 0);
  return 0;
}
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) { return say(text, length, "0.0-fake"); }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = gpus;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  *device = &handles[index];
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned length) { return say(text, length, "Fake GPU"); }
int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
  return say(text, length, ("GPU-fake-" + std::to_string(number_of(device))).c_str());
}
int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  take_time();
  const unsigned long long total = trainyard::fake_gpu::kMemoryBytes, used = level(device).memory_bytes;
  *memory = {total, total - used, used};
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  take_time();
  *mhz = 1500;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  *mhz = 2000;
  return 0;
}
int nvmlDeviceGetDefaultApplicationsClock(void*, int, unsigned* mhz) {
  *mhz = 1410;
  return 0;
}
int nvmlDeviceSetGpuLockedClocks(void* device, unsigned lowest, unsigned highest) {
  return note_clocks(device, std::to_string(lowest) + '-' + std::to_string(highest));
}
int nvmlDeviceResetGpuLockedClocks(void* device) { return note_clocks(device, "released"); }
int nvmlDeviceGetPowerUsage(void* device, unsigned* milliwatts) {
  take_time();
  *milliwatts = level(device).milliwatts;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 400'000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  take_time();
  const double turns = (now() - began) / period, whole = std::floor(turns);
  const double busy = period * (whole * duty + std::fmin(turns - whole, duty));
  *millijoules = static_cast<unsigned long long>(1e9 + busy * kBusy.milliwatts +
                                                 (now() - began - busy) * kIdle.milliwatts);
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* device, Utilisation* rates) {
  take_time();
  *rates = {level(device).busy_percent, level(device).memory_busy_percent};
  return 0;
}
// Those of this process's first child, and of a process that never was.
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, ProcessInfo* infos) {
  take_time();
  unsigned child = 0;
  const std::string own = std::to_string(getpid());
  std::ifstream("/proc/" + own + "/task/" + own + "/children") >> child;
  *count = 2;
  infos[0] = {child, trainyard::fake_gpu::kProcessBytes, 0, 0};
  infos[1] = {4'000'000'000u, 1'000'000, 0, 0};
  return 0;
}
}
