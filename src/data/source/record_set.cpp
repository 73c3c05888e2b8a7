#include "data/source/record_set.h"

#include <algorithm>

#include <fmt/core.h>

#include "base/error.h"
#include "data/source/record_shard.h"

namespace trainyard::data {

namespace {

constexpr std::size_t kMaxNotes = 10;

void note(SetInfo& info, const std::string& damage) {
  if (info.damage.size() < kMaxNotes) info.damage.push_back(damage);
}

void widen(Range& range, std::int64_t value) {
  if (value <= 0) return;
  range.least = range.most == 0 ? value : std::min(range.least, value);
  range.most = std::max(range.most, value);
}

}  // namespace

SetInfo RecordSet::info(bool verify) const {
  SetInfo info;
  info.missing = missing_;
  for (const Shard& shard : shards_) {
    info.shards.push_back(
        {shard.path().filename().string(), shard.records(), shard.bytes(), shard.lost_bytes()});
    info.records += shard.records();
    info.bytes += shard.bytes();
    info.lost_bytes += shard.lost_bytes();
    if (shard.lost_bytes() > 0) note(info, shard.damage());
  }
  std::string why;
  for (std::int64_t id = 0; id < size(); ++id) {
    const std::optional<ImageExample> found = example(id, verify, why);
    if (!found) {
      ++info.damaged;
      note(info, why);
      continue;
    }
    ++info.labels[found->label];
    ++info.formats[std::string(found->format)];
    widen(info.height, found->height);
    widen(info.width, found->width);
  }
  return info;
}

RecordSet::RecordSet(const std::vector<std::filesystem::path>& files) : first_ids_{0} {
  shards_.reserve(files.size());
  for (const std::filesystem::path& file : files) {
    shards_.emplace_back(file);
    first_ids_.push_back(first_ids_.back() + shards_.back().records());
  }
}

std::shared_ptr<const RecordSet> RecordSet::open(const std::filesystem::path& path, const std::string& split,
                                                 Damage damage) {
  const std::vector<std::filesystem::path> files = find_shards(path, split);
  const std::shared_ptr<RecordSet> set(new RecordSet(files));
  // One file of several may be all that is wanted.
  if (std::filesystem::is_directory(path)) set->missing_ = missing_shards(files);
  const auto broken = std::find_if(set->shards_.begin(), set->shards_.end(),
                                   [](const Shard& shard) { return shard.lost_bytes() > 0; });
  if (broken != set->shards_.end() && (damage == Damage::refuse || set->size() == 0))
    fail(ErrorKind::config, "{}", broken->damage());
  if (set->size() == 0) fail(ErrorKind::config, "'{}': no records in {} files", path.string(), files.size());
  if (damage == Damage::refuse && !set->missing_.empty())
    fail(ErrorKind::config, "'{}': {} shards are missing, the first is '{}'", path.string(),
         set->missing_.size(), set->missing_.front());
  return set;
}

std::int64_t RecordSet::lost_bytes() const {
  std::int64_t bytes = 0;
  for (const Shard& shard : shards_) bytes += shard.lost_bytes();
  return bytes;
}

RecordSet::Place RecordSet::place_of(std::int64_t id) const {
  TRAINYARD_CHECK(id >= 0 && id < size());
  const auto after = std::upper_bound(first_ids_.begin(), first_ids_.end(), id);
  const auto place = static_cast<std::size_t>(after - first_ids_.begin()) - 1;
  return {shards_[place], id - first_ids_[place]};
}

std::string RecordSet::where(std::int64_t id) const {
  const auto [shard, record] = place_of(id);
  return fmt::format("'{}': record at byte {}", shard.path().string(), shard.offset(record));
}

std::optional<ImageExample> RecordSet::example(std::int64_t id, bool verify, std::string& why) const {
  const auto [shard, record] = place_of(id);
  const std::optional<Frame> frame = shard.frame(record);
  std::optional<ImageExample> found;
  if (!frame)
    why = "it has changed since the file was opened";
  else if (verify && !frame->sound())
    why = "its content does not agree with its checksum";
  else
    found = parse_image_example(frame->payload, why);
  if (!found) why = fmt::format("{}: {}", where(id), why);
  return found;
}

std::optional<Record> RecordSet::try_read(std::int64_t id, std::string& why) const {
  const std::optional<ImageExample> found = example(id, true, why);
  if (!found) return std::nullopt;
  return Record{.id = id, .label = found->label, .encoded = std::as_bytes(std::span(found->encoded))};
}

Record RecordSet::read(std::int64_t id) const {
  std::string why;
  const std::optional<Record> record = try_read(id, why);
  if (!record) fail(ErrorKind::config, "{}", why);
  return *record;
}

}  // namespace trainyard::data
