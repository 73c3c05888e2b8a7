#include "engine/canonical.h"

#include <numbers>

#include "base/parallel.h"

namespace trainyard::engine {

using plan::Region;

std::vector<const plan::Buffer*> tensors_in(const plan::StepPlan& plan, Region region) {
  std::vector<const plan::Buffer*> buffers;
  for (const plan::Buffer& buffer : plan.buffers)
    if (buffer.region == region) buffers.push_back(&buffer);
  std::sort(buffers.begin(), buffers.end(),
            [](const auto* a, const auto* b) { return a->offset < b->offset; });
  return buffers;
}

CanonicalArray CanonicalArray::parameters(Executor& executor) {
  return {executor, tensors_in(executor.plan(), Region::parameters)};
}

CanonicalArray CanonicalArray::gradients(Executor& executor) {
  return {executor, tensors_in(executor.plan(), Region::gradients)};
}

CanonicalArray CanonicalArray::statistics(Executor& executor) {
  return {executor, tensors_in(executor.plan(), Region::statistics)};
}

CanonicalArray CanonicalArray::slot(Executor& executor, int number) {
  const auto all = tensors_in(executor.plan(), Region::optimizer_state);
  const auto count = static_cast<std::ptrdiff_t>(tensors_in(executor.plan(), Region::parameters).size());
  TRAINYARD_CHECK((number + 1) * count <= static_cast<std::ptrdiff_t>(all.size()));
  return {executor, {all.begin() + number * count, all.begin() + (number + 1) * count}};
}

CanonicalArray::CanonicalArray(Executor& executor, const std::vector<const plan::Buffer*>& buffers)
    : executor_(executor), region_(buffers.empty() ? Region::statistics : buffers.front()->region) {
  if (!buffers.empty()) begin_ = buffers.front()->offset;
  native_ = executor.on_host();
  std::size_t rounded_bytes = 0;
  for (const plan::Buffer* buffer : buffers) {
    TRAINYARD_CHECK(buffer->offset == begin_ + bytes_);
    const auto& [shape, dtype] = buffer->type;
    TRAINYARD_CHECK(dtype == DType::f32 || dtype == DType::bf16);
    const bool rounded = dtype == DType::bf16;
    if (rounded) rounded_bytes = std::max(rounded_bytes, static_cast<std::size_t>(buffer->type.bytes()));
    native_ = native_ && !rounded && Layout::same_placement(buffer->layout, {}, shape) &&
              bytes_ == static_cast<std::size_t>(elements_) * sizeof(float);
    tensors_.push_back(
        {bytes_, {elements_, shape.elements()}, rounded, PlainOrder(buffer->layout, shape, dtype)});
    bytes_ += buffer->bytes;
    elements_ += shape.elements();
  }
  if (rounded_bytes > 0) rounded_ = AlignedBuffer(rounded_bytes);
  if (executor.on_host() || bytes_ == 0) return;
  pinned_ = executor.device().make_copy_queue(1, bytes_);
  if (pinned_ == nullptr) pageable_ = AlignedBuffer(bytes_);
  staging_ = pinned_ != nullptr ? pinned_->host() : pageable_.data();
  // scatter() leaves the gaps between tensors alone.
  std::fill_n(staging_, bytes_, std::byte{0});
}

std::span<float> CanonicalArray::floats() const {
  TRAINYARD_CHECK(native_);
  return {reinterpret_cast<float*>(memory()), static_cast<std::size_t>(elements_)};
}

void CanonicalArray::gather(const Tensor& tensor, const std::byte* memory, std::span<float> to) const {
  float* plain = to.data() + tensor.place.first;
  const std::int64_t count = tensor.place.elements;
  if (!tensor.rounded)
    return tensor.order.gather(memory + tensor.offset, 0, count, reinterpret_cast<std::byte*>(plain));
  tensor.order.gather(memory + tensor.offset, 0, count, rounded_.data());
  const auto* numbers = reinterpret_cast<const BFloat16*>(rounded_.data());
  parallel_chunks(count, 1 << 15, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin; i < end; ++i) plain[i] = static_cast<float>(numbers[i]);
  });
}

void CanonicalArray::gather(std::span<float> to) const {
  TRAINYARD_CHECK(static_cast<std::int64_t>(to.size()) == elements_);
  if (staging_ != nullptr) executor_.device().read(memory(), staging_, bytes_);
  for (const Tensor& tensor : tensors_) gather(tensor, staging_ != nullptr ? staging_ : memory(), to);
}

void CanonicalArray::scatter(std::span<const float> from) {
  TRAINYARD_CHECK(static_cast<std::int64_t>(from.size()) == elements_);
  for (const Tensor& tensor : tensors_) {
    TRAINYARD_CHECK(!tensor.rounded);
    tensor.order.scatter(reinterpret_cast<const std::byte*>(from.data() + tensor.place.first), 0,
                         tensor.place.elements, (staging_ != nullptr ? staging_ : memory()) + tensor.offset);
  }
  if (staging_ != nullptr) executor_.device().write(memory(), staging_, bytes_);
  if (region_ == Region::parameters) executor_.parameters_changed();
}

Stretch CanonicalArray::gather(const Stretch& of_region, std::span<float> to) const {
  TRAINYARD_CHECK(staging_ == nullptr && static_cast<std::int64_t>(to.size()) == elements_);
  const auto bytes = [&](std::int64_t element) {
    return static_cast<std::size_t>(element) * sizeof(float) - begin_;
  };
  auto tensor = std::lower_bound(tensors_.begin(), tensors_.end(), bytes(of_region.first),
                                 [](const Tensor& each, std::size_t offset) { return each.offset < offset; });
  TRAINYARD_CHECK(tensor != tensors_.end() && tensor->offset == bytes(of_region.first));
  Stretch place{tensor->place.first, 0};
  for (; tensor != tensors_.end() && tensor->offset < bytes(of_region.end()); ++tensor) {
    gather(*tensor, memory(), to);
    place.elements += tensor->place.elements;
  }
  return place;
}

void run_gradients(Executor& executor, const backend::StepContext& context, const CanonicalArray& gradients,
                   std::span<float> to, const Executor::Ready& ready) {
  if (!executor.on_host()) {
    executor.run_gradients(context);
    gradients.gather(to);
    return ready(0, gradients.elements());
  }
  const auto tell = [&](std::int64_t first, std::int64_t elements) {
    const Stretch place = gradients.gather({first, elements}, to);
    ready(place.first, place.elements);
  };
  executor.run_gradients(context, std::ref(tell));  // by reference: a function of so many would be allocated
}

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
    // This case covers most of an optimizer's state, which may be most of the memory.
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
