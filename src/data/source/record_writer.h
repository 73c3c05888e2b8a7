#pragma once

#include "base/file.h"
#include "data/source/record_example.h"

namespace trainyard::data {

struct WriterOptions {
  std::filesystem::path folder;       // made when it is not there
  std::string name, split = "train";  // NAME-SPLIT-00000-of-00005.tfrecord
  int shards = 1;
  std::int64_t records = 0;  // how many there will be
  bool resume = false;       // shards that are there are the first of these, and stay
};

// Writes a set: neighbours lie in the same shard, and shards differ by one record at most, so that ids are
// the order of add(). A shard has its name only when it is complete. Errors of files are of kind io.
class RecordWriter {
 public:
  // Error (config) when a shard would be empty, or the folder already has shards of that name and split that
  // are not to stay: all of them, or to resume those that are not whole and the first of the set.
  explicit RecordWriter(WriterOptions options);
  ~RecordWriter();  // removes the shards that it wrote unless it was finished or stopped
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void add(const ImageExample& image);  // REQUIRES: fewer than options.records so far
  void finish();                        // REQUIRES: all were added
  void stop();                          // the shards that are complete stay, the one at hand does not

  int complete_shards() const { return static_cast<int>(complete_.size()); }
  std::int64_t first_of_shard(int shard) const { return options_.records * shard / options_.shards; }
  std::int64_t added() const { return added_; }  // with those that were there
  std::int64_t bytes() const { return bytes_; }

  // Error (config) when a shard that was there begins with another image: then it is of another set.
  void want_first_of_shard(int shard, const ImageExample& image) const;

 private:
  std::filesystem::path path_of(int shard) const;
  void take_over_shards();

  const WriterOptions options_;
  const std::string stem_;
  std::optional<AtomicFile> file_;               // of the shard at hand
  std::vector<std::filesystem::path> complete_;  // shards under their names
  std::size_t taken_over_ = 0;                   // so many of them were there
  std::int64_t added_ = 0, bytes_ = 0;
  std::string frame_;
  bool finished_ = false;
};

}  // namespace trainyard::data
