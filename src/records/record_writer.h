#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "records/image_example.h"

namespace trainyard::records {

struct WriterOptions {
  std::filesystem::path folder;       // made when it is not there
  std::string name, split = "train";  // NAME-SPLIT-00000-of-00005.tfrecord
  int shards = 1;
  std::int64_t records = 0;  // how many there will be
};

// Writes a set: neighbours lie in the same shard, and shards differ by one record at most, so that ids are
// the order of add(). A shard has its name only when it is complete. Errors of files are of kind io.
class RecordWriter {
 public:
  // Error (config) when the folder already has shards of that name and split, or a shard would be empty.
  explicit RecordWriter(WriterOptions options);
  ~RecordWriter();  // removes its shards unless it was finished
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void add(const ImageExample& image);  // REQUIRES: fewer than options.records so far
  void finish();                        // REQUIRES: all were added

  std::int64_t bytes() const { return bytes_; }

 private:
  std::int64_t end_of_shard() const;

  const WriterOptions options_;
  const std::string stem_;
  std::optional<AtomicFile> file_;               // of the shard at hand
  std::vector<std::filesystem::path> complete_;  // shards under their names
  std::int64_t added_ = 0, bytes_ = 0;
  std::string frame_;
  bool finished_ = false;
};

}  // namespace trainyard::records
