#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace trainyard::records {

struct ShardInfo {
  std::string file;  // its name
  std::int64_t records = 0, bytes = 0, lost_bytes = 0;
};

struct Range {
  std::int64_t least = 0, most = 0;
};

// What is in a set of record files.
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

}  // namespace trainyard::records
