#pragma once

#include "base/progress.h"
#include "data/pack/photo.h"
#include "data/source/class_folders.h"
#include "data/source/dataset.h"

namespace trainyard::data {

// Returns one line a class, "0:daisy", as slim's labels.txt has it.
std::string labels_text(const std::vector<std::string>& classes);

struct PackOptions {
  std::filesystem::path to;
  std::string name, split = "train";  // NAME-SPLIT-00000-of-00005.tfrecord
  int shards = 0;                     // 0: one for every 10,000 records
  ProgressListener* progress = nullptr;
  bool resume = false;  // shards that are there and whole stay, and the others are made
};

// Describes the written set.
struct PackedSet {
  std::string name, split;
  int shards = 0, classes = 0;
  std::int64_t records = 0, bytes = 0;  // of the shards that are complete
  int complete_shards = 0;

  bool is_whole() const { return complete_shards == shards; }
};

// A PackedImage is an image as its record has it.
struct PackedImage {
  std::int32_t label = 0;
  int height = 0, width = 0;
  std::string format;
  std::vector<std::byte> encoded;
};

// Writes make(0) to make(count - 1) in this order, whole or not at all; when a StopRequest asks to stop, it
// keeps the shards that are complete by then. Several threads make images, one for every core; the call
// rethrows the first exception of them. Error (config) when a shard to resume from is of another set.
PackedSet write_set(const PackOptions& options, std::int64_t count,
                    const std::function<PackedImage(std::int64_t)>& make);

struct PackedFolder {
  PackedSet set;
  std::vector<std::filesystem::path> left_out;  // neither JPEG nor PNG
};

// Packs the images of a folder of class folders, byte for byte as their files have them, in an order drawn
// from the seed: neighbours in a shard are not of one class. Writes labels.txt beside the shards.
PackedFolder pack_folder(const std::filesystem::path& folder, std::uint64_t seed, const PackOptions& options);

// Packs a split of MNIST or CIFAR-10 as PNGs, in its order.
PackedSet pack_dataset(const data::Dataset& dataset, data::Split split, const PackOptions& options);

// Made-up photos as JPEGs.
PackedSet pack_photos(const PhotoOptions& photos, const PackOptions& options);

}  // namespace trainyard::data
