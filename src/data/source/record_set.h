#pragma once

#include "data/source/dataset.h"
#include "data/source/record_example.h"
#include "data/source/record_shard.h"

namespace trainyard::data {

struct ShardInfo {
  std::string file;  // its name
  std::int64_t records = 0, bytes = 0, lost_bytes = 0;
};

struct Range {
  std::int64_t least = 0, most = 0;
};

// Describes the content of a set of record files.
struct SetInfo {
  std::vector<ShardInfo> shards;
  std::vector<std::string> missing;  // shards that the names of the others speak of
  std::int64_t records = 0, bytes = 0, lost_bytes = 0;
  std::int64_t damaged = 0;                     // records that can be reached, but not read
  std::vector<std::string> damage;              // the first of all these, in words
  std::map<std::int32_t, std::int64_t> labels;  // records of each
  std::map<std::string, std::int64_t> formats;
  Range height, width;  // where the records say so

  bool whole() const { return missing.empty() && lost_bytes == 0 && damaged == 0; }
};

// Says how damaged data is handled: left out and counted, or an Error that names file and byte.
enum class Damage : std::uint8_t { skip, refuse };

struct Record {
  std::int64_t id = 0;        // its place in the set: unique, the same in every epoch and for every reader
  std::int64_t position = 0;  // of a reader's common order over all epochs
  std::int32_t epoch = 0;     // from 0
  std::int32_t label = 0;
  std::span<const std::byte> encoded;  // of the image; lives as long as the set
};

// Holds the images of a set of shards, in the order of the files' names. It maps the files and does not read
// them: it indexes their places when it is opened. Thread-safe, shared by readers.
class RecordSet {
 public:
  // `path` is a folder of shards, or one file; `split` is "train", "test" or "validation" where the names say
  // so; empty: all files. Error (config) when there is no record; with Damage::refuse also when a shard is
  // missing or damaged as far as lengths tell.
  static std::shared_ptr<const RecordSet> open(const std::filesystem::path& path, const std::string& split,
                                               Damage damage);

  std::int64_t size() const { return first_ids_.back(); }  // records that can be reached
  std::int64_t lost_bytes() const;                         // behind damaged lengths

  // Error (config) that names file and byte when its CRC does not agree or it is no example of an image.
  // REQUIRES: id in 0 .. size() - 1, here and below.
  Record read(std::int64_t id) const;

  // Reads likewise, with the reason in place of the Error.
  std::optional<Record> try_read(std::int64_t id, std::string& why) const;

  std::string where(std::int64_t id) const;  // file and byte, for messages

  // Passes over all records; their payloads' CRCs are checked only when told to.
  SetInfo info(bool verify) const;

 private:
  explicit RecordSet(const std::vector<std::filesystem::path>& files);
  struct Place {
    const Shard& shard;
    std::int64_t record;
  };
  Place place_of(std::int64_t id) const;
  std::optional<ImageExample> example(std::int64_t id, bool verify, std::string& why) const;

  std::vector<Shard> shards_;
  std::vector<std::int64_t> first_ids_;  // of each shard, and the size of the set
  std::vector<std::string> missing_;     // shards that the names of the others speak of
};

// Loads the images of a set of record files. With Damage::refuse a record that cannot be read, or whose label
// is not below `classes` where that is not 0, is an Error (config) that names it; else its label is -1.
std::shared_ptr<const SampleSource> record_samples(std::shared_ptr<const RecordSet> records, Damage damage,
                                                   int classes = 0);

// Loads the record files of a folder, or one file. Shards whose names speak of a split ("train", "test") make
// that split; without a test split a tenth of the records is held out. Classes are those of labels.txt, or
// one more than the largest label. Error (config) for damage that lengths show, and for a missing shard.
Dataset load_records(const std::filesystem::path& path);

// Lists the files that load_records reads.
DatasetFiles list_records(const std::filesystem::path& path);

}  // namespace trainyard::data
