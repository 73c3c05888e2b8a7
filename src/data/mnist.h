#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "data/dataset.h"

namespace trainyard::data {

// The four IDX files under their usual names (train-images-idx3-ubyte, also with a dot as in
// train-images.idx3-ubyte, each plain or .gz). Fashion-MNIST and the like have the same form.
Dataset load_mnist(const std::filesystem::path& folder, ReadMode read = ReadMode::memory);
// Those that it reads.
std::vector<std::filesystem::path> list_mnist(const std::filesystem::path& folder);
std::vector<std::string> store_mnist(const Dataset& dataset, const std::filesystem::path& folder);

}  // namespace trainyard::data
