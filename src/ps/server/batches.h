#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "ps/wire/ledger.h"

namespace trainyard::ps {

// Who makes a gradient of which batch. A batch is lent to one worker at a time; what a worker that is gone
// had comes back and is lent again, so that each is used once.
class Batches {
 public:
  // `total`: in all; negative: without end. Those that the ledger calls used are not lent again.
  Batches(std::int64_t total, const Ledger& ledger);

  // The lowest that is free; none when there is none.
  std::optional<std::int64_t> lend(int worker);
  // What the worker has, the one that it uses first at the front.
  const std::deque<std::int64_t>& lent_to(int worker) const;
  // It has used the first.
  std::int64_t use(int worker);
  void take_back(int worker);

  // Nothing is free, and nobody has any.
  bool all_used() const { return lent_.empty() && free_.empty() && at_the_end(); }
  bool any_free() const { return !free_.empty() || !at_the_end(); }

 private:
  bool at_the_end() const { return total_ >= 0 && next_ >= total_; }

  std::int64_t total_, next_;
  std::set<std::int64_t> free_;  // below next_
  std::map<int, std::deque<std::int64_t>> lent_;
};

}  // namespace trainyard::ps
