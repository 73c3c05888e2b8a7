#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "fuzz/targets.h"
#include "predict/runs/model_container.h"
#include "predict/runs/test_container.h"

namespace trainyard::fuzz {

inline std::string bytes_of(const predict::ModelContainer& model) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("trainyard-fuzz-" + std::to_string(::getpid()) + ".model");
  predict::write_model_container(path, model);
  const std::vector<std::byte> bytes = read_file(path);
  std::filesystem::remove(path);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Reads the bytes as a file, and as the header of a file.
inline void read_both(const char* target, void (*read)(std::string_view), std::string_view bytes) {
  expect_error_or_result(target, read, bytes);
  constexpr std::size_t kZeros = 28;
  expect_error_or_result(target, read, predict::with_model_header(std::string(bytes), kZeros));
}

}  // namespace trainyard::fuzz
