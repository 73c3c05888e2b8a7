#include "data/source/cifar10.h"

#include <cerrno>
#include <fstream>

#include <png.h>

#include "base/file.h"
#include "base/json.h"

namespace trainyard::data {

namespace {

// Calls visit(i, record) for each record. In pieces: memory does not grow with the file.
template <typename Visit>
void visit_records(const std::filesystem::path& path, std::int64_t records, const Visit& visit) {
  std::ifstream stream(path, std::ios::binary | std::ios::ate);
  if (!stream) fail(ErrorKind::config, "cannot read '{}': {}", path.string(), std::strerror(errno));
  if (const std::int64_t bytes = stream.tellg(); bytes != records * kCifarRecordBytes)
    fail(ErrorKind::config,
         "'{}': {} bytes found, {} expected ({} records of {} bytes, CIFAR-10 binary version)", path.string(),
         bytes, records * kCifarRecordBytes, records, kCifarRecordBytes);
  stream.seekg(0);
  constexpr std::int64_t kPiece = 256;
  std::vector<std::uint8_t> piece(static_cast<std::size_t>(kPiece * kCifarRecordBytes));
  for (std::int64_t i = 0; i < records; ++i) {
    if (i % kPiece == 0)
      stream.read(reinterpret_cast<char*>(piece.data()), std::min(kPiece, records - i) * kCifarRecordBytes);
    if (!stream) fail(ErrorKind::io, "reading '{}' broke off", path.string());
    visit(i, piece.data() + i % kPiece * kCifarRecordBytes);
  }
}

std::span<std::int32_t> label_rows(const HostTensor& labels, std::int64_t first, std::int64_t records) {
  TRAINYARD_CHECK(first >= 0 && first + records <= labels.elements());
  return labels.as<std::int32_t>().subspan(static_cast<std::size_t>(first),
                                           static_cast<std::size_t>(records));
}

}  // namespace

void read_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                       const HostTensor& labels, std::int64_t first) {
  const auto rows = label_rows(labels, first, records);
  visit_records(path, records, [&](std::int64_t i, const std::uint8_t* record) {
    rows[static_cast<std::size_t>(i)] = record[0];
    std::memcpy(images.data() + (first + i) * kCifarImageBytes, record + 1, kCifarImageBytes);
  });
  check_labels(rows, kCifarClasses, path);
}

void read_cifar_labels(const std::filesystem::path& path, std::int64_t records, const HostTensor& labels,
                       std::int64_t first) {
  const auto rows = label_rows(labels, first, records);
  visit_records(path, records, [&](std::int64_t i, const std::uint8_t* record) {
    rows[static_cast<std::size_t>(i)] = record[0];
  });
  check_labels(rows, kCifarClasses, path);
}

void write_cifar_binary(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                        const HostTensor& labels, std::int64_t first) {
  TRAINYARD_CHECK(first >= 0 && first + records <= labels.elements());
  std::vector<std::byte> content(static_cast<std::size_t>(records * kCifarRecordBytes));
  for (std::int64_t i = 0; i < records; ++i) {
    std::byte* record = content.data() + i * kCifarRecordBytes;
    record[0] = static_cast<std::byte>(labels.as<std::int32_t>()[static_cast<std::size_t>(first + i)]);
    std::memcpy(record + 1, images.data() + (first + i) * kCifarImageBytes, kCifarImageBytes);
  }
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

namespace {

// libpng's one-struct interface: errors come back as a message, no longjmp over our destructors.
struct PngImage {
  PngImage() {
    std::memset(&image, 0, sizeof image);
    image.version = PNG_IMAGE_VERSION;
  }
  ~PngImage() { png_image_free(&image); }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  png_image image;
};

std::vector<std::uint8_t> decode_rgb(const std::filesystem::path& path, std::int64_t width,
                                     std::int64_t height) {
  const std::vector<std::byte> content = read_file(path);
  PngImage png;
  if (png_image_begin_read_from_memory(&png.image, content.data(), content.size()) == 0)
    fail(ErrorKind::config, "'{}': {}, a PNG expected", path.string(), png.image.message);
  if (png.image.width != width || png.image.height != height || png.image.format != PNG_FORMAT_RGB)
    fail(ErrorKind::config,
         "'{}': a PNG of {}x{} pixels{} found, {}x{} of 8-bit RGB (one image a row) expected", path.string(),
         png.image.width, png.image.height,
         png.image.format == PNG_FORMAT_RGB ? "" : " in another format than RGB", width, height);
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(png.image));
  // libpng fills in what it can of a file that is cut short, and only warns.
  if (png_image_finish_read(&png.image, nullptr, pixels.data(), 0, nullptr) == 0 ||
      png.image.warning_or_error != 0)
    fail(ErrorKind::config, "'{}': the PNG is damaged or cut short ({})", path.string(), png.image.message);
  return pixels;
}

}  // namespace

void read_cifar_png(const std::filesystem::path& path, std::int64_t records, const HostTensor& images,
                    std::int64_t first) {
  TRAINYARD_CHECK(first >= 0 && first + records <= images.shape()[0]);
  const std::vector<std::uint8_t> pixels = decode_rgb(path, kCifarPixels, records);
  std::uint8_t* destination = images.as<std::uint8_t>().data() + first * kCifarImageBytes;
  for (std::int64_t record = 0; record < records; ++record) {
    const std::uint8_t* rgb = pixels.data() + record * kCifarImageBytes;
    std::uint8_t* planes = destination + record * kCifarImageBytes;
    for (std::int64_t i = 0; i < kCifarPixels; ++i)
      for (std::int64_t channel = 0; channel < kCifarChannels; ++channel)
        planes[channel * kCifarPixels + i] = rgb[i * kCifarChannels + channel];
  }
}

void read_cifar_json_labels(const std::filesystem::path& path, const HostTensor& labels) {
  const std::vector<std::byte> content = read_file(path);
  const auto* text = reinterpret_cast<const char*>(content.data());
  const Json json = parse_json_or_discard(std::string_view(text, content.size()));
  if (!json.is_array()) fail(ErrorKind::config, "'{}': not a JSON array of labels", path.string());
  if (static_cast<std::int64_t>(json.size()) != labels.elements())
    fail(ErrorKind::config, "'{}': {} labels found, {} expected", path.string(), json.size(),
         labels.elements());
  const auto values = labels.as<std::int32_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!json[i].is_number_integer())
      fail(ErrorKind::config, "'{}': label {} of image {} is not a whole number", path.string(),
           json_text(json[i]), i);
    values[i] = json[i].get<std::int32_t>();
  }
  check_labels(values, kCifarClasses, path);
}

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
  split.samples = open_images(places, kCifarImageBytes, std::move(split.labels), read);
  split.labels = {};
}

}  // namespace

Dataset load_cifar10(const std::filesystem::path& folder, ReadMode read, std::int64_t records) {
  const Form form = find_form(folder);
  if (form.png && read != ReadMode::memory)
    fail(ErrorKind::config,
         "{} {} wants plain files: '{}' is a PNG; 'trainyard data get cifar10 {} DIR' puts plain ones into "
         "the cache",
         Setting{"read"}, name(read), form.train(0).string(), Setting{"from"});
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
