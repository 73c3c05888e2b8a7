#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "tensor/tensor.h"

namespace trainyard::data {

// Says when the bytes of an image are read: all at the start, as pages of a map are touched, or batch by
// batch.
enum class ReadMode { memory, mmap, stream };

const char* name(ReadMode mode);

// Images of one size in a plain file, at equal distances.
struct ImageFile {
  std::filesystem::path path;
  std::int64_t images = 0;
  std::int64_t first_byte = 0, stride_bytes = 0;
};

// Measures the cost of reading since the source was opened: zero where this program does not read itself.
struct ReadCost {
  std::int64_t bytes = 0;
  double seconds = 0;  // summed over the threads that read
};

// The images of a split as bytes, wherever they lie. Thread-safe.
class ImageSource {
 public:
  virtual ~ImageSource() = default;

  // The bytes of an image, either where they lie or read into `scratch`, which has room for one image and
  // belongs to the caller. Error (io) names the file and the place when it cannot be read.
  virtual const std::uint8_t* image(std::int64_t index, std::uint8_t* scratch) const = 0;
  virtual ReadCost cost() const { return {}; }
};

// `images` (N, ...) must outlive it.
std::unique_ptr<const ImageSource> images_in_memory(const HostTensor& images);

// Images of the files in order; mmap or stream. Error (config) when a file is not as large as its images
// need.
std::unique_ptr<const ImageSource> open_images(const std::vector<ImageFile>& files, std::int64_t image_bytes,
                                               ReadMode mode);

// Error (config) for a compressed file: its images have no place of their own.
void want_plain_file(const std::filesystem::path& path, ReadMode mode);

}  // namespace trainyard::data
