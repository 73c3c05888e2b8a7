#pragma once

#include "base/device_spec.h"
#include "predict/analytic/predictor.h"
#include "predict/runs/device.h"
#include "predict/runs/run_table.h"

namespace trainyard::place {

// An option is a job on one kind of device.
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
  std::string user{};           // whose it is
  int devices = 1;              // of one kind that it takes at once; the seconds of its options are with them
  bool one_node = false;        // these are in one machine
};

// A Slot is a device that runs one job at a time.
struct Slot {
  std::string name;
  std::size_t kind = 0;  // of device
  std::string node{};    // the machine that it is in; those without a name are in one
  // For jobs that are really started: the device that `train` is given, and what a cluster is asked for.
  DeviceSpec run_device;
  std::string partition{}, gpu_type{}, constraint{};
};

struct Problem {
  std::vector<predict::DeviceSheet> kinds;
  std::vector<Slot> slots;
  std::vector<Job> jobs;
  double preemption_seconds = 0;  // that a job loses when it is stopped and started again later
};

// Returns the seconds on the fastest kind that a job fits on; infinite where it fits on none.
double shortest_seconds(const Problem& problem, const Job& job);
// Returns why a job that fits on no kind can be placed nowhere, one clause.
std::string why_nowhere(const Job& job);

// Puts the jobs into a random order.
void shuffle_jobs(Problem& problem, std::uint64_t seed);

// Multiplies predicted times by a factor whose logarithm has this deviation, one for each job and kind.
void inject_error(Problem& problem, double deviation, std::uint64_t seed);

// A JobRequest is a job as it is asked for, and as it was measured where that is known.
struct JobRequest {
  predict::TableRun run;  // without a device
  std::string name;
  double arrival_seconds = 0;
  std::vector<predict::TableRun> measured;  // one for each device of a table
  std::string user{};
  // It computes a share of each batch on each device, with this share of the speed that is left when
  // gradients are exchanged.
  int devices = 1;
  double scaling = 0;
  bool one_node = false;
};

// docs/formats/jobs.md; errors name file and line. Jobs of a table are in its order.
std::vector<JobRequest> read_jobs(const std::filesystem::path& path);

struct Cluster {
  std::vector<predict::DeviceSheet> kinds;
  std::vector<Slot> slots;
  double preemption_seconds = 60;
};

// docs/formats/cluster.md. Devices that the file does not describe are looked for in `known`.
Cluster read_cluster(const std::filesystem::path& path, const std::vector<predict::DeviceSheet>& known);

// With a model times and memory are predicted, and what was measured is how it turns out; without one what
// was measured is both. Error (config) names a job of which nothing is known.
Problem make_problem(const std::vector<JobRequest>& jobs, const Cluster& cluster, predict::Predictor* model);

}  // namespace trainyard::place
