#include "engine/initialise.h"

#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "base/philox.h"
#include "tensor/bfloat16.h"

namespace trainyard::engine {
namespace {

using Kind = graph::Initializer::Kind;

// Box-Muller from the two words that belong to element i. Neighbours share a block of them, so it is kept.
class StandardNormals {
 public:
  explicit StandardNormals(const Philox& random) : random_(random) {}

  double at(std::uint64_t i) {
    if (i / 2 != number_) block_ = random_.block(number_ = i / 2);
    const std::size_t half = (i % 2) * 2;
    const double u = (static_cast<double>(block_[half]) + 0.5) * 0x1p-32;
    const double angle = 2 * std::numbers::pi * static_cast<double>(block_[half + 1]) * 0x1p-32;
    return std::sqrt(-2 * std::log(u)) * std::cos(angle);
  }

 private:
  const Philox& random_;
  std::uint64_t number_ = ~std::uint64_t{0};
  Philox::Block block_{};
};

double draw(const graph::Initializer& initializer, const Philox& random, StandardNormals& normals,
            std::uint64_t i) {
  constexpr std::uint64_t kRedraw = std::uint64_t{1} << 48;
  switch (initializer.kind) {
    case Kind::constant:
      return initializer.a;
    case Kind::uniform:
      return initializer.a + (initializer.b - initializer.a) * to_unit_float(random.word(i));
    case Kind::integers:
      return initializer.a + std::floor((initializer.b - initializer.a) * to_unit_float(random.word(i)));
    case Kind::listed:
      return initializer.numbers->at(static_cast<std::size_t>(i));
    case Kind::normal:
      return initializer.a + initializer.b * normals.at(i);
    case Kind::truncated_normal:
      for (std::uint64_t attempt = 0;; ++attempt) {
        const double z = normals.at(i + attempt * kRedraw);
        if (std::fabs(z) <= 2) return initializer.a + initializer.b * z;
      }
  }
  return 0;
}

template <typename T>
T number(double value) {
  return static_cast<T>(value);
}
template <>
BFloat16 number(double value) {
  return BFloat16(static_cast<float>(value));
}

template <typename T>
void fill_as(const graph::Initializer& initializer, const Philox& random, const LayoutIndex& index,
             bool plain, std::int64_t elements, T* data) {
  parallel_chunks(elements, 1 << 14, [&](std::int64_t begin, std::int64_t end, int) {
    StandardNormals normals(random);
    for (std::int64_t i = begin; i < end; ++i)
      data[plain ? i : index.offset_of(i)] =
          number<T>(draw(initializer, random, normals, static_cast<std::uint64_t>(i)));
  });
}

void fill_region(Executor& executor, plan::Region region, std::uint64_t seed) {
  AlignedBuffer staging;
  for (const plan::Buffer& buffer : executor.plan().buffers) {
    if (buffer.region != region) continue;
    const graph::Initializer& initializer = executor.graph().value(buffer.value).initializer;
    // Most of an optimizer's state, which may be most of the memory.
    if (initializer.kind == Kind::constant && initializer.a == 0) {
      executor.clear(buffer);
      continue;
    }
    executor.make(
        buffer,
        [&](std::byte* data) { fill(initializer, buffer.name, seed, buffer.type, buffer.layout, data); },
        staging);
  }
}

}  // namespace

void fill(const graph::Initializer& initializer, const std::string& name, std::uint64_t seed,
          const graph::TensorType& type, const Layout& layout, std::byte* data) {
  const Philox random(seed, stream_of(name.substr(0, name.find(':')).c_str()));
  const LayoutIndex index(layout, type.shape);
  const std::int64_t elements = type.shape.elements();
  const bool plain = layout.is_plain();
  switch (type.dtype) {
    case DType::f32:
      return fill_as(initializer, random, index, plain, elements, reinterpret_cast<float*>(data));
    case DType::f64:
      return fill_as(initializer, random, index, plain, elements, reinterpret_cast<double*>(data));
    case DType::i32:
      return fill_as(initializer, random, index, plain, elements, reinterpret_cast<std::int32_t*>(data));
    case DType::bf16:
      return fill_as(initializer, random, index, plain, elements, reinterpret_cast<BFloat16*>(data));
    case DType::u8:
      return fill_as(initializer, random, index, plain, elements, reinterpret_cast<std::uint8_t*>(data));
  }
}

void initialise_state(Executor& executor, std::uint64_t seed) {
  fill_region(executor, plan::Region::parameters, seed);
  fill_region(executor, plan::Region::statistics, seed);
}

void initialise_optimizer(Executor& executor, std::uint64_t seed) {
  fill_region(executor, plan::Region::optimizer_state, seed);
}

void initialise_inputs(Executor& executor, std::uint64_t seed) {
  fill_region(executor, plan::Region::inputs, seed);
}

}  // namespace trainyard::engine
