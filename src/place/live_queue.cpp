#include "place/live_queue.h"

#include <limits>

namespace trainyard::place {

LiveQueue::LiveQueue(const Problem& problem)
    : problem_(problem),
      live_(problem.jobs.size()),
      occupant_(problem.slots.size()),
      idle_since_(problem.slots.size(), 0.0) {}

void LiveQueue::arrive(std::size_t job) { waiting_.push_back(job); }

void LiveQueue::start(std::size_t job, const std::vector<std::size_t>& slots, double now) {
  const Job& asked = problem_.jobs[job];
  service_[asked.user] +=
      seconds_left(job, problem_.slots[slots.front()].kind) * static_cast<double>(slots.size());
  std::erase(waiting_, job);
  running_.insert(job);
  live_[job].slots = slots;
  live_[job].start_seconds = now;
  for (const std::size_t slot : slots) occupant_[slot] = job;
}

void LiveQueue::end(std::size_t job, double now) {
  for (const std::size_t slot : live_[job].slots) {
    occupant_[slot].reset();
    idle_since_[slot] = now;
  }
  live_[job].slots.clear();
  running_.erase(job);
}

void LiveQueue::stop(std::size_t job, double now, double done) {
  // The user gets back what was not used.
  const double unused = std::max(0.0, expected_end(job, now) - now);
  service_[problem_.jobs[job].user] -= unused * static_cast<double>(live_[job].slots.size());
  end(job, now);
  live_[job].done = done;
  live_[job].stopped = true;
  const auto later = [&](std::size_t a, std::size_t b) {
    return problem_.jobs[a].arrival_seconds < problem_.jobs[b].arrival_seconds;
  };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), job, later), job);
}

double LiveQueue::seconds_left(std::size_t job, std::size_t kind) const {
  const Option& option = problem_.jobs[job].options[kind];
  if (!option.fits) return std::numeric_limits<double>::infinity();
  return (1 - live_[job].done) * option.seconds + (live_[job].stopped ? problem_.preemption_seconds : 0);
}

double LiveQueue::expected_end(std::size_t job, double now) const {
  const Live& live = live_[job];
  return std::max(now, live.start_seconds + seconds_left(job, problem_.slots[live.slots.front()].kind));
}

double LiveQueue::expected_free(std::size_t slot, double now) const {
  return occupant_[slot] ? expected_end(*occupant_[slot], now) : now;
}

double LiveQueue::expected_done(std::size_t job, double now) const {
  const Live& live = live_[job];
  if (live.slots.empty()) return live.done;
  const double lost = live.stopped ? problem_.preemption_seconds : 0;
  const double worked = std::max(0.0, now - live.start_seconds - lost);
  const double whole = problem_.jobs[job].options[problem_.slots[live.slots.front()].kind].seconds;
  return whole > 0 ? std::min(1.0, live.done + worked / whole) : 1;
}

double LiveQueue::service_seconds(const std::string& user) const {
  const auto at = service_.find(user);
  return at == service_.end() ? 0 : at->second;
}

}  // namespace trainyard::place
