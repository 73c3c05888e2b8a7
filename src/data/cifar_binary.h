#pragma once

#include <cstdint>
#include <filesystem>

#include "tensor/host_tensor.h"

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

// The reverse; written aside, then renamed.
void write_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                        const HostTensor& labels, std::int64_t first);

}  // namespace trainyard::data
