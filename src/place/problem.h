#pragma once

#include <string>
#include <vector>

#include "base/device_spec.h"
#include "predict/runs/device.h"
#include "predict/runs/run_table.h"

namespace trainyard::place {

// A job on one kind of device.
struct Option {
  double seconds = 0;       // as predicted: what policies go by
  double true_seconds = 0;  // as it will turn out: what the simulator goes by
  bool fits = true;         // in memory, as predicted: a hard rule
  bool truly_fits = true;
  double need_bytes = 0;                  // as predicted; 0: not known
  std::vector<predict::ResourceUse> use;  // for the scores of GPUAlloc; empty: not known
};

struct Job {
  std::string name;
  double arrival_seconds = 0;
  std::vector<Option> options;  // one for each kind of device
};

// A device that runs one job at a time.
struct Slot {
  std::string name;
  std::size_t kind = 0;  // of device
  // For jobs that are really started: the device that `train` is given, and what a cluster is asked for.
  DeviceSpec run_device;
  std::string partition{}, gpu_type{}, constraint{};
};

struct Problem {
  std::vector<predict::DeviceSheet> kinds;
  std::vector<Slot> slots;
  std::vector<Job> jobs;
};

// Seconds on the fastest kind that a job fits on.
double shortest_seconds(const Problem& problem, const Job& job);

// Puts the jobs into a random order.
void shuffle_jobs(Problem& problem, std::uint64_t seed);

// Multiplies predicted times by a factor whose logarithm has this deviation, one for each job and kind.
void inject_error(Problem& problem, double deviation, std::uint64_t seed);

}  // namespace trainyard::place
