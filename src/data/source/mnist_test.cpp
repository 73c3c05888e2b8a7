#include "data/source/mnist.h"

#include <zlib.h>

#include "base/file.h"
#include "base/test_folder.h"

namespace trainyard::data {

namespace {

std::string big_endian(std::initializer_list<std::uint32_t> words) {
  std::string text;
  for (const std::uint32_t word : words)
    for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(word >> shift & 255);
  return text;
}

std::string pixels(std::size_t count) {
  std::string text(count, '\0');
  for (std::size_t i = 0; i < count; ++i) text[i] = static_cast<char>(i * 7);
  return text;
}

std::string idx_images(std::uint32_t count, std::uint32_t height, std::uint32_t width) {
  return big_endian({0x803, count, height, width}) + pixels(std::size_t{count} * height * width);
}

std::string idx_labels(const std::string& labels) {
  return big_endian({0x801, static_cast<std::uint32_t>(labels.size())}) + labels;
}

void write_gzip(const std::filesystem::path& path, const std::string& content) {
  const gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
  gzclose(file);
}

TEST(Idx, ReadsImagesAndLabelsPlainAndGzipped) {
  const TestFolder folder;
  folder.write("plain", idx_images(3, 4, 5));
  write_gzip(folder.path() / "zipped", idx_images(3, 4, 5));
  for (const char* name : {"plain", "zipped"}) {
    const HostTensor images = read_idx_images(folder.path() / name);
    EXPECT_EQ(images.shape(), (Shape{3, 1, 4, 5}));
    EXPECT_EQ(0, std::memcmp(images.data(), pixels(60).data(), 60));
  }
  const HostTensor labels = read_idx_labels(folder.write("labels", idx_labels({'\x00', '\x09', '\xC8'})));
  EXPECT_EQ(labels.as<std::int32_t>()[1], 9);
  EXPECT_EQ(labels.as<std::int32_t>()[2], 200);
}

TEST(Idx, WritesWhatItReads) {
  const TestFolder folder;
  const auto images = folder.write("images", idx_images(3, 4, 5)),
             labels = folder.write("labels", idx_labels("\1\2\3"));
  write_idx_images(folder.path() / "images2", read_idx_images(images));
  write_idx_labels(folder.path() / "labels2", read_idx_labels(labels));
  EXPECT_EQ(read_file(images), read_file(folder.path() / "images2"));
  EXPECT_EQ(read_file(labels), read_file(folder.path() / "labels2"));
}

TEST(Idx, NamesTheFileAndWhatIsWrongWithIt) {
  const TestFolder folder;
  const auto refused = [&](const std::string& content, const std::string& part) {
    const std::filesystem::path path = folder.write("bad-idx", content);
    expect_error(ErrorKind::config, part, [&] { read_idx_images(path); });
    expect_error(ErrorKind::config, "bad-idx", [&] { read_idx_images(path); });
  };
  const std::string good = idx_images(3, 4, 5);
  refused("", "ends inside its IDX header");
  refused(good.substr(0, 10), "ends inside its IDX header");
  refused(good.substr(0, good.size() - 1), "59 bytes found after the IDX header, 60 expected");
  refused(good + "x", "more than the 60 bytes");
  refused(idx_labels("\1\2"), "magic number 0x00000801 found, 0x00000803");
  refused(big_endian({0x803, 0, 4, 5}), "0 images found");
  refused(big_endian({0x803, 3, 4, 70000}), "70000 columns found");
  refused(big_endian({0x803, 0x7fffffff, 16384, 16384}), "0 bytes found");  // and allocates next to nothing
  refused("<html>404 Not Found</html>", "magic number 0x3c68746d found");
  expect_error(ErrorKind::config, "nowhere", [&] { read_idx_images(folder.path() / "nowhere"); });
  expect_error(ErrorKind::config, "it is a folder", [&] { read_idx_images(folder.path()); });
}

TEST(Idx, RefusesABrokenGzipStream) {
  const TestFolder folder;
  const std::filesystem::path path = folder.path() / "x.gz";
  write_gzip(path, idx_images(30, 28, 28));
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  expect_error(ErrorKind::config, "x.gz", [&] { read_idx_images(path); });
}

void write_mnist(const TestFolder& folder, const std::string& test_labels = "\1\2") {
  folder.write("train-images-idx3-ubyte", idx_images(3, 4, 5));
  folder.write("train-labels.idx1-ubyte", idx_labels("\7\1\2"));
  write_gzip(folder.path() / "t10k-images-idx3-ubyte.gz", idx_images(2, 4, 5));
  folder.write("t10k-labels-idx1-ubyte", idx_labels(test_labels));
}

TEST(Mnist, FindsTheFilesUnderTheirUsualNames) {
  const TestFolder folder;
  write_mnist(folder);
  const Dataset dataset = load_mnist(folder.path());
  EXPECT_EQ(dataset.image_shape, (Shape{1, 4, 5}));
  EXPECT_EQ(dataset.size(Split::train), 3);
  EXPECT_EQ(dataset.size(Split::test), 2);
  EXPECT_EQ(dataset.train.labels.as<std::int32_t>()[0], 7);
}

TEST(Mnist, RefusesFilesThatDoNotFitTogether) {
  const TestFolder folder;
  expect_error(ErrorKind::config, "no 'train-images-idx3-ubyte'", [&] { load_mnist(folder.path()); });
  write_mnist(folder, "\1\2\3");
  expect_error(ErrorKind::config, "3 labels found, 2 expected", [&] { load_mnist(folder.path()); });
  write_mnist(folder, "\1\12");
  expect_error(ErrorKind::config, "label 10 of image 1 is out of range, 0 to 9",
               [&] { load_mnist(folder.path()); });
  write_mnist(folder);
  write_gzip(folder.path() / "t10k-images-idx3-ubyte.gz", idx_images(2, 5, 4));
  expect_error(ErrorKind::config, "test images of 5x4", [&] { load_mnist(folder.path()); });
}

TEST(Dataset, SaysWhatToDoWhenItIsUnknownOrAbsent) {
  const TestFolder folder;
  DatasetOptions options;
  options.name = "cifar";
  expect_error(ErrorKind::config, "did you mean 'cifar10'?", [&] { load_dataset(options); });
  options.name = "mnist";
  options.cache = folder.path();
  expect_error(ErrorKind::config, "trainyard data get mnist", [&] { load_dataset(options); });
  options.folder = folder.path() / "absent";
  expect_error(ErrorKind::config, "is not a folder", [&] { load_dataset(options); });
}

}  // namespace

}  // namespace trainyard::data
