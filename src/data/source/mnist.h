#pragma once

#include "data/source/dataset.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// IDX, the format of the MNIST files, plain or gzipped. Anything but exactly the bytes that the header
// announces is an Error (config) with the file, what was found and what is expected.
HostTensor read_idx_images(const std::filesystem::path& path);  // u8 (N, 1, H, W)
HostTensor read_idx_labels(const std::filesystem::path& path);  // i32 (N)

// Returns the shape of the images of a plain file, which is not read further. The first image follows the
// header.
Shape read_idx_images_shape(const std::filesystem::path& path);
constexpr std::int64_t kIdxImagesHeaderBytes = 16;

// Plain IDX; written aside, then renamed.
void write_idx_images(const std::filesystem::path& path, const HostTensor& images);
void write_idx_labels(const std::filesystem::path& path, const HostTensor& labels);

// The four IDX files under their usual names (train-images-idx3-ubyte, also with a dot as in
// train-images.idx3-ubyte, each plain or .gz). Fashion-MNIST and the like have the same form.
Dataset load_mnist(const std::filesystem::path& folder, ReadMode read = ReadMode::memory);
// Lists the files that load_mnist reads.
std::vector<std::filesystem::path> list_mnist(const std::filesystem::path& folder);
std::vector<std::string> store_mnist(const Dataset& dataset, const std::filesystem::path& folder);

}  // namespace trainyard::data
