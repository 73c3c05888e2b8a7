#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "fuzz/model_bytes.h"
#include "fuzz/targets.h"
#include "predict/kernels/kernel_model.h"

namespace trainyard::fuzz {
namespace {

using predict::ModelContainer;
using predict::ModelTensor;

predict::KernelModel small_model() {
  predict::KernelObservation kernel;
  kernel.shape = {
      .kind = "dense", .op = "dense", .flops = 1e6, .rows = 8, .columns = 10, .inner = 100, .bytes = 1e4};
  kernel.seconds = 1e-5;
  kernel.error = 0.1;
  predict::DeviceRates device{
      .device = {"here", 1e12, 1e11, 5e-6, 8e9, 20}, .rates = {1e11, 1e10, 1e-6, 8, 20, 1}, .runs = 1};
  predict::KernelModel model({device}, {kernel, kernel}, {{.logarithm = 0.1}});
  model.networks = {"lenet"};
  model.runs = 1;
  model.intervals.halves = {0.1, 0.2, 0.3};
  predict::DeviceOverhead memory{.device = "here", .backend = "cuda", .runs = 1, .overhead = {1e7}};
  memory.habits = {{.op = "conv2d", .node = {1e4, 1e4, 1e3}, .ratio = 0.5}};
  model.memory = predict::KernelMemory({memory});
  return model;
}

// Writes a model that was read, and reads it again.
void read_and_write(const ModelContainer& container) {
  const predict::KernelModel model = predict::parse_kernel_model(container, "fuzz");
  predict::parse_kernel_model(predict::to_container(model), "fuzz");
}

void read_kernel_model_bytes(std::string_view bytes) {
  read_and_write(predict::parse_model_container(std::as_bytes(std::span(bytes)), "fuzz"));
}

// A line that describes the model, then for each of its tensors a byte that says how many rows, and these, as
// far as the bytes go. Names, columns and version are those of a model that we write: past the container and
// its checksums, which model_file looks at.
void read_rows(std::string_view bytes) {
  static const ModelContainer like = predict::to_container(small_model());
  ModelContainer container = like;
  const std::size_t line = std::min(bytes.find('\n'), bytes.size());
  container.description = bytes.substr(0, line);
  bytes.remove_prefix(std::min(line + 1, bytes.size()));
  for (ModelTensor& tensor : container.tensors) {
    const auto columns = static_cast<std::size_t>(tensor.shape[tensor.shape.rank() - 1]);
    const std::size_t row = columns * sizeof(double);
    std::size_t rows = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(std::min<std::size_t>(1, bytes.size()));
    rows = std::min(rows, bytes.size() / row);
    std::vector<double> numbers(rows * columns);
    if (rows > 0) std::memcpy(numbers.data(), bytes.data(), rows * row);
    bytes.remove_prefix(rows * row);
    tensor.shape = Shape{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
    tensor.numbers = std::move(numbers);
  }
  read_and_write(container);
}

std::string rows_of(const ModelContainer& container) {
  std::string bytes = container.description + "\n";
  for (const ModelTensor& tensor : container.tensors) {
    const std::vector<double>& numbers = *tensor.as<double>();
    bytes += static_cast<char>(tensor.shape[0]);
    bytes.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
  }
  return bytes;
}

}  // namespace

std::vector<std::string> kernel_model_seeds() {
  const ModelContainer full = predict::to_container(small_model()),
                       empty = predict::to_container(predict::KernelModel());
  for (const ModelContainer* const seed : {&full, &empty}) read_and_write(*seed);  // none is refused
  return {bytes_of(full), rows_of(full), rows_of(empty)};
}

void fuzz_kernel_model(std::string_view bytes) {
  expect_error_or_result("kernel_model", read_kernel_model_bytes, bytes);
  expect_error_or_result("kernel_model", read_rows, bytes);
}

}  // namespace trainyard::fuzz
