#include "records/shard.h"

#include <fmt/core.h>

namespace trainyard::records {

Shard::Shard(std::filesystem::path path) : path_(std::move(path)), file_(path_) {
  for (std::int64_t at = 0; at < file_.bytes();) {
    const std::optional<Frame> frame = first_frame(from(at));
    if (!frame) {
      lost_bytes_ = file_.bytes() - at;
      damage_ = fmt::format("'{}': record at byte {}: {}; {} bytes are lost", path_.string(), at,
                            why_no_frame(from(at)), lost_bytes_);
      break;
    }
    offsets_.push_back(at);
    at += static_cast<std::int64_t>(frame->bytes());
  }
}

std::string_view Shard::from(std::int64_t offset) const {
  return {reinterpret_cast<const char*>(file_.data()) + offset,
          static_cast<std::size_t>(file_.bytes() - offset)};
}

}  // namespace trainyard::records
