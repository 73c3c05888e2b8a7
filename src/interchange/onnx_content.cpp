#include "interchange/onnx_content.h"

#include "base/error.h"
#include "base/protobuf_wire.h"
#include "weights/tensor.h"

namespace trainyard::interchange {
namespace {

using weights::from_bf16;
using weights::from_f16;

template <typename T, typename Convert>
void append_raw(std::string_view raw, const Convert& convert, std::vector<double>& out) {
  for (std::size_t at = 0; at + sizeof(T) <= raw.size(); at += sizeof(T))
    out.push_back(convert(get_raw<T>(raw.substr(at))));
}

constexpr auto kAsItIs = [](auto number) { return static_cast<double>(number); };

std::vector<double> from_raw(const onnx::Tensor& tensor) {
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(tensor.elements()));
  const std::string_view raw = tensor.raw, type = tensor.dtype;
  if (type == "f32") append_raw<float>(raw, kAsItIs, out);
  if (type == "f64") append_raw<double>(raw, kAsItIs, out);
  if (type == "f16") append_raw<std::uint16_t>(raw, from_f16, out);
  if (type == "bf16") append_raw<std::uint16_t>(raw, from_bf16, out);
  if (type == "i32") append_raw<std::int32_t>(raw, kAsItIs, out);
  if (type == "i64") append_raw<std::int64_t>(raw, kAsItIs, out);
  if (type == "u8" || type == "bool") append_raw<std::uint8_t>(raw, kAsItIs, out);
  return out;
}

// Small types lie in the numbers of 32 bits, those of 16 bits as their patterns.
double from_varint(std::string_view type, std::uint64_t value) {
  if (type == "f16") return from_f16(static_cast<std::uint16_t>(value));
  if (type == "bf16") return from_bf16(static_cast<std::uint16_t>(value));
  return static_cast<double>(static_cast<std::int64_t>(value));
}

// Repeated numbers lie packed, or one a field.
std::vector<double> from_fields(const onnx::Tensor& tensor) {
  namespace id = onnx::field::tensor;
  std::vector<double> out;
  WireReader reader(tensor.message);
  while (const std::optional<WireField> f = reader.next()) {
    if (f->number == id::float_data && f->wire != Wire::varint) append_raw<float>(f->bytes, kAsItIs, out);
    if (f->number == id::double_data && f->wire != Wire::varint) append_raw<double>(f->bytes, kAsItIs, out);
    if (f->number != id::int32_data && f->number != id::int64_data) continue;
    if (f->wire == Wire::varint) {
      out.push_back(from_varint(tensor.dtype, f->value));
      continue;
    }
    WireReader packed(f->bytes);
    while (const std::optional<std::uint64_t> value = packed.next_varint())
      out.push_back(from_varint(tensor.dtype, *value));
  }
  return out;
}

}  // namespace

std::vector<double> read_content(const onnx::Tensor& tensor, const std::string& who) {
  if (tensor.external)
    fail(ErrorKind::config, "{}: the numbers of '{}' lie in another file; save the model as one file", who,
         tensor.name);
  if (!tensor.numbers.empty()) return tensor.numbers;
  std::vector<double> content = tensor.raw.empty() ? from_fields(tensor) : from_raw(tensor);
  if (static_cast<std::int64_t>(content.size()) != tensor.elements())
    fail(ErrorKind::config, "{}: '{}' is {}, and {} numbers of it can be read", who, tensor.name,
         TensorSpec{true, tensor.dims, tensor.dtype}.to_string(), content.size());
  return content;
}

Arrangement transposed_matrix(std::int64_t rows, std::int64_t columns) {
  return {fmt::format("transposed {}x{}", rows, columns), [rows, columns](const std::vector<double>& from) {
            std::vector<double> to(from.size());
            for (std::int64_t row = 0; row < rows; ++row)
              for (std::int64_t column = 0; column < columns; ++column)
                to[static_cast<std::size_t>(column * rows + row)] =
                    from[static_cast<std::size_t>(row * columns + column)];
            return to;
          }};
}

graph::Initializer FileWeights::initializer(const onnx::Tensor& tensor, const Arrangement& arrangement) {
  const std::string key = tensor.name + '\n' + arrangement.name;
  const MutexLock lock(mutex_);
  if (const auto found = read_.find(key); found != read_.end()) return found->second;
  std::vector<double> content = read_content(tensor, who_);
  if (arrangement.apply) content = arrangement.apply(std::move(content));
  return read_[key] = graph::Initializer::listed(std::move(content));
}

}  // namespace trainyard::interchange
