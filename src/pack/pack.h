#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "pack/photo.h"
#include "pack/write_set.h"

namespace trainyard::pack {

struct PackedFolder {
  PackedSet set;
  std::vector<std::filesystem::path> left_out;  // neither JPEG nor PNG
};

// The images of a folder of class folders, byte for byte as their files have them, in an order drawn from the
// seed: neighbours in a shard are not of one class. Writes labels.txt beside the shards.
PackedFolder pack_folder(const std::filesystem::path& folder, std::uint64_t seed, const PackOptions& options);

// A split of MNIST or CIFAR-10 as PNGs, in its order.
PackedSet pack_dataset(const data::Dataset& dataset, data::Split split, const PackOptions& options);

// Made-up photos as JPEGs.
PackedSet pack_photos(const PhotoOptions& photos, const PackOptions& options);

}  // namespace trainyard::pack
