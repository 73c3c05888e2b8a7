#pragma once

#include "backend/device.h"
#include "graph/graph.h"
#include "meter/system_files.h"
#include "plan/step_plan.h"
#include "train/session/session.h"

namespace trainyard::train {

// Both throw an Error of kind unsupported, "needs X, this machine has Y", when a step cannot fit into what
// memory is free now: on the host that the process may still take, on another device that nobody holds.

// Before anything is planned: what no plan can do without, which are the state and the inputs.
void check_memory(const SessionOptions& options, const graph::Graph& graph, const backend::Device& device);

// Before anything is allocated: all that the plan takes.
void check_memory(const SessionOptions& options, const plan::StepPlan& plan, const backend::Device& device);

// Processes of one kind that a job starts on this machine, and the memory of each.
struct JobPart {
  std::int64_t processes = 0;
  double bytes_each = 0;
};

// Memory of a process that trains so: its plan, and what this program takes without any.
double worker_bytes(const SessionOptions& options);
// Returns the memory of a process that keeps the parameters for others, as one of so many servers.
double server_bytes(const SessionOptions& options, int servers);
// Returns the memory of a process that has no network.
double process_bytes();

// ProcessLimit holds the most processes that a job may have on this machine, and why no more.
struct ProcessLimit {
  std::int64_t most = 0;
  std::string reason;  // "32 for each of 2 cores"
};
ProcessLimit process_limit(const meter::SystemFiles& files);

// Error (unsupported) when the processes of a job are too many for this machine, or have no room in its
// memory. `who` says in the error what asked for them, `files` where this machine is described.
void check_job(const std::string& who, const std::vector<JobPart>& parts,
               const meter::SystemFiles& files = meter::SystemFiles());

}  // namespace trainyard::train
