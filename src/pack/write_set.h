#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace trainyard::pack {

struct PackOptions {
  std::filesystem::path to;
  std::string name, split = "train";  // NAME-SPLIT-00000-of-00005.tfrecord
  int shards = 0;                     // 0: one for every 10,000 records
  bool quiet = true;                  // no progress bar
  bool resume = false;                // shards that are there and whole stay, and the others are made
};

// What was written.
struct PackedSet {
  std::string name, split;
  int shards = 0, classes = 0;
  std::int64_t records = 0, bytes = 0;  // of the shards that are complete
  int complete_shards = 0;

  bool is_whole() const { return complete_shards == shards; }
};

// An image as its record has it.
struct PackedImage {
  std::int32_t label = 0;
  int height = 0, width = 0;
  std::string format;
  std::vector<std::byte> encoded;
};

// Writes make(0) to make(count - 1) in this order, whole or not at all; where a StopRequest is asked to stop,
// as many shards as are complete by then. Several threads make images, one for every core; rethrows what the
// first of them threw. Error (config) when a shard to resume from is of another set.
PackedSet write_set(const PackOptions& options, std::int64_t count,
                    const std::function<PackedImage(std::int64_t)>& make);

}  // namespace trainyard::pack
