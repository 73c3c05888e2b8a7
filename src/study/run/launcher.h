#pragma once

#include <functional>
#include <span>

#include "record/run_record.h"
#include "study/run/folder.h"
#include "study/spec/job.h"

namespace trainyard::study {

// Starts jobs somewhere and says how each ended. Every job given ends in exactly one record, except those
// still in flight when `stop` turns true.
class Launcher {
 public:
  using Finished = std::function<void(const record::RunRecord&)>;
  using Stop = std::function<bool()>;  // asked often: a person pressed Ctrl-C

  virtual ~Launcher() = default;

  // Makes the records that are due for jobs of earlier launchers. Called before a study looks what is
  // missing.
  virtual void settle() {}

  virtual void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) = 0;
};

// Runs jobs on this machine: those of different lanes at once, those without a lane one after the other, as
// two at once would disturb each other's times.
class LocalLauncher : public Launcher {
 public:
  explicit LocalLauncher(Folder folder) : folder_(std::move(folder)) {}

  // Does what runs owe whose process was killed: their clean-up commands, and the clocks as they were.
  void settle() override;

  // `finished` and `stop` may be called by other threads; `finished` by one at a time.
  void run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  Folder folder_;
};

}  // namespace trainyard::study
