#include "ensemble/timed_member.h"

#include <thread>

#include "base/cores.h"
#include "ensemble/stream_part.h"

namespace trainyard::ensemble {

CoreSharers find_core_sharers(comm::collective::Job& job, double patience_seconds) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::uint64_t where = stream_of(host.data());
  for (const int core : process_cores()) where = mix_streams(where, static_cast<std::uint64_t>(core));
  const auto everybody = job.make_group(ranks_between(0, job.size()), patience_seconds);
  const std::vector<std::uint64_t> all = gather(*everybody, where);
  CoreSharers sharers{.count = static_cast<int>(std::count(all.begin(), all.end(), where))};
  sharers.number = static_cast<int>(std::count(all.begin(), all.begin() + job.rank(), where));
  return sharers;
}

std::vector<int> share_of_cores(const std::vector<int>& all, const CoreSharers& sharers, int threads) {
  const std::size_t wanted =
      threads > 0 ? static_cast<std::size_t>(threads)
                  : std::max<std::size_t>(all.size() / static_cast<std::size_t>(sharers.count), 1);
  std::vector<int> own;
  for (std::size_t i = 0; i < std::min(wanted, all.size()); ++i)
    own.push_back(all[(static_cast<std::size_t>(sharers.number) * wanted + i) % all.size()]);
  return own;
}

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

}  // namespace trainyard::ensemble
