#pragma once

#include "base/file.h"
#include "data/source/record_example.h"

namespace trainyard::data {

// One file of records, mapped. The constructor finds the records by walking their lengths, each checked by
// its CRC, and reads no payloads. Records behind a damaged length cannot be reached.
class Shard {
 public:
  explicit Shard(std::filesystem::path path);  // Error (config) when it cannot be read

  const std::filesystem::path& path() const { return path_; }
  std::int64_t records() const { return static_cast<std::int64_t>(offsets_.size()); }
  std::int64_t bytes() const { return file_.bytes(); }
  std::int64_t lost_bytes() const { return lost_bytes_; }
  const std::string& damage() const { return damage_; }  // where and why the walk ended early; "": it did not

  std::int64_t offset(std::int64_t record) const { return offsets_[static_cast<std::size_t>(record)]; }
  // Returns nothing when another process has written to the file since.
  std::optional<Frame> frame(std::int64_t record) const { return first_frame(from(offset(record))); }

 private:
  std::string_view from(std::int64_t offset) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::vector<std::int64_t> offsets_;
  std::int64_t lost_bytes_ = 0;
  std::string damage_;
};

// Holds the parts of a shard's file name: "flowers-train-00002-of-00005.tfrecord", or "mnist_train.tfrecord".
struct ShardName {
  std::string stem;  // "flowers-train", "mnist_train"
  int number = 0, shards = 1;
};

// Returns nothing for other files, and for shards that are still being written.
std::optional<ShardName> parse_shard_name(std::string_view file);

std::string shard_file(const std::string& stem, int number, int shards);

// Returns whether a stem belongs to that split: one of its words names it. "test" and "validation" are the
// same, and so is "val".
bool names_split(std::string_view stem, std::string_view split);

// Returns the shards of a folder that are of the split, or all of them when it is empty; in the order of
// their names. A file is itself. Error (config) when there is none.
std::vector<std::filesystem::path> find_shards(const std::filesystem::path& path, const std::string& split);

// Returns the names of shards that must exist according to the names of the others.
std::vector<std::string> missing_shards(const std::vector<std::filesystem::path>& shards);

}  // namespace trainyard::data
