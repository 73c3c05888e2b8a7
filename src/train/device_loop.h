#pragma once

#include <cstdint>
#include <vector>

#include "train/session.h"

namespace trainyard::train {

// Steps that a device does by itself, several to a launch, with nothing for the host to do between them.
class DeviceLoop {
 public:
  struct Done {
    std::vector<float> losses;
    std::vector<double> seconds;  // each from the end of the one before, by the device's clock
    double event_seconds = 0;     // of all of them, between two events of the device's queue
    double wall_seconds = 0;      // the same by the host's clock
  };

  // REQUIRES: the session's device is not the host. It must outlive the loop.
  DeviceLoop(Session& session, std::uint64_t seed) : session_(session), seed_(seed) {}

  // Steps [first, first + count); count <= engine::Executor::kMarks. Waits for them.
  Done run(std::int64_t first, std::int64_t count);

  // So many that the host hears of them some times a second: `most`, or fewer.
  std::int64_t steps_at_once(std::int64_t most) const;

 private:
  Session& session_;
  std::uint64_t seed_;
  double step_seconds_ = 0;  // of the last run; 0: none yet
};

}  // namespace trainyard::train
