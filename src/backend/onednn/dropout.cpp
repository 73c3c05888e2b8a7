#include "ops/dropout.h"

#include <algorithm>
#include <cstring>

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/list.h"
#include "base/philox.h"

namespace trainyard::backend::onednn {
namespace {

// Philox4x32-10 on kLanes counters at once, one 64-bit lane each, so that the products need no shuffling.
// Writes the 4 * kLanes words in the order of Philox::word().
constexpr int kLanes = 8;
typedef std::uint64_t Lanes __attribute__((vector_size(kLanes * 8)));

void philox_words(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block, std::uint32_t* words) {
  constexpr std::uint64_t kLow = 0xFFFFFFFF;
  const Lanes index = Lanes{0, 1, 2, 3, 4, 5, 6, 7} + first_block;
  Lanes c0 = index & kLow, c1 = index >> 32, c2 = Lanes{} + (stream & kLow), c3 = Lanes{} + (stream >> 32);
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Lanes p0 = c0 * std::uint64_t{0xD2511F53}, p1 = c2 * std::uint64_t{0xCD9E8D57};
    c0 = (p1 >> 32) ^ c1 ^ key0;
    c2 = (p0 >> 32) ^ c3 ^ key1;
    c1 = p1 & kLow;
    c3 = p0 & kLow;
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  // Two words side by side in each lane, then the lanes of both halves interleave.
  const Lanes low = c0 | (c1 << 32), high = c2 | (c3 << 32);
  const Lanes first = __builtin_shuffle(low, high, Lanes{0, 8, 1, 9, 2, 10, 3, 11});
  const Lanes second = __builtin_shuffle(low, high, Lanes{4, 12, 5, 13, 6, 14, 7, 15});
  std::memcpy(words, &first, sizeof first);
  std::memcpy(words + 2 * kLanes, &second, sizeof second);
}

constexpr std::int64_t kChunk = 4 * kLanes;

void drop_chunk(const std::uint32_t* words, std::int64_t count, float rate, float scale, const float* x,
                float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) y[i] = to_unit_float(words[i]) >= rate ? x[i] * scale : 0;
}

void run(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::DropoutAttrs>();
  const std::uint64_t stream = mix_streams(static_cast<std::uint64_t>(arguments.context.step), attrs.stream);
  const auto rate = static_cast<float>(attrs.rate);
  const std::int64_t count = arguments.node.output_shape(0).elements();
  parallel_chunks((count + kChunk - 1) / kChunk, 64, [&](std::int64_t begin, std::int64_t end, int) {
    std::uint32_t words[kChunk];
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      philox_words(arguments.context.seed, stream, static_cast<std::uint64_t>(chunk) * kLanes, words);
      const std::int64_t at = chunk * kChunk;
      drop_chunk(words, std::min(kChunk, count - at), rate, 1 / (1 - rate), arguments.input<float>(0) + at,
                 arguments.output<float>(0) + at);
    }
  });
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// The mask belongs to logical elements, hence plain layout.
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, KernelIo{{Layout{}}, {Layout{}}, 0, {{0, 0}}}, run);
}

}  // namespace

std::vector<Candidate> dropout_candidates() { return {{&ops::dropout_op, "own:dropout", accept, make}}; }

}  // namespace trainyard::backend::onednn
