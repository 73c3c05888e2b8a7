#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "train/ensemble/member_stream.h"
#include "train/ensemble/stream_batches.h"

namespace trainyard::train::ensemble {

// A member that trains nothing: for each batch it sleeps as long as a device would compute, on which the host
// spends no time. Its samples stay where they are, as a device would copy them from there.
struct TimedMember {
  std::int64_t batch = 32, steps = 100;
  double images_per_second = 0;  // of the device; 0: it takes batches as fast as they come
  std::function<bool()> stopped;
};

struct TimedMemberResult {
  std::vector<double> step_seconds;  // wait for the batch, and sleep
  double wait_seconds = 0;           // for samples
};

// Error (peer) when the stream ends before it is through.
TimedMemberResult run_timed_member(MemberStream& stream, StreamPlace place, const TimedMember& member);

}  // namespace trainyard::train::ensemble
