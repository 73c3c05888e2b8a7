#include <limits>

#include "base/text.h"
#include "place/scheduler.h"

namespace trainyard::place {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Devices that a job of several waits for.
struct Reservation {
  std::vector<std::size_t> slots;
  double from_seconds = kNever;

  bool forbids(std::size_t slot, double end_seconds) const {
    return end_seconds > from_seconds && std::find(slots.begin(), slots.end(), slot) != slots.end();
  }
};

class ListScheduler : public Scheduler {
 public:
  ListScheduler(const Problem& problem, Turn turn) : problem_(problem), turn_(turn) {
    for (const Job& job : problem.jobs) {
      const double seconds = shortest_seconds(problem, job), area = seconds * job.devices;
      keys_.push_back(turn == Turn::shortest   ? seconds
                      : turn == Turn::smallest ? area
                      : turn == Turn::largest  ? -area
                                               : 0);
      any_takes_several_ = any_takes_several_ || job.devices > 1;
    }
  }

  Decision decide(const LiveQueue& given, double now) override {
    Decision decision;
    if (given.waiting().empty()) return decision;
    LiveQueue queue = given;       // with what is decided so far
    std::set<std::size_t> passed;  // over
    while (true) {
      const std::vector<std::size_t> free = free_by_kind(queue);
      const std::optional<std::size_t> next =
          first_of(queue, passed, [&](const Job& job) { return has_devices(job, free); });
      if (!next) return decision;
      const Reservation kept = reserved(queue, free, *next, now);
      std::vector<std::size_t> slots = slots_for(queue, *next, kept, now);
      if (slots.empty()) {
        passed.insert(*next);
        continue;
      }
      decision.starts.push_back({*next, slots, reason_of(queue, *next)});
      queue.start(*next, slots, now);
    }
  }

 private:
  std::vector<std::size_t> free_by_kind(const LiveQueue& queue) const {
    std::vector<std::size_t> free(problem_.kinds.size(), 0);
    for (std::size_t slot = 0; slot < problem_.slots.size(); ++slot)
      free[problem_.slots[slot].kind] += queue.is_free(slot) ? 1 : 0;
    return free;
  }
  static bool has_devices(const Job& job, const std::vector<std::size_t>& free) {
    for (std::size_t kind = 0; kind < free.size(); ++kind)
      if (job.options[kind].fits && free[kind] >= static_cast<std::size_t>(job.devices)) return true;
    return false;
  }

  // Whose turn it is among those that `eligible` takes.
  template <typename Eligible>
  std::optional<std::size_t> first_of(const LiveQueue& queue, const std::set<std::size_t>& passed,
                                      const Eligible& eligible) const {
    std::optional<std::size_t> first;
    for (const std::size_t job : queue.waiting()) {
      if (passed.contains(job) || !eligible(problem_.jobs[job])) continue;
      if (!first || is_before(queue, job, *first)) first = job;
    }
    return first;
  }
  bool is_before(const LiveQueue& queue, std::size_t a, std::size_t b) const {
    const auto rank = [&](std::size_t job) {
      const Job& asked = problem_.jobs[job];
      const double key = turn_ == Turn::least_served ? queue.service_seconds(asked.user) : keys_[job];
      return std::tuple(key, asked.arrival_seconds, job);
    };
    return rank(a) < rank(b);
  }

  // What the first job that does not get its devices, and is not behind `next`, will have.
  Reservation reserved(const LiveQueue& queue, const std::vector<std::size_t>& free, std::size_t next,
                       double now) const {
    if (!any_takes_several_) return {};
    const std::optional<std::size_t> blocked = first_of(queue, {}, [&](const Job& job) {
      if (job.devices == 1) return false;
      const auto at = static_cast<std::size_t>(&job - problem_.jobs.data());
      return !has_devices(job, free) || (job.one_node && slots_for(queue, at, {}, now).empty());
    });
    if (!blocked || is_before(queue, next, *blocked)) return {};
    Reservation earliest;
    for (std::size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
      if (!problem_.jobs[*blocked].options[kind].fits) continue;
      for (std::vector<std::size_t> slots : groups(*blocked, kind)) {
        const auto count = static_cast<std::size_t>(problem_.jobs[*blocked].devices);
        if (slots.size() < count) continue;
        std::stable_sort(slots.begin(), slots.end(), [&](std::size_t a, std::size_t b) {
          return queue.expected_free(a, now) < queue.expected_free(b, now);
        });
        slots.resize(count);
        const double from = queue.expected_free(slots.back(), now);
        if (from < earliest.from_seconds) earliest = {slots, from};
      }
    }
    return earliest;
  }

  // All slots of a kind, or those of each machine.
  std::vector<std::vector<std::size_t>> groups(std::size_t job, std::size_t kind) const {
    std::map<std::string, std::vector<std::size_t>> by_node;
    for (std::size_t slot = 0; slot < problem_.slots.size(); ++slot)
      if (problem_.slots[slot].kind == kind)
        by_node[problem_.jobs[job].one_node ? problem_.slots[slot].node : ""].push_back(slot);
    std::vector<std::vector<std::size_t>> groups;
    for (auto& [node, slots] : by_node) groups.push_back(std::move(slots));
    return groups;
  }

  // Free slots for the job: those that have been idle for longest; with several devices, the fastest kind.
  std::vector<std::size_t> slots_for(const LiveQueue& queue, std::size_t job, const Reservation& kept,
                                     double now) const {
    std::vector<std::size_t> best;
    double least = kNever;
    const auto count = static_cast<std::size_t>(problem_.jobs[job].devices);
    for (std::size_t kind = 0; kind < problem_.kinds.size(); ++kind) {
      const double seconds = queue.seconds_left(job, kind);
      if (!(seconds < kNever)) continue;
      for (std::vector<std::size_t> slots : groups(job, kind)) {
        std::erase_if(slots, [&](std::size_t slot) {
          return !queue.is_free(slot) || kept.forbids(slot, now + seconds);
        });
        if (slots.size() < count) continue;
        std::stable_sort(slots.begin(), slots.end(), [&](std::size_t a, std::size_t b) {
          return queue.idle_since(a) < queue.idle_since(b);
        });
        const double value = count > 1 ? seconds : queue.idle_since(slots.front());
        const bool earlier = !best.empty() && value == least && slots.front() < best.front();
        if (value >= least && !earlier) continue;
        least = value;
        slots.resize(count);
        best = slots;
      }
    }
    return best;
  }

  std::string reason_of(const LiveQueue& queue, std::size_t job) const {
    const std::size_t waiting = queue.waiting().size();
    const std::string behind =
        waiting == 1 ? "nobody else waits" : fmt::format("{} others wait", waiting - 1);
    if (turn_ == Turn::least_served && !problem_.jobs[job].user.empty())
      return fmt::format("{} got least so far; {}", problem_.jobs[job].user, behind);
    const char* rank = turn_ == Turn::shortest   ? "the shortest"
                       : turn_ == Turn::smallest ? "the least work"
                       : turn_ == Turn::largest  ? "the most work"
                                                 : "the first to arrive";
    return fmt::format("{} of those that fit; {}", rank, behind);
  }

  const Problem& problem_;
  Turn turn_;
  std::vector<double> keys_;  // of each job; the least goes first
  bool any_takes_several_ = false;
};

}  // namespace

std::unique_ptr<Scheduler> make_list_scheduler(const Problem& problem, Turn turn) {
  return std::make_unique<ListScheduler>(problem, turn);
}

}  // namespace trainyard::place
