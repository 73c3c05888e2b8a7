#pragma once

#include <atomic>

#include "base/sample_order.h"
#include "data/source/record_set.h"

namespace trainyard::data {

// Says which record stands at a position of the common order: each epoch is a permutation of all ids that
// depends on (seed, epoch) alone. Each position is computed without a table. Thread-safe.
class RecordOrder {
 public:
  // With `window` 0 any record may follow any other. Otherwise ids are cut into windows of this many
  // neighbours, which come in random order, each shuffled in itself: nearly sequential reading. The cuts
  // differ from epoch to epoch; the remainder after whole windows comes last.
  RecordOrder(std::uint64_t seed, std::int64_t size, std::int64_t window, bool shuffle);

  std::int64_t id(std::int64_t position) const;
  std::int64_t size() const { return all_.size(); }

 private:
  std::int64_t id_in_windows(std::int64_t epoch, std::int64_t at) const;

  SampleOrder all_;
  std::int64_t window_;  // 0: none
  bool shuffle_;
};

struct ReadOptions {
  std::uint64_t seed = 1;
  std::int32_t share = 0, shares = 1;  // this reader has every shares-th position of one common order
  // 0: an epoch is a random permutation of all. Else records are drawn from windows of so many neighbours:
  // nearly sequential reading, for sets larger than memory.
  std::int64_t window = 0;
  std::int64_t first_position = 0;  // of the common order over all epochs: where a resumed run goes on
  std::int32_t epochs = 0;          // 0: without end
  bool shuffle = true;              // false: in the order of ids
  Damage damage = Damage::skip;
};

// The records of a share in the common order: each id exactly once an epoch over all shares, whatever their
// number. Thread-safe: any number of threads call next(), and each record goes to one of them.
class RecordReader {
 public:
  // Error (config) when an option is out of range.
  RecordReader(std::shared_ptr<const RecordSet> set, const ReadOptions& options);

  // Returns nothing when all epochs are complete. Damaged records are passed over and counted, or cause an
  // Error (config), as does a set of which no record can be read.
  std::optional<Record> next();

  std::int64_t position() const { return position_; }  // of the common order, that next() would look at
  std::int64_t skipped() const { return skipped_; }

 private:
  std::optional<std::int64_t> claim_position();
  void want_one_sound_record() const;

  const std::shared_ptr<const RecordSet> set_;
  const ReadOptions options_;
  const RecordOrder order_;
  std::atomic<std::int64_t> position_, skipped_ = 0;
};

}  // namespace trainyard::data
