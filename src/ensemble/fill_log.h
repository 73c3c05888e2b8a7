#pragma once

#include <thread>

#include "ensemble/bounded_queue.h"

namespace trainyard::ensemble {

// Records how full queues are: a thread looks at them some times a second while this lives.
class FillLog {
 public:
  struct Queue {
    std::string name;
    std::function<QueueFill()> look;
  };
  struct Sample {
    double seconds = 0;            // since it began
    double cpu_seconds = 0;        // of this process, all threads, since it began
    std::vector<QueueFill> fills;  // one a queue
  };

  explicit FillLog(std::vector<Queue> queues, double period_seconds = 0.1);

  // Ends the log. At most twice kMost samples: the longer it ran, the fewer a second.
  std::vector<Sample> finish();
  const std::vector<Queue>& queues() const { return queues_; }

  static constexpr std::size_t kMost = 400;

 private:
  void work(const std::stop_token& stop, double period_seconds);

  const std::vector<Queue> queues_;
  std::vector<Sample> samples_;
  std::jthread thread_;
};

}  // namespace trainyard::ensemble
