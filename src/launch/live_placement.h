#pragma once

#include "place/scheduler.h"
#include "study/run/run_study.h"

namespace trainyard::launch {

// What is run: the jobs of a placement as they are asked for, and how each is started where it is sent.
struct LiveJobs {
  std::map<std::string, std::size_t> number_of_cell{};  // in the problem
  std::function<void(study::Job& job, const std::vector<std::size_t>& slots)> send_to{};
};

// LivePlacement runs jobs on this machine as a scheduler decides: it waits for arrivals, and decides anew
// whenever a job arrives or ends. A job that is stopped for another one leaves an interrupted record, and
// goes on later as the next attempt.
class LivePlacement : public study::Launcher {
 public:
  // REQUIRES: the problem outlives it.
  LivePlacement(study::Folder folder, const place::Problem& problem,
                std::unique_ptr<place::Scheduler> scheduler, LiveJobs jobs);
  ~LivePlacement() override;

  void settle() override;
  // Other threads may call `stop`; this one calls `finished`.
  void run(std::span<const study::Job> jobs, const Finished& finished, const Stop& stop) override;

 private:
  class Yard;

  study::Folder folder_;
  const place::Problem& problem_;
  std::unique_ptr<place::Scheduler> scheduler_;
  LiveJobs jobs_;
};

}  // namespace trainyard::launch
