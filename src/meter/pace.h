#pragma once

#include <ctime>

#include "base/standard.h"

namespace trainyard::meter {

// Returns the CPU time of the calling thread.
inline double thread_cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Pace keeps a repeated task within a share of a core: the longer it took, the later it is due again.
class Pace {
 public:
  explicit Pace(double share, double least_seconds = 0) : share_(share), least_seconds_(least_seconds) {}

  bool due(double now) const { return now >= next_; }
  template <typename Work>
  void run(double now, const Work& work) {
    // Reading CPU time takes a system call, which costs as much as the cheapest of such tasks.
    const bool measured = now >= measured_ + kMeasuredSeconds;
    const double before = measured ? thread_cpu_seconds() : 0;
    work();
    if (measured) {
      const double took = thread_cpu_seconds() - before;
      cost_ = cost_ < 0 ? took : 0.8 * cost_ + 0.2 * took;  // the first finds cold caches
      measured_ = now;
    }
    spent_seconds_ += cost_;
    next_ = now + std::max(least_seconds_, cost_ / share_);
  }
  double spent_seconds() const { return spent_seconds_; }  // in all, as far as measured

 private:
  static constexpr double kMeasuredSeconds = 0.1;
  double share_, least_seconds_, cost_ = -1, next_ = 0, measured_ = -kMeasuredSeconds, spent_seconds_ = 0;
};

}  // namespace trainyard::meter
