#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data/source/image_source.h"
#include "data/source/synthetic.h"
#include "tensor/tensor.h"

namespace trainyard::data {

// Error (config) that names the file and the first label outside [0, classes).
void check_labels(std::span<const std::int32_t> labels, int classes, const std::filesystem::path& file);

enum class Split { train, test };

// Labelled images as the bytes of their source; preprocessing happens per batch. Labels are in memory; images
// are too, or they stay in files.
struct SplitData {
  HostTensor images;                         // u8 (N, C, H, W); empty when there are `files`
  HostTensor labels;                         // i32 (N), each in [0, classes)
  std::shared_ptr<const ImageSource> files;  // null when there are `images`

  // Borrows `images`.
  std::shared_ptr<const ImageSource> source() const { return files ? files : images_in_memory(images); }
};

struct Dataset {
  std::string name;
  Shape image_shape;  // C, H, W
  int classes = 0;
  SplitData train, test;

  const SplitData& split(Split which) const { return which == Split::train ? train : test; }
  std::int64_t size(Split which) const { return split(which).labels.elements(); }
};

struct DatasetOptions {
  std::string name = "mnist";    // one of dataset_names()
  std::filesystem::path folder;  // where the files lie; empty: in the cache
  std::filesystem::path cache;   // empty: default_cache_folder()
  ReadMode read = ReadMode::memory;
  SyntheticOptions synthetic;  // read only when the name is "synthetic"
};

const std::vector<std::string>& dataset_names();
const std::vector<std::string>& file_dataset_names();  // those that lie in files, so can be got

// Error (config) when the name is unknown, the files are missing, or one does not parse.
Dataset load_dataset(const DatasetOptions& options);

// Returns the folder of the files: the given folder or the one in the cache. Error (config) when there is
// none, or no such dataset.
std::filesystem::path find_dataset(const DatasetOptions& options);

// The files of a known name from any folder in which they lie; `name` is one of file_dataset_names().
Dataset load_dataset_files(const std::string& name, const std::filesystem::path& folder,
                           ReadMode read = ReadMode::memory);

// Lists the files that load_dataset_files reads.
std::vector<std::filesystem::path> list_dataset_files(const std::string& name,
                                                      const std::filesystem::path& folder);

// Writes them in the form the cache keeps (IDX, CIFAR binary) and returns the names, in a fixed order.
std::vector<std::string> store_dataset_files(const Dataset& dataset, const std::filesystem::path& folder);

}  // namespace trainyard::data
