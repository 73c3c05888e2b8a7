#include "data/cifar10.h"

#include <fmt/core.h>

#include "base/error.h"
#include "data/cifar_binary.h"
#include "data/cifar_png.h"

namespace trainyard::data {
namespace {

constexpr std::int64_t kTrainFiles = 5;

std::string train_name(std::int64_t i, const char* ending) {
  return fmt::format("data_batch_{}.{}", i + 1, ending);
}

void load_binary(const std::filesystem::path& folder, std::int64_t records, const Dataset& dataset) {
  for (std::int64_t i = 0; i < kTrainFiles; ++i)
    read_cifar_binary(folder / train_name(i, "bin"), records, dataset.train_images, dataset.train_labels,
                      i * records);
  read_cifar_binary(folder / "test_batch.bin", records, dataset.test_images, dataset.test_labels, 0);
}

// "lables" is how the package spells its files.
void load_png(const std::filesystem::path& folder, std::int64_t records, const Dataset& dataset) {
  read_cifar_json_labels(folder / "train_lables.json", dataset.train_labels);
  read_cifar_json_labels(folder / "test_lables.json", dataset.test_labels);
  for (std::int64_t i = 0; i < kTrainFiles; ++i)
    read_cifar_png(folder / train_name(i, "png"), records, dataset.train_images, i * records);
  read_cifar_png(folder / "test_batch.png", records, dataset.test_images, 0);
}

}  // namespace

Dataset load_cifar10(const std::filesystem::path& folder, std::int64_t records) {
  Dataset dataset;
  dataset.name = "cifar10";
  dataset.image_shape = {kCifarChannels, kCifarSide, kCifarSide};
  dataset.classes = kCifarClasses;
  const auto allocate = [&](HostTensor& images, HostTensor& labels, std::int64_t count) {
    images = HostTensor({count, kCifarChannels, kCifarSide, kCifarSide}, DType::u8);
    labels = HostTensor({count}, DType::i32);
  };
  const auto holds = [](const std::filesystem::path& where, const char* ending) {
    return std::filesystem::is_regular_file(where / train_name(0, ending));
  };
  allocate(dataset.train_images, dataset.train_labels, kTrainFiles * records);
  allocate(dataset.test_images, dataset.test_labels, records);
  const std::filesystem::path unpacked = folder / "cifar-10-batches-bin";
  if (holds(folder, "bin"))
    load_binary(folder, records, dataset);
  else if (holds(unpacked, "bin"))
    load_binary(unpacked, records, dataset);
  else if (holds(folder, "png"))
    load_png(folder, records, dataset);
  else
    fail(ErrorKind::config,
         "cifar10: no 'data_batch_1.bin' (CIFAR-10 binary version) or 'data_batch_1.png' in folder '{}'",
         folder.string());
  return dataset;
}

std::vector<std::string> store_cifar10(const Dataset& dataset, const std::filesystem::path& folder,
                                       std::int64_t records) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < kTrainFiles; ++i) {
    names.push_back(train_name(i, "bin"));
    write_cifar_binary(folder / names.back(), records, dataset.train_images, dataset.train_labels,
                       i * records);
  }
  names.push_back("test_batch.bin");
  write_cifar_binary(folder / names.back(), records, dataset.test_images, dataset.test_labels, 0);
  return names;
}

}  // namespace trainyard::data
