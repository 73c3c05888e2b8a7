#include <span>

#include "fuzz/targets.h"
#include "weights/state_dict.h"
#include "weights/test_state_dict.h"

namespace trainyard::fuzz {
namespace {

void read_state_dict(std::string_view bytes) {
  for (const weights::Tensor& tensor : weights::parse_state_dict(std::as_bytes(std::span(bytes)), "fuzz"))
    weights::numbers_of(tensor);
}

}  // namespace

std::string with_wide_sizes(std::string_view pickle) {
  return weights::make_wide_zip(
      {{"archive/data.pkl", std::string(pickle)}, {"archive/data/7", weights::float_bytes(6, 1)}});
}

std::vector<std::string> state_dict_seeds() {
  return {weights::small_state_dict(), with_wide_sizes(weights::pickled_dict({}))};
}

// As a whole file, and as a pickle in an archive that is right: its checksums would else hide the pickle.
void fuzz_state_dict(std::string_view bytes) {
  expect_error_or_result("state_dict", read_state_dict, bytes);
  const std::string archive = weights::make_zip(
      {{"archive/data.pkl", std::string(bytes)}, {"archive/data/7", weights::float_bytes(6, 1)}});
  expect_error_or_result("state_dict", read_state_dict, archive);
}

}  // namespace trainyard::fuzz
