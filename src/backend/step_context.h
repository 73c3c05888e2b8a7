#pragma once

#include <cstdint>

// Device code reads this, too, so it includes nothing that compilers of device code take long to read.
namespace trainyard::backend {

// StepContext holds the values that change from step to step and are not tensors.
struct StepContext {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
};

// StepMark is the record that a device writes at the end of a step that ran without the host.
struct StepMark {
  std::int64_t nanoseconds = 0;  // of the device's clock
  float loss = 0;
};

}  // namespace trainyard::backend
