#include "data/source/image_files.h"

#include "base/test_folder.h"
#include "data/source/cifar10.h"
#include "data/source/mnist.h"
#include "data/view/batch_stream.h"

namespace trainyard::data {

namespace {

constexpr ReadMode kFileModes[] = {ReadMode::mmap, ReadMode::stream};

// Batches of both passes are the same to the bit as those of `expected`, with several threads too.
void expect_same_batches(const Dataset& expected, const Dataset& found, const char* preprocess) {
  ASSERT_EQ(expected.image_shape, found.image_shape);
  for (const Pass pass : {Pass::training, Pass::evaluation}) {
    BatchStreamOptions options{.pass = pass,
                               .split = pass == Pass::training ? Split::train : Split::test,
                               .preprocess = {preprocess, {}},
                               .batch = 7,
                               .threads = 3};
    BatchStream a(expected, options), b(found, options);
    for (std::int64_t step = 0; step < std::min<std::int64_t>(a.steps(), 40); ++step) {
      const Batch &x = a.next(), &y = b.next();
      ASSERT_EQ(0, std::memcmp(x.images.data(), y.images.data(), x.images.bytes())) << step;
      ASSERT_EQ(0, std::memcmp(x.labels.data(), y.labels.data(), x.labels.bytes())) << step;
    }
  }
}

Dataset made_up(const char* name, const Shape& image, std::int64_t train, std::int64_t test) {
  Dataset dataset = make_synthetic({image, 10, train, test, 3});
  dataset.name = name;
  return dataset;
}

TEST(ReadModes, GiveTheSameBatchesOfMnist) {
  const TestFolder folder;
  store_mnist(made_up("mnist", {1, 28, 28}, 100, 23), folder.path());
  const Dataset memory = load_mnist(folder.path());
  for (const ReadMode mode : kFileModes) {
    SCOPED_TRACE(name(mode));
    const Dataset dataset = load_mnist(folder.path(), mode);
    EXPECT_EQ(dataset.train.images.data(), nullptr);
    expect_same_batches(memory, dataset, "lenet");
  }
}

TEST(ReadModes, GiveTheSameBatchesOfCifarOverItsFiles) {
  constexpr std::int64_t kRecords = 9;
  const TestFolder folder;
  store_cifar10(made_up("cifar10", {3, 32, 32}, 5 * kRecords, kRecords), folder.path(), kRecords);
  const Dataset memory = load_cifar10(folder.path(), ReadMode::memory, kRecords);
  for (const ReadMode mode : kFileModes) {
    SCOPED_TRACE(name(mode));
    expect_same_batches(memory, load_cifar10(folder.path(), mode, kRecords), "cifar-pad");
  }
}

TEST(ReadModes, StreamingCountsWhatItReads) {
  const TestFolder folder;
  store_mnist(made_up("mnist", {1, 28, 28}, 50, 20), folder.path());
  const Dataset streamed = load_mnist(folder.path(), ReadMode::stream);
  BatchStream stream(streamed, {.batch = 10, .depth = 0});
  for (int step = 0; step < 6; ++step) stream.next();
  EXPECT_EQ(streamed.train.source()->cost().bytes, 60 * 28 * 28);
  EXPECT_GT(streamed.train.source()->cost().seconds, 0);
  EXPECT_EQ(streamed.test.source()->cost().bytes, 0);
  EXPECT_EQ(load_mnist(folder.path(), ReadMode::mmap).train.source()->cost().bytes, 0);
}

TEST(ReadModes, AFileThatShrinksWhileStreamingIsNamed) {
  const TestFolder folder;
  store_mnist(made_up("mnist", {1, 28, 28}, 50, 20), folder.path());
  const std::filesystem::path images = folder.path() / "train-images-idx3-ubyte";
  const Dataset dataset = load_mnist(folder.path(), ReadMode::stream);
  std::filesystem::resize_file(images, 16 + 20 * 784 + 100);
  SampleSource::Scratch scratch;
  EXPECT_EQ(dataset.train.source()->read(19, scratch).bytes.size(), 784u);
  expect_error(ErrorKind::io, fmt::format("{}': image 20 cannot be read at byte {}", images.string(), 15796),
               [&] { dataset.train.source()->read(20, scratch); });
  BatchStream stream(dataset, {.batch = 50});
  expect_error(ErrorKind::io, "cut short meanwhile", [&] { stream.next(); });
}

TEST(ReadModes, RefuseFilesWithoutAPlaceForEachImage) {
  const TestFolder folder, png;
  store_mnist(made_up("mnist", {1, 28, 28}, 5, 5), folder.path());
  const std::filesystem::path images = folder.path() / "train-images-idx3-ubyte";
  std::filesystem::resize_file(images, 1000);
  for (const ReadMode mode : kFileModes)
    expect_error(ErrorKind::config, "984 bytes found after the IDX header, 3920 expected",
                 [&] { load_mnist(folder.path(), mode); });
  std::filesystem::remove(images);
  folder.write("train-images-idx3-ubyte.gz", "\x1f\x8b and so on");
  for (const ReadMode mode : kFileModes)
    expect_error(ErrorKind::config, "train-images-idx3-ubyte.gz' is compressed",
                 [&] { load_mnist(folder.path(), mode); });
  png.write("data_batch_1.png", "");
  expect_error(ErrorKind::config, "read stream wants plain files",
               [&] { load_cifar10(png.path(), ReadMode::stream); });
  expect_error(ErrorKind::config, "data set 'synthetic' has no files",
               [] { load_dataset({.name = "synthetic", .read = ReadMode::mmap}); });
}

}  // namespace

}  // namespace trainyard::data
