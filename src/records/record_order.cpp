#include "records/record_order.h"

#include "base/philox.h"

namespace trainyard::records {
namespace {

constexpr std::uint64_t kOrderOfWindows = stream_of("order of windows"),
                        kOrderInside = stream_of("order inside windows"),
                        kCuts = stream_of("cuts between windows");

// Element `at` of permutation number `which` of 0 .. size - 1.
std::int64_t permuted(std::uint64_t seed, std::int64_t size, std::int64_t which, std::int64_t at) {
  return size == 1 ? 0 : SampleOrder(seed, size).index(which * size + at);
}

}  // namespace

RecordOrder::RecordOrder(std::uint64_t seed, std::int64_t size, std::int64_t window, bool shuffle)
    : all_(seed, size), window_(window < size ? window : 0), shuffle_(shuffle) {}

std::int64_t RecordOrder::id(std::int64_t position) const {
  if (!shuffle_) return position % size();
  return window_ == 0 ? all_.index(position) : id_in_windows(position / size(), position % size());
}

std::int64_t RecordOrder::id_in_windows(std::int64_t epoch, std::int64_t at) const {
  const std::uint64_t seed = all_.seed();
  const std::int64_t whole = size() / window_, turn = at / window_;
  const bool left_over = turn == whole;
  const std::int64_t window =
      left_over ? whole : permuted(mix_streams(seed, kOrderOfWindows), whole, epoch, turn);
  const std::int64_t length = left_over ? size() - whole * window_ : window_;
  const std::int64_t inside =
      permuted(mix_streams(seed, kOrderInside), length, epoch * (whole + 1) + turn, at % window_);
  const Philox::Block random = Philox(seed, kCuts).block(static_cast<std::uint64_t>(epoch));
  const std::uint64_t cut = (std::uint64_t{random[0]} << 32 | random[1]) % static_cast<std::uint64_t>(size());
  return (window * window_ + inside + static_cast<std::int64_t>(cut)) % size();
}

}  // namespace trainyard::records
