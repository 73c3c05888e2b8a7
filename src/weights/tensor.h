#pragma once

#include "base/error.h"
#include "base/standard.h"

namespace trainyard::weights {

// The types of numbers that files of weights have.
enum class Element : std::uint8_t { f32, f64, f16, bf16, i64, i32, i16, i8, u8, boolean };

const char* name(Element element);
std::size_t size_of(Element element);
bool is_float(Element element);

double from_f16(std::uint16_t bits);
double from_bf16(std::uint16_t bits);

// A Tensor is a view of numbers that lie in a file, which must outlive it.
struct Tensor {
  std::string name;
  Element element = Element::f32;
  std::vector<std::int64_t> dims, strides;  // strides count elements
  std::span<const std::byte> content;       // from the first element on, and no element lies behind it

  std::int64_t elements() const;  // 1 for a scalar
  std::string to_string() const;  // "f16 64x3x7x7"
};

// Returns the numbers in plain order.
std::vector<double> numbers_of(const Tensor& tensor);

// Returns the strides of a tensor that lies in plain order.
std::vector<std::int64_t> plain_strides(const std::vector<std::int64_t>& dims);

// Error (config), beginning with '`who`', for two tensors of one name.
void check_names(const std::vector<Tensor>& tensors, const std::string& who);

}  // namespace trainyard::weights
