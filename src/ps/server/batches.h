#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "ps/wire/ledger.h"

namespace trainyard::ps {

// Assigns batches to workers. A batch is lent to one worker at a time; the batches of a lost worker return
// and are lent again, so that each is used exactly once.
class Batches {
 public:
  // `total`: in all; negative: without end. Those that the ledger calls used are not lent again.
  Batches(std::int64_t total, const Ledger& ledger);

  // Lends the lowest free batch; none when there is none.
  std::optional<std::int64_t> lend(int worker);
  // Returns the batches lent to the worker; it uses the front one first.
  const std::deque<std::int64_t>& lent_to(int worker) const;
  // Marks the worker's first batch as used.
  std::int64_t use(int worker);
  void take_back(int worker);

  // Returns whether nothing is free, and nobody has any.
  bool all_used() const { return lent_.empty() && free_.empty() && at_the_end(); }
  bool any_free() const { return !free_.empty() || !at_the_end(); }

 private:
  bool at_the_end() const { return total_ >= 0 && next_ >= total_; }

  std::int64_t total_, next_;
  std::set<std::int64_t> free_;  // below next_
  std::map<int, std::deque<std::int64_t>> lent_;
};

}  // namespace trainyard::ps
