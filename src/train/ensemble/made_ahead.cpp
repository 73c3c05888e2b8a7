#include "train/ensemble/made_ahead.h"

#include <algorithm>
#include <utility>

#include "meter/thread_times.h"

namespace trainyard::train::ensemble {

MadeAhead::MadeAhead(SampleMaker& maker, std::shared_ptr<BlockPool> blocks,
                     const BoundedQueue<OwnedBlock>::Limits& limits)
    : maker_(maker), blocks_(std::move(blocks)), queue_(limits), thread_([this] { work(); }) {}

MadeAhead::~MadeAhead() { queue_.abandon(); }

void MadeAhead::work() {
  meter::name_thread("maker");
  try {
    for (bool more = true; more;) {
      OwnedBlock block = blocks_->take();
      more = maker_.make(*block);
      if (block->count() == 0) continue;
      const auto bytes = static_cast<std::int64_t>(block->bytes().size());
      if (!queue_.push(std::move(block), bytes)) break;
    }
  } catch (...) {
    failure_ = std::current_exception();
  }
  queue_.close();
}

bool MadeAhead::next(SampleBlock& block) {
  std::optional<OwnedBlock> made = queue_.pop();
  if (!made) {
    if (thread_.joinable()) thread_.join();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return false;
  }
  const std::span<std::byte> bytes = (*made)->bytes();
  std::copy(bytes.begin(), bytes.end(), block.bytes().data());
  return true;
}

}  // namespace trainyard::train::ensemble
