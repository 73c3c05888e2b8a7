#pragma once

#include <cstdint>

#include "base/sample_order.h"

namespace trainyard::records {

// Which record stands at a position of the common order: each epoch is a permutation of all ids that depends
// on (seed, epoch) alone. Computed per position, with no table. Thread-safe.
class RecordOrder {
 public:
  // `window` 0: any record may follow any other. Else ids are cut into windows of so many neighbours, which
  // come in random order, each shuffled in itself: nearly sequential reading. The cuts differ from epoch to
  // epoch; what is left over after whole windows comes last.
  RecordOrder(std::uint64_t seed, std::int64_t size, std::int64_t window, bool shuffle);

  std::int64_t id(std::int64_t position) const;
  std::int64_t size() const { return all_.size(); }

 private:
  std::int64_t id_in_windows(std::int64_t epoch, std::int64_t at) const;

  SampleOrder all_;
  std::int64_t window_;  // 0: none
  bool shuffle_;
};

}  // namespace trainyard::records
