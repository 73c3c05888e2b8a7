#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"
#include "predict/gnn/state_dict.h"
#include "predict/gnn/test_state_dict.h"

namespace {

void read(const std::string& file) {
  try {
    trainyard::predict::parse_state_dict(std::as_bytes(std::span(file.data(), file.size())), "fuzz");
  } catch (const trainyard::Error& error) {
    if (error.kind() != trainyard::ErrorKind::config) __builtin_trap();
  }
}

}  // namespace

// As a whole file, and as a pickle in an archive that is right: its checksums would else hide the pickle.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  read(input);
  read(trainyard::predict::make_zip(
      {{"archive/data.pkl", input}, {"archive/data/7", trainyard::predict::float_bytes(6, 1)}}));
  return 0;
}
