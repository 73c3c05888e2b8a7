#include "data/source/mnist.h"

#include "base/file.h"
#include "data/get/gzip_file.h"

namespace trainyard::data {

namespace {

// A magic number has two zero bytes, the element type (8: unsigned byte) and the rank; then comes one size an
// axis. All are big-endian.
constexpr std::uint32_t kImagesMagic = 0x00000803, kLabelsMagic = 0x00000801;
constexpr std::int64_t kLargestSide = 16384;

std::uint32_t read_word(data::GzipFile& file) {
  unsigned char b[4];
  if (file.read(b, 4) != 4)
    fail(ErrorKind::config, "'{}': the file ends inside its IDX header", file.path().string());
  return std::uint32_t{b[0]} << 24 | std::uint32_t{b[1]} << 16 | std::uint32_t{b[2]} << 8 | b[3];
}

void check_magic(data::GzipFile& file, std::uint32_t expected, const char* what) {
  const std::uint32_t magic = read_word(file);
  if (magic != expected)
    fail(ErrorKind::config, "'{}': magic number {:#010x} found, {:#010x} (IDX {}) expected",
         file.path().string(), magic, expected, what);
}

std::int64_t read_dim(data::GzipFile& file, const char* what, std::int64_t most) {
  const std::int64_t dim = read_word(file);
  if (dim < 1 || dim > most)
    fail(ErrorKind::config, "'{}': {} {} found in the IDX header, 1 to {} expected", file.path().string(),
         dim, what, most);
  return dim;
}

// `found` bytes: as many as the file has, or one more than expected.
void want_payload(const data::GzipFile& file, std::int64_t found, std::int64_t expected) {
  if (found < expected)
    fail(ErrorKind::config, "'{}': {} bytes found after the IDX header, {} expected: the file is cut short",
         file.path().string(), found, expected);
  if (found > expected)
    fail(ErrorKind::config, "'{}': more than the {} bytes that the IDX header announces",
         file.path().string(), expected);
}

// The function reads in pieces: a wrong header must not cause an allocation beyond the file's content.
std::vector<std::uint8_t> read_payload(data::GzipFile& file, std::int64_t expected) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  const auto limit = static_cast<std::size_t>(expected) + 1;
  std::vector<std::uint8_t> payload;
  std::size_t got = kPiece;
  while (got == kPiece && payload.size() < limit) {
    const std::size_t before = payload.size();
    payload.resize(before + kPiece);
    got = file.read(payload.data() + before, std::min(kPiece, limit - before));
    payload.resize(before + got);
  }
  want_payload(file, std::ssize(payload), expected);
  return payload;
}

Shape read_images_header(data::GzipFile& file) {
  check_magic(file, kImagesMagic, "images of unsigned bytes");
  const std::int64_t count = read_dim(file, "images", INT32_MAX);
  const std::int64_t height = read_dim(file, "rows", kLargestSide),
                     width = read_dim(file, "columns", kLargestSide);
  return {count, 1, height, width};
}

void write_words(AtomicFile& file, const std::vector<std::int64_t>& words) {
  for (const std::int64_t word : words) {
    const unsigned char b[4] = {static_cast<unsigned char>(word >> 24),
                                static_cast<unsigned char>(word >> 16), static_cast<unsigned char>(word >> 8),
                                static_cast<unsigned char>(word)};
    file.write(b, 4);
  }
}

}  // namespace

HostTensor read_idx_images(const std::filesystem::path& path) {
  data::GzipFile file(path);
  const Shape shape = read_images_header(file);
  const std::vector<std::uint8_t> payload = read_payload(file, shape.elements());
  HostTensor images(shape, DType::u8);
  std::memcpy(images.data(), payload.data(), payload.size());
  return images;
}

Shape read_idx_images_shape(const std::filesystem::path& path) {
  data::GzipFile file(path);
  const Shape shape = read_images_header(file);
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path));
  want_payload(file, bytes - kIdxImagesHeaderBytes, shape.elements());
  return shape;
}

HostTensor read_idx_labels(const std::filesystem::path& path) {
  data::GzipFile file(path);
  check_magic(file, kLabelsMagic, "labels of unsigned bytes");
  const std::int64_t count = read_dim(file, "labels", INT32_MAX);
  const std::vector<std::uint8_t> payload = read_payload(file, count);
  HostTensor labels({count}, DType::i32);
  std::copy(payload.begin(), payload.end(), labels.as<std::int32_t>().begin());
  return labels;
}

void write_idx_images(const std::filesystem::path& path, const HostTensor& images) {
  const Shape& s = images.shape();
  TRAINYARD_CHECK(s.rank() == 4 && s[1] == 1);
  AtomicFile file(path);
  write_words(file, {kImagesMagic, s[0], s[2], s[3]});
  file.write(images.data(), images.bytes());
  file.commit();
}

void write_idx_labels(const std::filesystem::path& path, const HostTensor& labels) {
  const auto values = labels.as<std::int32_t>();
  const std::vector<std::uint8_t> bytes(values.begin(), values.end());
  AtomicFile file(path);
  write_words(file, {kLabelsMagic, labels.elements()});
  file.write(bytes.data(), bytes.size());
  file.commit();
}

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
  }
  HostTensor labels = read_idx_labels(files.labels);
  if (labels.elements() != shape[0])
    fail(ErrorKind::config, "'{}': {} labels found, {} expected: one for each image of '{}'",
         files.labels.string(), labels.elements(), shape[0], files.images.filename().string());
  check_labels(labels.as<std::int32_t>(), kClasses, files.labels);
  if (read == ReadMode::memory) {
    split.labels = std::move(labels);
    return shape;
  }
  const std::int64_t image_bytes = shape[2] * shape[3];
  split.samples = open_images({{files.images, shape[0], kIdxImagesHeaderBytes, image_bytes}}, image_bytes,
                              std::move(labels), read);
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
