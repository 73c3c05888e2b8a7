// This is libFuzzer's entry. CMake sets TRAINYARD_FUZZ_TARGET to the name of the target.

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "fuzz/targets.h"

namespace {

const trainyard::fuzz::Target& target() {
  for (const trainyard::fuzz::Target& candidate : trainyard::fuzz::kTargets)
    if (std::strcmp(candidate.name, TRAINYARD_FUZZ_TARGET) == 0) return candidate;
  std::abort();
}

}  // namespace

// Seeds go into the folder that is given first, where libFuzzer looks for what to begin from.
extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  if (*count < 2 || (*words)[1][0] == '-') return 0;
  const std::filesystem::path folder = (*words)[1];
  if (!std::filesystem::is_directory(folder)) return 0;
  int number = 0;
  for (const std::string& seed : target().seeds())
    std::ofstream(folder / ("seed-" + std::to_string(number++)), std::ios::binary) << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target().run({reinterpret_cast<const char*>(data), size});
  return 0;
}
