#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "place/problem.h"
#include "predict/analytic/predictor.h"

namespace trainyard::place {

// A job as it is asked for, and as it was measured where that is known.
struct JobRequest {
  predict::TableRun run;  // without a device
  std::string name;
  double arrival_seconds = 0;
  std::vector<predict::TableRun> measured;  // one for each device of a table
};

// docs/formats/jobs.md; errors name file and line. Jobs of a table are in its order.
std::vector<JobRequest> read_jobs(const std::filesystem::path& path);

struct Cluster {
  std::vector<predict::DeviceSheet> kinds;
  std::vector<Slot> slots;
};

// docs/formats/cluster.md. Devices that the file does not describe are looked for in `known`.
Cluster read_cluster(const std::filesystem::path& path, const std::vector<predict::DeviceSheet>& known);

// With a model times and memory are predicted, and what was measured is how it turns out; without one what
// was measured is both. Error (config) names a job of which nothing is known.
Problem make_problem(const std::vector<JobRequest>& jobs, const Cluster& cluster, predict::Predictor* model);

}  // namespace trainyard::place
