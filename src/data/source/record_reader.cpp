#include "data/source/record_reader.h"

namespace trainyard::data {

namespace {

constexpr std::uint64_t kOrderOfWindows = stream_of("order of windows"),
                        kOrderInside = stream_of("order inside windows"),
                        kCuts = stream_of("cuts between windows");

// Returns element `at` of permutation number `which` of 0 .. size - 1.
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

namespace {

const ReadOptions& checked(const ReadOptions& options) {
  if (options.shares < 1 || options.share < 0 || options.share >= options.shares)
    fail(ErrorKind::config, "records: share {} of {} given, 0 to one less than the shares expected",
         options.share, options.shares);
  if (options.window < 0 || options.first_position < 0 || options.epochs < 0)
    fail(ErrorKind::config, "records: window {}, first position {} and {} epochs given, 0 or more expected",
         options.window, options.first_position, options.epochs);
  return options;
}

// The first position of a share that is not before the one given.
std::int64_t own_position(const ReadOptions& options) {
  const std::int64_t ahead = (options.share - options.first_position) % options.shares;
  return options.first_position + (ahead < 0 ? ahead + options.shares : ahead);
}

}  // namespace

RecordReader::RecordReader(std::shared_ptr<const RecordSet> set, const ReadOptions& options)
    : set_(std::move(set)),
      options_(checked(options)),
      order_(options.seed, set_->size(), options.window, options.shuffle),
      position_(own_position(options)) {}

std::optional<std::int64_t> RecordReader::claim_position() {
  std::int64_t position = position_;
  do {
    if (options_.epochs > 0 && position >= options_.epochs * order_.size()) return std::nullopt;
  } while (!position_.compare_exchange_weak(position, position + options_.shares));
  return position;
}

std::optional<Record> RecordReader::next() {
  std::string why;
  for (std::int64_t tries = 1;; ++tries) {
    const std::optional<std::int64_t> position = claim_position();
    if (!position) return std::nullopt;
    std::optional<Record> record = set_->try_read(order_.id(*position), why);
    if (record) {
      record->position = *position;
      record->epoch = static_cast<std::int32_t>(*position / order_.size());
      return record;
    }
    if (options_.damage == Damage::refuse) fail(ErrorKind::config, "{}", why);
    ++skipped_;
    // This many failures in a row suggest that the search for another record would never end.
    if (tries == order_.size()) want_one_sound_record();
  }
}

void RecordReader::want_one_sound_record() const {
  std::string why;
  for (std::int64_t id = 0; id < set_->size(); ++id)
    if (set_->try_read(id, why)) return;
  fail(ErrorKind::config, "none of {} records can be read; {}", set_->size(), why);
}

}  // namespace trainyard::data
