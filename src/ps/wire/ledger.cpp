#include "ps/wire/ledger.h"

#include "base/error.h"

namespace trainyard::ps {

void Ledger::begin(std::int64_t updates, std::int64_t next_batch, std::span<const std::int64_t> loose) {
  *this = {};
  updates_ = updates;
  next_batch_ = next_batch;
  TRAINYARD_CHECK(loose.size() <= kMostLoose);
  loose_count_ = static_cast<std::int64_t>(loose.size());
  std::copy(loose.begin(), loose.end(), loose_.begin());
}

void Ledger::add_update(std::span<Counted> gradients) {
  TRAINYARD_CHECK(!gradients.empty() && gradients.size() <= kRecent);
  for (Counted& gradient : gradients) {
    TRAINYARD_CHECK(gradient.worker < kMostWorkers && gradient.clock == next_clocks_[gradient.worker]);
    gradient.update = updates_;
    ++next_clocks_[gradient.worker];
    use_batch(gradient.batch);
    recent_[static_cast<std::size_t>(gradients_++ % kRecent)] = gradient;
  }
  ++updates_;
}

std::vector<Counted> Ledger::since(std::int64_t update) const {
  std::vector<Counted> found;
  const std::int64_t oldest = std::max<std::int64_t>(0, gradients_ - kRecent);
  std::int64_t number = gradients_;
  while (number > oldest && recent_[static_cast<std::size_t>((number - 1) % kRecent)].update >= update)
    --number;
  TRAINYARD_CHECK(number > oldest || oldest == 0);
  for (; number < gradients_; ++number) found.push_back(recent_[static_cast<std::size_t>(number % kRecent)]);
  return found;
}

void Ledger::use_batch(std::int64_t batch) {
  if (batch < next_batch_) {
    const auto end = loose_.begin() + loose_count_;
    const auto found = std::find(loose_.begin(), end, batch);
    TRAINYARD_CHECK(found != end);  // else it was used before
    std::copy(found + 1, end, found);
    --loose_count_;
    return;
  }
  TRAINYARD_CHECK(loose_count_ + batch - next_batch_ <= kMostLoose);
  while (next_batch_ < batch) loose_[static_cast<std::size_t>(loose_count_++)] = next_batch_++;
  ++next_batch_;
}

}  // namespace trainyard::ps
