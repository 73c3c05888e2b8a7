#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainyard::records {

// What the name of a shard's file says: "flowers-train-00002-of-00005.tfrecord", or "mnist_train.tfrecord".
struct ShardName {
  std::string stem;  // "flowers-train", "mnist_train"
  int number = 0, shards = 1;
};

// Nothing when it is not a name of a shard: other files, and shards that are still being written.
std::optional<ShardName> parse_shard_name(std::string_view file);

std::string shard_file(const std::string& stem, int number, int shards);

// Whether a stem is of that split: one of its words. "test" and "validation" are the same, and so is "val".
bool names_split(std::string_view stem, std::string_view split);

// The shards of a folder that are of the split, or all of them when it is empty; in the order of their names.
// A file is itself. Error (config) when there is none.
std::vector<std::filesystem::path> find_shards(const std::filesystem::path& path, const std::string& split);

// Names of shards that those of the others say there must be.
std::vector<std::string> missing_shards(const std::vector<std::filesystem::path>& shards);

}  // namespace trainyard::records
