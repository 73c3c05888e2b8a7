#include "study/run/launcher.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "meter/clock_pin.h"
#include "study/run/supervise.h"

namespace trainyard::study {
namespace {

struct Lane {
  std::string name;
  std::vector<const Job*> jobs;
  std::exception_ptr failure;
};

std::vector<Lane> lanes_of(std::span<const Job> jobs) {
  std::vector<Lane> lanes;
  for (const Job& job : jobs) {
    auto lane =
        std::find_if(lanes.begin(), lanes.end(), [&](const Lane& one) { return one.name == job.lane; });
    if (lane == lanes.end()) lane = lanes.insert(lane, {job.lane, {}, nullptr});
    lane->jobs.push_back(&job);
  }
  return lanes;
}

}  // namespace

void LocalLauncher::settle() {
  meter::put_back_clocks(folder_.logs());
  run_owed_cleanups(folder_);
}

void LocalLauncher::run(std::span<const Job> jobs, const Finished& finished, const Stop& stop) {
  std::vector<Lane> lanes = lanes_of(jobs);
  std::mutex one_at_a_time;
  const auto run_lane = [&](Lane& lane) {
    try {
      for (const Job* job : lane.jobs) {
        if (stop()) return;
        const record::RunRecord run = supervise(*job, folder_, stop);
        const std::scoped_lock lock(one_at_a_time);
        finished(run);
      }
    } catch (...) {
      lane.failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < lanes.size(); ++i) threads.emplace_back(run_lane, std::ref(lanes[i]));
    if (!lanes.empty()) run_lane(lanes.front());
  }
  for (const Lane& lane : lanes)
    if (lane.failure) std::rethrow_exception(lane.failure);
}

}  // namespace trainyard::study
