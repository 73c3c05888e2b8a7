#pragma once

#include <functional>
#include <span>

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/spec/job.h"

namespace trainyard::study {

// Launcher starts jobs and reports how each ended. Every job ends in exactly one record, except those still
// in flight when `stop` turns true.
class Launcher {
 public:
  using Finished = std::function<void(const record::RunRecord&)>;
  using Stop = std::function<bool()>;  // asked often: a person pressed Ctrl-C

  virtual ~Launcher() = default;

  // Makes the records that are due for jobs of earlier launchers. A study calls it before it determines its
  // missing runs.
  virtual void settle() {}

  virtual void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) = 0;
};

// LocalLauncher runs jobs on this machine: those of different lanes in parallel, those without a lane one
// after the other, because two at once would disturb each other's times.
class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(Folder folder) : folder_(std::move(folder)) {}

  // Completes the duties of runs whose process was killed: it runs their clean-up commands and restores the
  // clocks.
  void settle() override;

  // Other threads may call `finished` and `stop`; only one at a time calls `finished`.
  void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  Folder folder_;
};

}  // namespace trainyard::study
