#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "records/frame.h"

namespace trainyard::records {

// One file of records, mapped. Where they begin is found by walking their lengths, each checked by its CRC:
// payloads are not read. What lies behind a damaged length cannot be reached.
class Shard {
 public:
  explicit Shard(std::filesystem::path path);  // Error (config) when it cannot be read

  const std::filesystem::path& path() const { return path_; }
  std::int64_t records() const { return static_cast<std::int64_t>(offsets_.size()); }
  std::int64_t bytes() const { return file_.bytes(); }
  std::int64_t lost_bytes() const { return lost_bytes_; }
  const std::string& damage() const { return damage_; }  // where and why the walk ended early; "": it did not

  std::int64_t offset(std::int64_t record) const { return offsets_[static_cast<std::size_t>(record)]; }
  // Nothing when others have written to the file since.
  std::optional<Frame> frame(std::int64_t record) const { return first_frame(from(offset(record))); }

 private:
  std::string_view from(std::int64_t offset) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::vector<std::int64_t> offsets_;
  std::int64_t lost_bytes_ = 0;
  std::string damage_;
};

}  // namespace trainyard::records
