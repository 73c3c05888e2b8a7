#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/synthetic.h"
#include "tensor/host_tensor.h"

namespace trainyard::data {

enum class Split { train, test };

// Labelled images, wholly in memory as the bytes of the source; preprocessing happens per batch.
struct Dataset {
  std::string name;
  Shape image_shape;  // C, H, W
  int classes = 0;
  HostTensor train_images, train_labels;  // u8 (N, C, H, W); i32 (N), each in [0, classes)
  HostTensor test_images, test_labels;

  const HostTensor& images(Split split) const { return split == Split::train ? train_images : test_images; }
  const HostTensor& labels(Split split) const { return split == Split::train ? train_labels : test_labels; }
  std::int64_t size(Split split) const { return labels(split).elements(); }
};

struct DatasetOptions {
  std::string name = "mnist";    // one of dataset_names()
  std::filesystem::path folder;  // where the files lie; empty: in the cache
  std::filesystem::path cache;   // empty: fetch::default_cache_folder()
  SyntheticOptions synthetic;    // read only when the name is "synthetic"
};

const std::vector<std::string>& dataset_names();
const std::vector<std::string>& file_dataset_names();  // those that lie in files, so can be got

// Error (config) when the name is unknown, the files are missing, or one does not parse.
Dataset load_dataset(const DatasetOptions& options);

// The files of a known name from any folder in which they lie; `name` is one of file_dataset_names().
Dataset load_dataset_files(const std::string& name, const std::filesystem::path& folder);

// Writes them in the form the cache keeps (IDX, CIFAR binary) and returns the names, in a fixed order.
std::vector<std::string> store_dataset_files(const Dataset& dataset, const std::filesystem::path& folder);

}  // namespace trainyard::data
