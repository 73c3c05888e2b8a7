#include "train/ensemble/timed_member.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/error.h"

namespace trainyard::train::ensemble {

TimedMemberResult run_timed_member(MemberStream& stream, StreamPlace place, const TimedMember& member) {
  TimedMemberResult result;
  const SampleBlock* block = nullptr;
  std::int64_t at = 0;
  const double compute =
      member.images_per_second > 0 ? static_cast<double>(member.batch) / member.images_per_second : 0;
  double began = now_seconds(), busy_until = began;
  for (std::int64_t step = 0; step < member.steps && !member.stopped(); ++step) {
    for (std::int64_t images = 0; images < member.batch;) {
      if (block == nullptr) {
        block = stream.next();
        at = 0;
        if (block == nullptr)
          fail(ErrorKind::peer, "the stream of samples ended before step {} was through", step);
      }
      for (; at < block->count() && images < member.batch; ++at) {
        const std::int64_t position = block->tag(at).position;
        if (place.has_seen(position)) continue;
        place.see(position);
        ++images;
      }
      if (at == block->count()) {
        stream.release();
        block = nullptr;
      }
    }
    // A device computes while the host fetches the next batch: time begins when both are there.
    busy_until = std::max(busy_until, now_seconds()) + compute;
    const double left = busy_until - now_seconds();
    if (left > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left));
    const double ended = now_seconds();
    result.step_seconds.push_back(ended - began);
    began = ended;
  }
  result.wait_seconds = stream.wait_seconds();
  return result;
}

}  // namespace trainyard::train::ensemble
