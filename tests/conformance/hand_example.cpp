#include "hand_example.h"

#include <gtest/gtest.h>

namespace trainyard::conformance {

using graph::Role;
using graph::ValueId;

ValueId HandExample::add(const std::string& name, const Shape& shape, Role role, Numbers numbers) {
  const ValueId value = graph.add_state(name, {shape, DType::f64}, role,
                                        graph::Initializer::constant(numbers.empty() ? 0 : numbers[0]));
  set(value, std::move(numbers));
  return value;
}

ValueId HandExample::input(const std::string& name, const Shape& shape, Numbers numbers) {
  return add(name, shape, Role::input, std::move(numbers));
}

ValueId HandExample::integers(const std::string& name, const Shape& shape, Numbers numbers) {
  const ValueId value = graph.add_input(name, {shape, DType::i32});
  set(value, std::move(numbers));
  return value;
}

ValueId HandExample::labels(const std::string& name, Numbers numbers) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return integers(name, {count}, std::move(numbers));
}

ValueId HandExample::parameter(const std::string& name, const Shape& shape, Numbers numbers) {
  return add(name, shape, Role::parameter, std::move(numbers));
}

ValueId HandExample::statistic(const std::string& name, const Shape& shape, Numbers numbers) {
  return add(name, shape, Role::statistic, std::move(numbers));
}

void HandExample::set(ValueId value, Numbers numbers) {
  TRAINYARD_CHECK(static_cast<std::int64_t>(numbers.size()) == graph.shape(value).elements());
  given_.emplace_back(value, std::move(numbers));
}

void HandExample::run(const backend::StepContext& context) {
  if (values_.empty()) values_ = first_values(graph, context.seed);
  for (const auto& [value, numbers] : given_) {
    const HostTensor& tensor = values_[static_cast<std::size_t>(value)];
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (tensor.dtype() == DType::i32)
        tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(numbers[i]);
      else
        tensor.as<double>()[i] = numbers[i];
    }
  }
  given_.clear();
  values_ = run_graph(graph, *backend::make_reference_backend(), values_, {.context = context}).values;
}

HandExample::Numbers HandExample::operator[](ValueId value) const {
  const HostTensor& tensor = values_[static_cast<std::size_t>(value)];
  if (tensor.dtype() == DType::u8) {
    const auto bytes = tensor.as<std::uint8_t>();
    return {bytes.begin(), bytes.end()};
  }
  if (tensor.dtype() == DType::i32) {
    const auto integers = tensor.as<std::int32_t>();
    return {integers.begin(), integers.end()};
  }
  const auto numbers = tensor.as<double>();
  return {numbers.begin(), numbers.end()};
}

void expect_near(const HandExample::Numbers& got, const HandExample::Numbers& want, double error) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], error) << "at " << i;
}

}  // namespace trainyard::conformance
