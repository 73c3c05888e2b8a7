#include "interchange/onnx_model.h"

#include <iterator>

#include "base/text.h"
#include "interchange/text_format.h"

namespace trainyard::interchange::onnx {
namespace {

constexpr std::size_t kShownItems = 16;

template <typename T>
std::string list_text(const std::vector<T>& items) {
  const auto shown = items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), kShownItems));
  return fmt::format("{}{}", joined(std::span(items.begin(), shown), ","),
                     items.size() > kShownItems ? ",..." : "");
}

// TensorProto.DataType of onnx.proto, by number; no name where Trainyard has no use for it.
constexpr std::string_view kTypes[] = {"",     "f32", "u8",  "i8",  "u16", "i16", "i32",  "i64", "",
                                       "bool", "f16", "f64", "u32", "u64", "c64", "c128", "bf16"};

}  // namespace

std::int64_t number_of_type(std::string_view dtype) {
  for (std::size_t i = 1; i < std::size(kTypes); ++i)
    if (!dtype.empty() && kTypes[i] == dtype) return static_cast<std::int64_t>(i);
  return 0;
}

std::string type_of_number(std::int64_t number) {
  return number > 0 && number < static_cast<std::int64_t>(std::size(kTypes))
             ? std::string(kTypes[static_cast<std::size_t>(number)])
             : std::string();
}

std::int64_t Tensor::elements() const { return TensorSpec{true, dims, dtype}.elements().value_or(kUnknown); }

std::string Attribute::to_string() const {
  switch (kind) {
    case Kind::number:
      return fmt::format("{}", number);
    case Kind::integer:
      return fmt::format("{}", integer);
    case Kind::text:
      return text.substr(0, 64);
    case Kind::tensor:
      return tensor.empty() ? "tensor" : TensorSpec{true, tensor[0].dims, tensor[0].dtype}.to_string();
    case Kind::numbers:
      return list_text(numbers);
    case Kind::integers:
      return list_text(integers);
    case Kind::other:
      break;
  }
  return "...";
}

const Attribute* Node::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute) return &candidate;
  return nullptr;
}

std::int64_t Node::integer(std::string_view attribute, std::int64_t otherwise) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::integer ? found->integer : otherwise;
}

double Node::number(std::string_view attribute, double otherwise) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::number ? found->number : otherwise;
}

std::string Node::text(std::string_view attribute, const std::string& otherwise) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::text ? found->text : otherwise;
}

std::vector<std::int64_t> Node::integers(std::string_view attribute) const {
  const Attribute* found = find(attribute);
  return found != nullptr && found->kind == Attribute::Kind::integers ? found->integers
                                                                      : std::vector<std::int64_t>{};
}

}  // namespace trainyard::interchange::onnx
