#include "data/source/image_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>

#include "base/clock.h"
#include "base/file.h"

namespace trainyard::data {

namespace {

// Finds the place of an image: the file's number and the byte in it.
class Places {
 public:
  explicit Places(const std::vector<ImageFile>& files) : files_(files) {
    std::int64_t images = 0;
    for (const ImageFile& file : files) ends_.push_back(images += file.images);
  }

  struct Place {
    std::size_t file;
    std::int64_t byte;
  };
  Place of(std::int64_t index) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), index);
    const auto number = static_cast<std::size_t>(end - ends_.begin());
    const ImageFile& file = files_[number];
    return {number, file.first_byte + (index - (ends_[number] - file.images)) * file.stride_bytes};
  }
  const ImageFile& file(std::size_t number) const { return files_[number]; }

 private:
  std::vector<ImageFile> files_;
  std::vector<std::int64_t> ends_;  // index behind each file's last image
};

void want_bytes(const ImageFile& file, std::int64_t image_bytes, std::int64_t found) {
  const std::int64_t needed = file.first_byte + (file.images - 1) * file.stride_bytes + image_bytes;
  if (found < needed)
    fail(ErrorKind::config, "'{}': {} bytes found, {} expected: the file is cut short", file.path.string(),
         found, needed);
}

// Images in files, with their labels in memory.
class FileImages : public SampleSource {
 public:
  FileImages(const std::vector<ImageFile>& files, std::int64_t image_bytes, HostTensor labels)
      : places_(files), image_bytes_(static_cast<std::size_t>(image_bytes)), labels_(std::move(labels)) {}

  std::int64_t size() const override { return labels_.elements(); }

 protected:
  Sample labelled(std::int64_t index, const std::uint8_t* image) const {
    return {std::as_bytes(std::span(image, image_bytes_)),
            labels_.as<std::int32_t>()[static_cast<std::size_t>(index)]};
  }

  const Places places_;
  const std::size_t image_bytes_;

 private:
  const HostTensor labels_;
};

class MappedImages final : public FileImages {
 public:
  MappedImages(const std::vector<ImageFile>& files, std::int64_t image_bytes, HostTensor labels)
      : FileImages(files, image_bytes, std::move(labels)) {
    for (const ImageFile& file : files) {
      maps_.emplace_back(file.path);
      want_bytes(file, image_bytes, maps_.back().bytes());
    }
  }

  Sample read(std::int64_t index, Scratch&) const override {
    const auto [file, byte] = places_.of(index);
    return labelled(index, maps_[file].data() + byte);
  }

 private:
  std::vector<MappedFile> maps_;
};

class StreamedImages final : public FileImages {
 public:
  StreamedImages(const std::vector<ImageFile>& files, std::int64_t image_bytes, HostTensor labels)
      : FileImages(files, image_bytes, std::move(labels)) {
    for (const ImageFile& file : files) {
      const Descriptor& opened = descriptors_.emplace_back(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
      struct stat status {};
      if (opened.number() < 0 || ::fstat(opened.number(), &status) != 0)
        fail(ErrorKind::config, "cannot read '{}': {}", file.path.string(), std::strerror(errno));
      want_bytes(file, image_bytes, status.st_size);
    }
  }

  Sample read(std::int64_t index, Scratch& scratch) const override {
    const double began = now_seconds();
    if (scratch.size() < image_bytes_) scratch.resize(image_bytes_);
    const auto [file, byte] = places_.of(index);
    for (std::size_t got = 0; got < image_bytes_;) {
      const std::int64_t at = byte + static_cast<std::int64_t>(got);
      const ssize_t read = ::pread(descriptors_[file].number(), scratch.data() + got, image_bytes_ - got, at);
      if (read < 0 && errno == EINTR) continue;
      if (read <= 0)
        fail(ErrorKind::io, "'{}': image {} cannot be read at byte {}: {}", places_.file(file).path.string(),
             index, at, read == 0 ? "the file was cut short meanwhile" : std::strerror(errno));
      got += static_cast<std::size_t>(read);
    }
    images_read_.fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<std::int64_t>((now_seconds() - began) * 1e9),
                           std::memory_order_relaxed);
    return labelled(index, scratch.data());
  }

  ReadCost cost() const override {
    return {images_read_ * static_cast<std::int64_t>(image_bytes_), static_cast<double>(nanoseconds_) * 1e-9};
  }

 private:
  std::vector<Descriptor> descriptors_;
  mutable std::atomic<std::int64_t> images_read_ = 0, nanoseconds_ = 0;
};

}  // namespace

const char* name(ReadMode mode) {
  switch (mode) {
    case ReadMode::memory:
      return "memory";
    case ReadMode::mmap:
      return "mmap";
    case ReadMode::stream:
      return "stream";
  }
  return "unknown";
}

std::unique_ptr<const SampleSource> open_images(const std::vector<ImageFile>& files, std::int64_t image_bytes,
                                                HostTensor labels, ReadMode mode) {
  TRAINYARD_CHECK(mode != ReadMode::memory);
  if (mode == ReadMode::mmap) return std::make_unique<MappedImages>(files, image_bytes, std::move(labels));
  return std::make_unique<StreamedImages>(files, image_bytes, std::move(labels));
}

void want_plain_file(const std::filesystem::path& path, ReadMode mode) {
  std::ifstream stream(path, std::ios::binary);
  if (stream.get() == 0x1f && stream.get() == 0x8b)
    fail(ErrorKind::config,
         "{} {} wants plain files: '{}' is compressed; 'trainyard data get NAME {} DIR' puts plain ones into "
         "the "
         "cache",
         Setting{"read"}, name(mode), path.string(), Setting{"from"});
}

}  // namespace trainyard::data
