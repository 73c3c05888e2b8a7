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

void load_split(const std::filesystem::path& folder, const std::string& stem, HostTensor& images,
                HostTensor& labels) {
  const std::filesystem::path images_path = find_idx(folder, stem + "-images", "idx3-ubyte");
  const std::filesystem::path labels_path = find_idx(folder, stem + "-labels", "idx1-ubyte");
  images = read_idx_images(images_path);
  labels = read_idx_labels(labels_path);
  if (labels.elements() != images.shape()[0])
    fail(ErrorKind::config, "'{}': {} labels found, {} expected: one for each image of '{}'",
         labels_path.string(), labels.elements(), images.shape()[0], images_path.filename().string());
  check_labels(labels.as<std::int32_t>(), kClasses, labels_path);
}

}  // namespace

Dataset load_mnist(const std::filesystem::path& folder) {
  Dataset dataset;
  dataset.name = "mnist";
  dataset.classes = kClasses;
  load_split(folder, "train", dataset.train_images, dataset.train_labels);
  load_split(folder, "t10k", dataset.test_images, dataset.test_labels);
  const Shape &train = dataset.train_images.shape(), &test = dataset.test_images.shape();
  dataset.image_shape = {train[1], train[2], train[3]};
  if (dataset.image_shape != Shape{test[1], test[2], test[3]})
    fail(ErrorKind::config,
         "mnist: test images of {}x{} found in '{}', {}x{} expected as in the training images", test[2],
         test[3], folder.string(), train[2], train[3]);
  return dataset;
}

std::vector<std::string> store_mnist(const Dataset& dataset, const std::filesystem::path& folder) {
  std::vector<std::string> names{"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                                 "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"};
  write_idx_images(folder / names[0], dataset.train_images);
  write_idx_labels(folder / names[1], dataset.train_labels);
  write_idx_images(folder / names[2], dataset.test_images);
  write_idx_labels(folder / names[3], dataset.test_labels);
  return names;
}

}  // namespace trainyard::data
