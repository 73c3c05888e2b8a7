#include "records/set_info.h"

#include <algorithm>

#include "records/record_set.h"

namespace trainyard::records {
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

}  // namespace trainyard::records
