#include "data/mnist.h"

#include "base/error.h"
#include "data/idx.h"
#include "data/labels.h"

namespace trainyard::data {
namespace {

constexpr int kClasses = 10;

std::filesystem::path find_idx(const std::filesystem::path& folder, const std::string& stem,
                               const char* form) {
  for (const char* separator : {"-", "."})
    for (const char* ending : {"", ".gz"}) {
      const std::filesystem::path path = folder / (stem + separator + form + ending);
      if (std::filesystem::is_regular_file(path)) return path;
    }
  fail(ErrorKind::config, "mnist: no '{}-{}' (plain or .gz) in folder '{}'", stem, form, folder.string());
}

struct SplitFiles {
  std::filesystem::path images, labels;
};

SplitFiles find_split(const std::filesystem::path& folder, const std::string& stem) {
  return {find_idx(folder, stem + "-images", "idx3-ubyte"), find_idx(folder, stem + "-labels", "idx1-ubyte")};
}

// Returns the shape of the images, (N, 1, H, W).
Shape load_split(const SplitFiles& files, ReadMode read, SplitData& split) {
  Shape shape;
  if (read == ReadMode::memory) {
    split.images = read_idx_images(files.images);
    shape = split.images.shape();
  } else {
    want_plain_file(files.images, read);
    shape = read_idx_images_shape(files.images);
    const std::int64_t image_bytes = shape[2] * shape[3];
    split.files =
        open_images({{files.images, shape[0], kIdxImagesHeaderBytes, image_bytes}}, image_bytes, read);
  }
  split.labels = read_idx_labels(files.labels);
  if (split.labels.elements() != shape[0])
    fail(ErrorKind::config, "'{}': {} labels found, {} expected: one for each image of '{}'",
         files.labels.string(), split.labels.elements(), shape[0], files.images.filename().string());
  check_labels(split.labels.as<std::int32_t>(), kClasses, files.labels);
  return shape;
}

}  // namespace

Dataset load_mnist(const std::filesystem::path& folder, ReadMode read) {
  Dataset dataset;
  dataset.name = "mnist";
  dataset.classes = kClasses;
  const Shape train = load_split(find_split(folder, "train"), read, dataset.train);
  const Shape test = load_split(find_split(folder, "t10k"), read, dataset.test);
  dataset.image_shape = {train[1], train[2], train[3]};
  if (dataset.image_shape != Shape{test[1], test[2], test[3]})
    fail(ErrorKind::config,
         "mnist: test images of {}x{} found in '{}', {}x{} expected as in the training images", test[2],
         test[3], folder.string(), train[2], train[3]);
  return dataset;
}

std::vector<std::filesystem::path> list_mnist(const std::filesystem::path& folder) {
  const SplitFiles train = find_split(folder, "train"), test = find_split(folder, "t10k");
  return {train.images, train.labels, test.images, test.labels};
}

std::vector<std::string> store_mnist(const Dataset& dataset, const std::filesystem::path& folder) {
  std::vector<std::string> names{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                 "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  write_idx_images(folder / names[0], dataset.train.images);
  write_idx_labels(folder / names[1], dataset.train.labels);
  write_idx_images(folder / names[2], dataset.test.images);
  write_idx_labels(folder / names[3], dataset.test.labels);
  return names;
}

}  // namespace trainyard::data
