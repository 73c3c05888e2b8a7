#include "launch/live_placement.h"

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "base/threads.h"
#include "study/run/supervise.h"

namespace trainyard::launch {

namespace {

// Arrivals count from the first start of a placement, also when it goes on later.
double first_start(const study::Folder& folder) {
  const std::filesystem::path path = folder.path / "placement.json";
  if (std::filesystem::exists(path)) return read_json(path).at("started_seconds").get<double>();
  const double now = wall_seconds();
  AtomicFile file(path);
  file.write(json_text(Json{{"started_seconds", now}}) + "\n");
  file.commit();
  return now;
}

}  // namespace

// Yard is the state of one call of run().
class LivePlacement::Yard {
 public:
  Yard(LivePlacement& placement, std::span<const study::Job> jobs, const Finished& finished, const Stop& stop)
      : placement_(placement),
        finished_(finished),
        stop_(stop),
        queue_(placement.problem_),
        started_seconds_(first_start(placement.folder_)) {
    for (const study::Job& job : jobs) {
      const std::size_t number = placement.jobs_.number_of_cell.at(job.cell);
      next_attempt_.emplace(number, job);
      arrivals_.emplace(placement.problem_.jobs[number].arrival_seconds, number);
    }
  }

  void run() {
    while (!stop_() && !(arrivals_.empty() && running_.empty() && queue_.waiting().empty())) {
      for (const double now = seconds(); !arrivals_.empty() && arrivals_.begin()->first <= now;) {
        queue_.arrive(arrivals_.begin()->second);
        arrivals_.erase(arrivals_.begin());
      }
      const place::Decision decision = placement_.scheduler_->decide(queue_, seconds());
      for (const std::size_t job : decision.stops) running_.at(job).stop = true;
      for (const place::Start& one : decision.starts) start(one);
      wait_for_ends();
    }
    while (!running_.empty()) wait_for_ends();
    errors_.rethrow();
  }

 private:
  struct Running {
    std::atomic<bool> stop = false;
    std::optional<record::RunRecord> record{};  // none: its supervision failed
    std::jthread thread{};
  };

  double seconds() const { return wall_seconds() - started_seconds_; }

  // Does nothing while a job that is being stopped still has its place: it is asked for again then.
  void start(const place::Start& one) {
    for (const std::size_t slot : one.slots)
      if (!queue_.is_free(slot)) return;
    study::Job job = next_attempt_.at(one.job);
    job.run_id = fmt::format("{}-r{}-a{}", job.cell, job.replicate, job.attempt);
    ++next_attempt_.at(one.job).attempt;
    placement_.jobs_.send_to(job, one.slots);
    queue_.start(one.job, one.slots, seconds());
    Running& running = running_[one.job];
    running.thread = std::jthread([this, &running, number = one.job, job = std::move(job)] {
      try {
        running.record = study::supervise(job, placement_.folder_, [&] { return stop_() || running.stop; });
      } catch (...) {
        errors_.keep_current();
      }
      const MutexLock lock(mutex_);
      ended_.push_back(number);
      changed_.notify_one();
    });
  }

  // Waits until a job ends, the next one arrives, or a while is over: then somebody may have asked to stop.
  void wait_for_ends() {
    constexpr double kWhile = 0.2;
    std::vector<std::size_t> ended;
    {
      MutexLock lock(mutex_);
      double patience = kWhile;
      if (!arrivals_.empty()) patience = std::clamp(arrivals_.begin()->first - seconds(), 0.0, kWhile);
      if (ended_.empty()) changed_.wait_for(lock, patience);
      ended.swap(ended_);
    }
    for (const std::size_t job : ended) take_back(job);
  }

  void take_back(std::size_t job) {
    Running& running = running_.at(job);
    running.thread.join();
    const bool goes_on =
        running.stop && running.record && running.record->status == record::Status::interrupted && !stop_();
    if (goes_on)
      queue_.stop(job, seconds(), queue_.expected_done(job, seconds()));
    else
      queue_.end(job, seconds());
    if (running.record) finished_(*running.record);
    running_.erase(job);
  }

  LivePlacement& placement_;
  const Finished& finished_;
  const Stop& stop_;
  place::LiveQueue queue_;
  double started_seconds_;
  std::map<std::size_t, study::Job> next_attempt_;  // of each job
  std::multimap<double, std::size_t> arrivals_;     // that are still to come
  FirstError errors_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::size_t> ended_ TRAINYARD_GUARDED_BY(mutex_);
  std::map<std::size_t, Running> running_;  // the last: its threads use what is above
};

LivePlacement::LivePlacement(study::Folder folder, const place::Problem& problem,
                             std::unique_ptr<place::Scheduler> scheduler, LiveJobs jobs)
    : folder_(std::move(folder)),
      problem_(problem),
      scheduler_(std::move(scheduler)),
      jobs_(std::move(jobs)) {}

LivePlacement::~LivePlacement() = default;

void LivePlacement::settle() { study::LocalLauncher(folder_).settle(); }

void LivePlacement::run(std::span<const study::Job> jobs, const Finished& finished, const Stop& stop) {
  Yard(*this, jobs, finished, stop).run();
}

}  // namespace trainyard::launch
