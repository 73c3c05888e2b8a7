#pragma once

#include "comm/collective/collective.h"
#include "ensemble/member_stream.h"
#include "ensemble/stream_batches.h"

namespace trainyard::ensemble {

// CoreSharers holds the processes that compute on the same cores of a machine as this one.
struct CoreSharers {
  int count = 1, number = 0;  // this one among them
};

// Ranks that may use the same cores of the same machine share them. Called by all ranks together.
CoreSharers find_core_sharers(comm::collective::Job& job, double patience_seconds);

// Returns the number of cores of one of them: as many as threads, or an equal share where `threads` is 0, at
// least one. Where there are more threads than cores several have the same. REQUIRES: `all` is not empty.
std::vector<int> share_of_cores(const std::vector<int>& all, const CoreSharers& sharers, int threads);

// A TimedMember is a member that trains nothing: for each batch it sleeps as long as a device would compute,
// on which the host spends no time. Its samples stay where they are, as a device would copy them from there.
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

}  // namespace trainyard::ensemble
