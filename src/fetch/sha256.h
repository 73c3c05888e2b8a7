#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace trainyard::fetch {

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

}  // namespace trainyard::fetch
