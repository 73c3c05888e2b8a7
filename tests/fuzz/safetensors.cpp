#include "weights/safetensors.h"

#include <cstring>
#include <span>

#include "fuzz/targets.h"

namespace trainyard::fuzz {
namespace {

void read_safetensors(std::string_view bytes) {
  for (const weights::Tensor& tensor : weights::parse_safetensors(std::as_bytes(std::span(bytes)), "fuzz"))
    weights::numbers_of(tensor);
}

std::vector<std::byte> zeros(std::size_t bytes) { return std::vector<std::byte>(bytes); }

}  // namespace

std::vector<std::string> safetensors_seeds() {
  std::string file;
  weights::write_safetensors({{"w", weights::Element::f32, {2, 3}, [] { return zeros(24); }},
                              {"n", weights::Element::i64, {}, [] { return zeros(8); }},
                              {"h", weights::Element::bf16, {5}, [] { return zeros(10); }}},
                             {{"network", "lenet"}}, [&](std::string_view piece) { file += piece; });
  return {file};
}

// As a whole file, and as a header whose length is right: most changes of the length would else hide it.
void fuzz_safetensors(std::string_view bytes) {
  expect_error_or_result("safetensors", read_safetensors, bytes);
  std::uint64_t length = bytes.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  expect_error_or_result("safetensors", read_safetensors, file.append(bytes).append(42, '\1'));
}

}  // namespace trainyard::fuzz
