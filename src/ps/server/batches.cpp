#include "ps/server/batches.h"

#include "base/error.h"

namespace trainyard::ps {

Batches::Batches(std::int64_t total, const Ledger& ledger)
    : total_(total), next_(ledger.next_batch()), free_(ledger.loose().begin(), ledger.loose().end()) {}

std::optional<std::int64_t> Batches::lend(int worker) {
  if (!any_free()) return std::nullopt;
  std::int64_t batch = 0;
  if (free_.empty()) {
    batch = next_++;
  } else {
    batch = *free_.begin();
    free_.erase(free_.begin());
  }
  lent_[worker].push_back(batch);
  return batch;
}

const std::deque<std::int64_t>& Batches::lent_to(int worker) const {
  static const std::deque<std::int64_t> none;
  const auto found = lent_.find(worker);
  return found == lent_.end() ? none : found->second;
}

std::int64_t Batches::use(int worker) {
  const auto found = lent_.find(worker);
  TRAINYARD_CHECK(found != lent_.end());
  const std::int64_t batch = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) lent_.erase(found);
  return batch;
}

void Batches::take_back(int worker) {
  const auto found = lent_.find(worker);
  if (found == lent_.end()) return;
  free_.insert(found->second.begin(), found->second.end());
  lent_.erase(found);
}

}  // namespace trainyard::ps
