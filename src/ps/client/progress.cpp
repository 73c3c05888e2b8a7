#include "ps/client/progress.h"

#include "base/error.h"

namespace trainyard::ps {

std::optional<std::int64_t> Progress::next_batch() const {
  // While weights are here and not taken, the first batch is theirs.
  const std::size_t place = stage_ == Stage::delivered ? 1 : 0;
  return leases_.size() > place ? std::optional(leases_[place]) : std::nullopt;
}

void Progress::welcomed(std::uint64_t next_clock) {
  ++counts_.joins;
  if (last_ == Fate::open) last_ = next_clock > clock_ ? Fate::counted : Fate::dropped;
  clock_ = next_clock;
}

void Progress::weights_came() {
  if (stage_ != Stage::joining && stage_ != Stage::waiting) return;
  if (stage_ == Stage::waiting) {
    ++clock_;
    last_ = Fate::counted;
  }
  if (leases_.empty()) return fail("server 0 sent weights and no batch");
  stage_ = Stage::delivered;
}

bool Progress::lost() {
  leases_.clear();
  if (is_over()) return false;
  stage_ = stage_ == Stage::computing || stage_ == Stage::away ? Stage::away : Stage::joining;
  return stage_ == Stage::joining;
}

void Progress::finish() {
  if (stage_ != Stage::ending) stage_ = Stage::done;
}

void Progress::fail(const std::string& reason) {
  if (is_over()) return;
  stage_ = Stage::failed;
  failure_ = reason;
}

Progress::Taken Progress::take() {
  TRAINYARD_CHECK(stage_ == Stage::delivered);
  stage_ = Stage::computing;
  ++taken_;
  const bool counted = last_ != Fate::dropped;
  count_last();
  last_ = Fate::open;
  const std::int64_t batch = leases_.front();
  leases_.pop_front();
  return {.batch = batch, .counted = counted};
}

void Progress::take_end() {
  TRAINYARD_CHECK(stage_ == Stage::done);
  count_last();
  last_ = Fate::none;
}

void Progress::count_last() {
  if (last_ != Fate::none) ++(last_ == Fate::dropped ? counts_.dropped_gradients : counts_.gradients);
}

void Progress::all_sent() {
  if (stage_ == Stage::computing) stage_ = Stage::waiting;
}

bool Progress::waits(std::int64_t taken) {
  if (taken != taken_) return false;
  // A worker that waits before it has given all of its gradient will not give the rest.
  if (stage_ == Stage::computing) stage_ = Stage::waiting;
  if (stage_ != Stage::away) return false;
  stage_ = Stage::joining;
  return true;
}

}  // namespace trainyard::ps
