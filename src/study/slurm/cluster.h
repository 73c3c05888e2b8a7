#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "study/slurm/state.h"

namespace trainyard::study::slurm {

// Cluster answers queries to this machine's Slurm.
class Cluster {
 public:
  // Reads its configuration. Throws Error (peer) when no controller answers.
  Cluster();

  int max_array_tasks() const { return max_array_tasks_; }

  // Returns states of an array's tasks, by task; those that Slurm has forgotten everywhere are missing. They
  // come from scontrol while it remembers, then from the file of completed jobs, then from the accounting.
  // Returns nothing at all when the controller does not answer: then ask later.
  std::optional<std::map<int, TaskState>> states(std::int64_t job_id, std::span<const int> tasks) const;

  // Returns the job of that name, running, waiting or ended; 0: none. Throws Error (peer) when no controller
  // answers.
  std::int64_t find_job(const std::string& name) const;

 private:
  int max_array_tasks_ = 1000;
  std::filesystem::path completed_jobs_;  // of jobcomp/filetxt; empty: none, or not readable here
  bool accounting_ = false;
};

}  // namespace trainyard::study::slurm
