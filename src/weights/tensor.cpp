#include "weights/tensor.h"

#include <bit>
#include <cmath>
#include <unordered_set>

namespace trainyard::weights {
namespace {

struct Row {
  const char* name;
  std::size_t bytes;
};
constexpr Row kRows[] = {{"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2}, {"i64", 8},
                         {"i32", 4}, {"i16", 2}, {"i8", 1},  {"u8", 1},   {"bool", 1}};

const Row& row_of(Element element) { return kRows[static_cast<std::size_t>(element)]; }

template <typename T>
T raw(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

double number_at(Element element, const std::byte* from) {
  switch (element) {
    case Element::f32:
      return static_cast<double>(raw<float>(from));
    case Element::f64:
      return raw<double>(from);
    case Element::f16:
      return from_f16(raw<std::uint16_t>(from));
    case Element::bf16:
      return from_bf16(raw<std::uint16_t>(from));
    case Element::i64:
      return static_cast<double>(raw<std::int64_t>(from));
    case Element::i32:
      return raw<std::int32_t>(from);
    case Element::i16:
      return raw<std::int16_t>(from);
    case Element::i8:
      return raw<std::int8_t>(from);
    case Element::u8:
    case Element::boolean:
      return raw<std::uint8_t>(from);
  }
  return 0;
}

}  // namespace

const char* name(Element element) { return row_of(element).name; }
std::size_t size_of(Element element) { return row_of(element).bytes; }
bool is_float(Element element) { return element <= Element::bf16; }

double from_f16(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  const double size = exponent == 0    ? std::ldexp(fraction, -24)
                      : exponent == 31 ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                        : std::numeric_limits<double>::quiet_NaN())
                                       : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -size : size;
}

double from_bf16(std::uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
}

std::int64_t Tensor::elements() const {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

std::string Tensor::to_string() const {
  std::string shape;
  for (const std::int64_t dim : dims) shape += fmt::format("{}{}", shape.empty() ? "" : "x", dim);
  return fmt::format("{} {}", weights::name(element), shape.empty() ? "scalar" : shape);
}

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers(static_cast<std::size_t>(tensor.elements()));
  const std::size_t bytes = size_of(tensor.element);
  std::vector<std::int64_t> index(tensor.dims.size(), 0);
  std::int64_t place = 0;
  for (double& number : numbers) {
    number = number_at(tensor.element, tensor.content.data() + static_cast<std::size_t>(place) * bytes);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      place += tensor.strides[axis];
      if (++index[axis] < tensor.dims[axis]) break;
      place -= tensor.strides[axis] * tensor.dims[axis];
      index[axis] = 0;
    }
  }
  return numbers;
}

std::vector<std::int64_t> plain_strides(const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

void check_names(const std::vector<Tensor>& tensors, const std::string& who) {
  std::unordered_set<std::string_view> names;
  for (const Tensor& tensor : tensors)
    if (!names.insert(tensor.name).second)
      fail(ErrorKind::config, "'{}': tensor '{}' occurs twice", who, tensor.name);
}

}  // namespace trainyard::weights
