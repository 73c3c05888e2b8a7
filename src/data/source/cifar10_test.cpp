#include "data/source/cifar10.h"

#include <png.h>

#include "base/file.h"
#include "base/test_folder.h"

namespace trainyard::data {

namespace {

constexpr std::int64_t kMadeRecords = 3;

struct Records {
  HostTensor images{{kMadeRecords, 3, 32, 32}, DType::u8}, labels{{kMadeRecords}, DType::i32};
};

std::uint8_t pixel(std::int64_t record, std::int64_t channel, std::int64_t i) {
  return static_cast<std::uint8_t>(record * 50 + channel * 17 + i);
}

std::string binary_records(char first_label = '\6') {
  std::string content;
  for (std::int64_t record = 0; record < kMadeRecords; ++record) {
    content += static_cast<char>(first_label + record);
    for (std::int64_t channel = 0; channel < 3; ++channel)
      for (std::int64_t i = 0; i < 1024; ++i) content += static_cast<char>(pixel(record, channel, i));
  }
  return content;
}

void write_png(const std::filesystem::path& path, unsigned width = 1024,
               png_uint_32 format = PNG_FORMAT_RGB) {
  std::vector<std::uint8_t> rows;
  for (std::int64_t record = 0; record < kMadeRecords; ++record)
    for (std::int64_t i = 0; i < width; ++i)
      for (std::int64_t channel = 0; channel < static_cast<std::int64_t>(PNG_IMAGE_SAMPLE_CHANNELS(format));
           ++channel)
        rows.push_back(pixel(record, channel, i));
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = kMadeRecords;
  image.format = format;
  ASSERT_NE(0, png_image_write_to_file(&image, path.c_str(), 0, rows.data(), 0, nullptr)) << image.message;
}

void expect_pixels(const HostTensor& images, std::int64_t first) {
  for (const std::int64_t record : {0, 2})
    for (const std::int64_t channel : {0, 1, 2})
      for (const std::int64_t i : {0, 33, 1023})
        EXPECT_EQ(
            images.as<std::uint8_t>()[static_cast<std::size_t>(((first + record) * 3 + channel) * 1024 + i)],
            pixel(record, channel, i));
}

TEST(CifarBinary, ReadsPlanesAndLabels) {
  const TestFolder folder;
  const Records records;
  read_cifar_binary(folder.write("a.bin", binary_records()), kMadeRecords, records.images, records.labels, 0);
  EXPECT_EQ(records.labels.as<std::int32_t>()[2], 8);
  expect_pixels(records.images, 0);
  write_cifar_binary(folder.path() / "b.bin", kMadeRecords, records.images, records.labels, 0);
  EXPECT_EQ(read_file(folder.path() / "a.bin"), read_file(folder.path() / "b.bin"));
}

TEST(CifarBinary, RefusesWrongSizesAndLabels) {
  const TestFolder folder;
  const auto refused = [&](const std::string& content, const std::string& part) {
    const Records records;
    const std::filesystem::path path = folder.write("bad.bin", content);
    expect_error(ErrorKind::config, part,
                 [&] { read_cifar_binary(path, kMadeRecords, records.images, records.labels, 0); });
  };
  refused("", "bad.bin': 0 bytes found, 9219 expected (3 records of 3073 bytes");
  refused(binary_records().substr(1), "9218 bytes found");
  refused(binary_records() + "x", "9220 bytes found");
  refused(binary_records('\10'), "label 10 of image 2 is out of range, 0 to 9");
}

TEST(CifarPng, ReadsOneImageARow) {
  const TestFolder folder;
  const Records records;
  write_png(folder.path() / "a.png");
  read_cifar_png(folder.path() / "a.png", kMadeRecords, records.images, 0);
  expect_pixels(records.images, 0);
}

TEST(CifarPng, RefusesOtherFiles) {
  const TestFolder folder;
  const Records records;
  const std::filesystem::path path = folder.path() / "bad.png";
  const auto refused = [&](const std::string& part) {
    expect_error(ErrorKind::config, part, [&] { read_cifar_png(path, kMadeRecords, records.images, 0); });
  };
  refused("bad.png");
  folder.write("bad.png", "no PNG at all");
  refused("a PNG expected");
  write_png(path, 1000);
  refused("1000x3 pixels found, 1024x3 of 8-bit RGB");
  write_png(path, 1024, PNG_FORMAT_GRAY);
  refused("in another format than RGB");
  write_png(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  refused("damaged or cut short");
}

TEST(CifarJsonLabels, ChecksCountKindAndRange) {
  const TestFolder folder;
  const Records records;
  const auto read = [&](const std::string& text) {
    return [&, text] { read_cifar_json_labels(folder.write("l.json", text), records.labels); };
  };
  read("[1, 9,0]")();
  EXPECT_EQ(records.labels.as<std::int32_t>()[1], 9);
  expect_error(ErrorKind::config, "l.json': 2 labels found, 3 expected", read("[1,2]"));
  expect_error(ErrorKind::config, "label 10 of image 2", read("[1,2,10]"));
  expect_error(ErrorKind::config, "label -1 of image 0", read("[-1,2,1]"));
  expect_error(ErrorKind::config, "not a whole number", read("[1,\"2\",1]"));
  expect_error(ErrorKind::config, "not a JSON array", read("[1,2"));
  expect_error(ErrorKind::config, "not a JSON array", read("{}"));
}

TEST(Cifar10, BinaryAndPngFormsGiveTheSame) {
  const TestFolder png, binary;
  std::string labels;
  for (int i = 0; i < 5; ++i) {
    write_png(png.path() / fmt::format("data_batch_{}.png", i + 1));
    labels += i == 0 ? "6,7,8" : ",6,7,8";
  }
  write_png(png.path() / "test_batch.png");
  png.write("train_lables.json", "[" + labels + "]");
  png.write("test_lables.json", "[6,7,8]");
  const Dataset dataset = load_cifar10(png.path(), ReadMode::memory, kMadeRecords);
  EXPECT_EQ(dataset.size(Split::train), 15);
  EXPECT_EQ(dataset.size(Split::test), 3);
  expect_pixels(dataset.train.images, 12);

  std::filesystem::create_directory(binary.path() / "cifar-10-batches-bin");
  EXPECT_EQ(store_cifar10(dataset, binary.path() / "cifar-10-batches-bin", kMadeRecords).size(), 6u);
  const Dataset again = load_cifar10(binary.path(), ReadMode::memory, kMadeRecords);
  EXPECT_EQ(
      0, std::memcmp(dataset.train.images.data(), again.train.images.data(), dataset.train.images.bytes()));
  EXPECT_EQ(
      0, std::memcmp(dataset.train.labels.data(), again.train.labels.data(), dataset.train.labels.bytes()));
  expect_error(ErrorKind::config, "no 'data_batch_1.bin'",
               [&] { load_cifar10(binary.path() / "x", ReadMode::memory, kMadeRecords); });
}

}  // namespace

}  // namespace trainyard::data
