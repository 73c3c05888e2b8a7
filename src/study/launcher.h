#pragma once

#include <functional>
#include <span>

#include "record/run_record.h"
#include "study/job.h"

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

}  // namespace trainyard::study
