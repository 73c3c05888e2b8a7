#pragma once

// The parts of an ONNX model that we read or write, as plain data. Names follow ONNX.

#include "interchange/interchange_graph.h"

namespace trainyard::interchange::onnx {

// The reader reads the content when it is small; the rest stays in place in the file.
struct Tensor {
  std::string name, doc;
  std::string dtype;  // as in TensorSpec; empty: a type without a name here
  std::vector<std::int64_t> dims;
  std::vector<double> numbers;  // at most kReadNumbers; empty: more, none or not readable
  std::string_view raw;         // in the file that was read
  std::string_view message{};   // of the whole tensor there
  bool external = false;        // its content lies in another file
  // The writer calls this to make the content, little-endian and in plain order.
  std::function<std::vector<std::byte>()> content = nullptr;

  std::int64_t elements() const;  // kUnknown where dimensions are wrong
};
inline constexpr std::int64_t kReadNumbers = 4096;

struct Attribute {
  enum class Kind : std::uint8_t { number, integer, text, tensor, numbers, integers, other };
  std::string name;
  Kind kind = Kind::other;
  double number = 0;
  std::int64_t integer = 0;
  std::string text;
  std::vector<std::int64_t> integers = {};
  std::vector<double> numbers = {};
  std::vector<Tensor> tensor = {};  // one, or none

  std::string to_string() const;
};

struct Node {
  std::string name, type, domain;
  std::vector<std::string> inputs, outputs;  // an empty name: left out
  std::vector<Attribute> attributes;

  const Attribute* find(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  double number(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(std::string_view attribute) const;
};

// Describes an input, an output, or a tensor in between. A dimension that has a name is kUnknown.
struct ValueInfo {
  std::string name, doc;
  TensorSpec spec;
};

struct Model {
  std::string producer, graph_name;
  std::int64_t ir_version = 0;
  std::int64_t opset = 0;  // of ONNX's own operators
  std::vector<Node> nodes;
  std::vector<Tensor> initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};

// ONNX's number of an element type, 0 when it has none; and back, empty when unknown.
std::int64_t number_of_type(std::string_view dtype);
std::string type_of_number(std::int64_t number);

// Error (config) begins with `who`. The model's tensors point into `bytes`.
Model read_model(std::string_view bytes, const std::string& who);

// Writes the model piece by piece, one tensor's content at a time.
void write_model(const Model& model, const std::function<void(std::string_view)>& write);

}  // namespace trainyard::interchange::onnx

namespace trainyard::interchange::onnx::field {

// These are the field numbers of the messages in ONNX's onnx.proto (IR version 8) that we read or write.
// NOLINTBEGIN(readability-identifier-naming): they are named as there

namespace model {
inline constexpr unsigned ir_version = 1, producer_name = 2, producer_version = 3, graph = 7,
                          opset_import = 8;
}
namespace opset {
inline constexpr unsigned domain = 1, version = 2;
}
namespace graph {
inline constexpr unsigned node = 1, name = 2, initializer = 5, input = 11, output = 12, value_info = 13;
}
namespace node {
inline constexpr unsigned input = 1, output = 2, name = 3, op_type = 4, attribute = 5, domain = 7;
}
namespace attribute {
inline constexpr unsigned name = 1, f = 2, i = 3, s = 4, t = 5, floats = 7, ints = 8, type = 20;
inline constexpr unsigned is_float = 1, is_int = 2, is_string = 3, is_tensor = 4, is_floats = 6, is_ints = 7;
}  // namespace attribute
namespace tensor {
inline constexpr unsigned dims = 1, data_type = 2, float_data = 4, int32_data = 5, int64_data = 7, name = 8,
                          raw_data = 9, double_data = 10, doc_string = 12, external_data = 13;
}
namespace value_info {
inline constexpr unsigned name = 1, type = 2, doc_string = 3;
}
namespace type {
inline constexpr unsigned tensor_type = 1;
}
namespace tensor_type {
inline constexpr unsigned elem_type = 1, shape = 2;
}
namespace shape {
inline constexpr unsigned dim = 1;
}
namespace dim {
inline constexpr unsigned value = 1;
}
// NOLINTEND(readability-identifier-naming)

}  // namespace trainyard::interchange::onnx::field
