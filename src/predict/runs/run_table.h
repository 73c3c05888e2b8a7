#pragma once

#include "backend/kernel.h"
#include "predict/runs/network_work.h"
#include "record/run_record.h"

namespace trainyard::predict {

enum class RunEnd { ok, oom };

// ResourceUse is a run's use of a resource, as GPUAlloc reduces its samples: shares of them in the busier and
// the other of two clusters, and above a limit. Its file has the first under "avg Idle time".
struct ResourceUse {
  std::string resource;
  double burst = 0, idle = 0, peak = 0;
};

// TimedNode is a kernel of a step, as in a record.
struct TimedNode {
  std::string name, op;  // of the node it does
  double seconds = 0;
  double workspace_bytes = -1;  // below 0: the record does not say
};

// MeasuredMemory holds the memory figures of a record of our own engine.
struct MeasuredMemory {
  double peak_bytes = 0;  // of the device where the run has one, else of the process; 0: not known
  double plan_bytes = 0;  // of these what the plan allocates
  std::string backend;    // that made the plan; where the record does not say, the usual one
  int threads = 0;
};

// TableRun is one training run: its request and its measurements.
struct TableRun {
  std::string device, network;  // as they are spelt there
  std::int64_t batch = 0;
  ops::Rule optimizer = ops::Rule::sgd;
  double epochs = 0;
  std::string dataset;
  double images_per_epoch = 0;
  int classes = 0;
  Shape input{};  // of the network; no dimension: as name and data set say
  double seconds = 0;
  bool with_start = true;    // the seconds are of the whole process, not of its steps alone
  double warmup_steps = 10;  // before those of the epochs
  RunEnd end = RunEnd::ok;
  bool end_is_known = false;              // table or record says it, or the time tells it (mark_crashes)
  std::vector<ResourceUse> use;           // empty: the table does not say
  networks::generator::Given parameters;  // of a generated network
  backend::Precision precision = backend::Precision::f32;
  std::vector<TimedNode> kernels;  // of one step; empty: they were not timed
  MeasuredMemory memory;
  // Of the file that `network` names, as it was then; empty: it is no file, or the table does not say.
  std::string network_sha256{};

  double steps() const { return warmup_steps + epochs * images_per_epoch / static_cast<double>(batch); }
};

// Returns the network of a run, by its name and its data set. Throws Error (config) naming the nearest
// network where there is none of this name.
NamedNetwork network_of(const TableRun& run);

// Sets what the data set says and the run does not: images of an epoch and classes; and, above 0, rows and
// columns of images. Throws Error (config) listing the known data sets where another one comes without its
// images.
void complete_by_data_set(TableRun& run, std::int64_t image_size = 0);

// Throws Error (config) listing the known optimizers.
ops::Rule optimizer_named(const std::string& name);
backend::Precision precision_named(const std::string& name);

struct RunTable {
  std::string source;  // file
  std::vector<TableRun> runs;
};

// Reads columns GPU, Model, BatchSize, Optimizer, Epoch, Dataset and Execution Time, in any order, and
// optionally Status (ok or oom), Images of an epoch, Classes and ImageSize, which say more than the data set.
// Rows of one run that differ in other columns (the file has one for each resource) are merged. Runs that
// ended early because memory ran out are recognised by their time (mark_crashes). Errors name file, line and
// the allowed values.
RunTable read_run_csv(const std::filesystem::path& path);

// Takes records of `train` and `bench` that have network, batch and steps, and those of `profile` whose
// program has them; it leaves out others. They are of `device`, or where that is empty of the one that was
// asked for. Their seconds are the median of the timed steps times the number of steps. Of several with timed
// kernels and the same request the fastest is kept.
RunTable table_of_records(const std::vector<record::RunRecord>& records, const std::string& device,
                          const std::string& source);

// Reads a CSV table, a record file, a folder of them, or a file with one record a line (.jsonl, .jsonl.gz).
RunTable read_runs(const std::filesystem::path& path, const std::string& device_of_records = "");

// A run whose time does not grow with its epochs, and that would have needed more than the device's peak
// rate, did not run them. All runs of that network, batch and optimizer on that device then count as out of
// memory, because that stops a configuration every time. Where the time grows, they ran. A run that says
// itself how it ended is believed.
void mark_crashes(std::vector<TableRun>& runs);

// Maps the names in tables and profiles to gpu_util, gpu_memory_util, gpu_memory, cpu_util, host_memory;
// other names stay as they are.
std::string resource_key(std::string_view name);

}  // namespace trainyard::predict
