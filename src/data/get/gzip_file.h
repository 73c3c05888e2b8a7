#pragma once

#include <span>

#include "base/standard.h"

struct gzFile_s;

namespace trainyard::data {

// Reads a file from front to back, gunzipping it when it is gzip and as it is otherwise.
// Errors name the file: config when it is missing or its gzip stream is broken.
class GzipFile {
 public:
  explicit GzipFile(std::filesystem::path path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  // Bytes read: fewer than asked only at the end of the file.
  std::size_t read(void* destination, std::size_t bytes);
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  gzFile_s* file_;
};

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  void update(const void* data, std::size_t bytes);
  std::string hex();  // ends the sum: 64 lower-case digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Reads in pieces: memory does not grow with the file.
std::string sha256_of_file(const std::filesystem::path& path);

// Compresses by deflate, as well as it can.
std::vector<std::byte> deflated(std::span<const std::byte> bytes);

// Returns what `stream` holds. Throws std::invalid_argument for a stream that is damaged, cut short, followed
// by other bytes, or that holds more than `most` bytes. Memory grows with what the stream holds.
std::vector<std::byte> inflated(std::span<const std::byte> stream, std::size_t most);

}  // namespace trainyard::data
