#include "ops/dropout.h"

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/list.h"
#include "base/philox.h"

namespace trainyard::backend::onednn {
namespace {

// Philox4x32-10 on kLanes counters at once: the lanes run in one vector register.
constexpr int kLanes = 16;
struct Lanes {
  std::uint32_t word[4][kLanes];
};

void philox_lanes(std::uint64_t seed, std::uint64_t stream, std::uint64_t first_block, Lanes& out) {
  std::uint32_t c[4][kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const std::uint64_t block = first_block + static_cast<std::uint64_t>(l);
    c[0][l] = static_cast<std::uint32_t>(block);
    c[1][l] = static_cast<std::uint32_t>(block >> 32);
    c[2][l] = static_cast<std::uint32_t>(stream);
    c[3][l] = static_cast<std::uint32_t>(stream >> 32);
  }
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int l = 0; l < kLanes; ++l) {
      const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c[0][l], p1 = std::uint64_t{0xCD9E8D57} * c[2][l];
      c[0][l] = static_cast<std::uint32_t>(p1 >> 32) ^ c[1][l] ^ key0;
      c[2][l] = static_cast<std::uint32_t>(p0 >> 32) ^ c[3][l] ^ key1;
      c[1][l] = static_cast<std::uint32_t>(p1);
      c[3][l] = static_cast<std::uint32_t>(p0);
    }
    key0 += 0x9E3779B9;
    key1 += 0xBB67AE85;
  }
  std::copy(&c[0][0], &c[0][0] + 4 * kLanes, &out.word[0][0]);
}

void run(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::DropoutAttrs>();
  const std::uint64_t stream = mix_streams(static_cast<std::uint64_t>(arguments.context.step), attrs.stream);
  const float* x = arguments.input<float>(0);
  float* y = arguments.output<float>(0);
  const auto rate = static_cast<float>(attrs.rate);
  const float scale = 1 / (1 - rate);
  constexpr std::int64_t kChunk = 4 * kLanes;
  const std::int64_t count = arguments.node.output_shape(0).elements();
  parallel_chunks((count + kChunk - 1) / kChunk, 64, [&](std::int64_t begin, std::int64_t end, int) {
    Lanes lanes;
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      philox_lanes(arguments.context.seed, stream, static_cast<std::uint64_t>(chunk) * kLanes, lanes);
      const std::int64_t base = chunk * kChunk, here = std::min(kChunk, count - base);
      for (std::int64_t i = 0; i < here; ++i)
        y[base + i] = to_unit_float(lanes.word[i % 4][i / 4]) >= rate ? x[base + i] * scale : 0;
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
