#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "backend/kernel.h"
#include "networks/generator/parameter.h"
#include "ops/update.h"
#include "record/run_record.h"

namespace trainyard::predict {

enum class RunEnd { ok, oom };

// How a run used a resource, as GPUAlloc reduces its samples: shares of them in the busier and the other of
// two clusters, and above a limit. Its file has the first under "avg Idle time".
struct ResourceUse {
  std::string resource;
  double burst = 0, idle = 0, peak = 0;
};

// A kernel of a step, as a record has it.
struct TimedNode {
  std::string name, op;  // of the node it does
  double seconds = 0;
  double workspace_bytes = -1;  // below 0: the record does not say
};

// What a record of our own engine says of memory.
struct MeasuredMemory {
  double peak_bytes = 0;  // of the device where the run has one, else of the process; 0: not known
  double plan_bytes = 0;  // of these what the plan allocates
  std::string backend;    // that made the plan; where the record does not say, the usual one
  int threads = 0;
};

// One training run, by what was asked and what it took.
struct TableRun {
  std::string device, network;  // as they are spelt there
  std::int64_t batch = 0;
  ops::Rule optimizer = ops::Rule::sgd;
  double epochs = 0;
  std::string dataset;
  double images_per_epoch = 0;
  int classes = 0;
  double seconds = 0;
  bool with_start = true;    // the seconds are of the whole process, not of its steps alone
  double warmup_steps = 10;  // before those of the epochs
  RunEnd end = RunEnd::ok;
  std::vector<ResourceUse> use;           // empty: the table does not say
  networks::generator::Given parameters;  // of a generated network
  backend::Precision precision = backend::Precision::f32;
  std::vector<TimedNode> kernels;  // of one step; empty: they were not timed
  MeasuredMemory memory;

  double steps() const { return warmup_steps + epochs * images_per_epoch / static_cast<double>(batch); }
};

// Error (config) lists those there are.
ops::Rule optimizer_named(const std::string& name);
backend::Precision precision_named(const std::string& name);

struct RunTable {
  std::string source;  // file
  std::vector<TableRun> runs;
};

// Columns GPU, Model, BatchSize, Optimizer, Epoch, Dataset and Execution Time, in any order, and perhaps
// Status (ok or oom); rows of one run that differ in other columns (the file has one for each resource) are
// one. Runs that ended early because memory ran out are told by what they took (mark_crashes). Errors name
// file, line and what is allowed.
RunTable read_run_csv(const std::filesystem::path& path);

// Records of `train` and `bench` that say network, batch and steps, and those of `profile` whose program
// does; others are left out. They are of `device`, or where that is empty of the one that was asked for.
// Their seconds are the median of the timed steps, as many times as there are. Of several
// with timed kernels that were asked for the same the fastest is kept.
RunTable table_of_records(const std::vector<record::RunRecord>& records, const std::string& device,
                          const std::string& source);

// A CSV table; or a record file, a folder of them, or a file with one a line (.jsonl, .jsonl.gz).
RunTable read_runs(const std::filesystem::path& path, const std::string& device_of_records = "");

// Where a run's time does not grow with its epochs, it did not run them. All runs of that network, batch and
// optimizer on that device are then taken for out of memory, which is what stops a configuration every time.
void mark_crashes(std::vector<TableRun>& runs);

// gpu_util, gpu_memory_util, gpu_memory, cpu_util, host_memory for what tables and profiles call them; others
// as they are.
std::string resource_key(std::string_view name);

}  // namespace trainyard::predict
