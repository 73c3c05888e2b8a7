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

// The files of a folder in one of the two forms.
struct Form {
  bool png = false;
  std::filesystem::path folder;

  const char* ending() const { return png ? "png" : "bin"; }
  std::filesystem::path train(std::int64_t i) const { return folder / train_name(i, ending()); }
  std::filesystem::path test() const { return folder / fmt::format("test_batch.{}", ending()); }
  // "lables" is how the npm package spells them.
  std::filesystem::path png_labels(const char* split) const {
    return folder / fmt::format("{}_lables.json", split);
  }
};

Form find_form(const std::filesystem::path& folder) {
  for (const Form& form :
       {Form{false, folder}, Form{false, folder / "cifar-10-batches-bin"}, Form{true, folder}})
    if (std::filesystem::is_regular_file(form.train(0))) return form;
  fail(ErrorKind::config,
       "cifar10: no 'data_batch_1.bin' (CIFAR-10 binary version) or 'data_batch_1.png' in folder '{}'",
       folder.string());
}

std::vector<std::filesystem::path> train_files(const Form& form) {
  std::vector<std::filesystem::path> files;
  for (std::int64_t i = 0; i < kTrainFiles; ++i) files.push_back(form.train(i));
  return files;
}

void read_into_memory(const Form& form, const std::vector<std::filesystem::path>& files, std::int64_t records,
                      SplitData& split) {
  split.images = HostTensor({std::ssize(files) * records, kCifarChannels, kCifarSide, kCifarSide}, DType::u8);
  std::int64_t first = 0;
  for (const std::filesystem::path& file : files) {
    if (form.png)
      read_cifar_png(file, records, split.images, first);
    else
      read_cifar_binary(file, records, split.images, split.labels, first);
    first += records;
  }
}

void leave_in_files(const std::vector<std::filesystem::path>& files, std::int64_t records, ReadMode read,
                    SplitData& split) {
  std::vector<ImageFile> places;
  for (const std::filesystem::path& file : files) {
    read_cifar_labels(file, records, split.labels, std::ssize(places) * records);
    places.push_back({file, records, kCifarRecordBytes - kCifarImageBytes, kCifarRecordBytes});
  }
  split.files = open_images(places, kCifarImageBytes, read);
}

}  // namespace

Dataset load_cifar10(const std::filesystem::path& folder, ReadMode read, std::int64_t records) {
  const Form form = find_form(folder);
  if (form.png && read != ReadMode::memory)
    fail(
        ErrorKind::config,
        "--read {} wants plain files: '{}' is a PNG; 'trainyard data get cifar10 --from DIR' puts plain ones "
        "into the cache",
        name(read), form.train(0).string());
  Dataset dataset;
  dataset.name = "cifar10";
  dataset.image_shape = {kCifarChannels, kCifarSide, kCifarSide};
  dataset.classes = kCifarClasses;
  const auto load = [&](const char* name, const std::vector<std::filesystem::path>& files, SplitData& split) {
    split.labels = HostTensor({std::ssize(files) * records}, DType::i32);
    if (form.png) read_cifar_json_labels(form.png_labels(name), split.labels);
    if (read == ReadMode::memory)
      read_into_memory(form, files, records, split);
    else
      leave_in_files(files, records, read, split);
  };
  load("train", train_files(form), dataset.train);
  load("test", {form.test()}, dataset.test);
  return dataset;
}

std::vector<std::filesystem::path> list_cifar10(const std::filesystem::path& folder) {
  const Form form = find_form(folder);
  std::vector<std::filesystem::path> files = train_files(form);
  files.push_back(form.test());
  if (form.png)
    for (const char* split : {"train", "test"}) files.push_back(form.png_labels(split));
  return files;
}

std::vector<std::string> store_cifar10(const Dataset& dataset, const std::filesystem::path& folder,
                                       std::int64_t records) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < kTrainFiles; ++i) {
    names.push_back(train_name(i, "bin"));
    write_cifar_binary(folder / names.back(), records, dataset.train.images, dataset.train.labels,
                       i * records);
  }
  names.push_back("test_batch.bin");
  write_cifar_binary(folder / names.back(), records, dataset.test.images, dataset.test.labels, 0);
  return names;
}

}  // namespace trainyard::data
