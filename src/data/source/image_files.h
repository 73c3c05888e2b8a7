#pragma once

#include "data/source/sample_source.h"
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

// Loads images of the files in order, with their labels (N) in memory; mmap or stream. Error (config) when a
// file is not as large as its images need.
std::unique_ptr<const SampleSource> open_images(const std::vector<ImageFile>& files, std::int64_t image_bytes,
                                                HostTensor labels, ReadMode mode);

// Error (config) for a compressed file: its images have no place of their own.
void want_plain_file(const std::filesystem::path& path, ReadMode mode);

}  // namespace trainyard::data
