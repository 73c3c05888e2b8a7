#pragma once

#include <cstdint>

namespace trainyard::data {

// Which sample stands at position p = step * batch + i of a run. Each epoch (`size` positions) is a fresh
// permutation that depends on (seed, epoch) alone. Computed per index, with no table: any position of any
// epoch costs the same, so resuming and sharing among workers need no state. Thread-safe.
class SampleOrder {
 public:
  SampleOrder(std::uint64_t seed, std::int64_t size);
  std::int64_t index(std::int64_t position) const;
  std::int64_t size() const { return size_; }

 private:
  std::uint64_t seed_;
  std::int64_t size_;
  int half_bits_;
};

}  // namespace trainyard::data
