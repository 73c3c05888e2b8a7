#include <charconv>
#include <type_traits>

#include "base/error.h"
#include "base/protobuf_wire.h"
#include "interchange/onnx_model.h"
#include "interchange/text_format.h"

namespace trainyard::interchange::onnx {
namespace {

// Returns a float as its shortest decimal number: 0.2, not 0.200000003.
double meant_by(float value) {
  char digits[32];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  double meant = 0;
  std::from_chars(digits, end.ptr, meant);
  return meant;
}
double meant_by(double value) { return value; }

class ModelReader {
 public:
  explicit ModelReader(const std::string& who) : who_(who) {}

  Model read(std::string_view bytes) {
    Model model;
    bool has_graph = false;
    each_field(bytes, "model", [&](const WireField& f) {
      if (f.number == field::model::ir_version) model.ir_version = integer(f);
      if (f.number == field::model::producer_name) model.producer = text(f);
      if (f.number == field::model::opset_import) read_opset(message(f), model);
      if (f.number != field::model::graph) return;
      if (has_graph) refuse("it holds two graphs");
      has_graph = true;
      read_graph(message(f), model);
    });
    if (!has_graph) refuse("no graph in it: is it an ONNX model?");
    return model;
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::config, "{}: {}", who_, fmt::format(format, std::forward<Args>(args)...));
  }

  template <typename Visit>
  void each_field(std::string_view bytes, const char* what, const Visit& visit) {
    WireReader reader(bytes);
    while (const std::optional<WireField> f = reader.next()) visit(*f);
    if (!reader.at_end()) refuse("broken off inside a {}; is it a whole ONNX file?", what);
  }

  void take_items(std::int64_t count) {
    items_ += count;
    if (items_ > kMaxItems) refuse("more than {} names and numbers", kMaxItems);
  }

  std::string_view message(const WireField& f) const {
    if (f.wire != Wire::bytes) refuse("field {} is no message", f.number);
    return f.bytes;
  }
  std::string text(const WireField& f) {
    const std::string_view bytes = message(f);
    take_items(1 + static_cast<std::int64_t>(bytes.size()) / kNameBytes);
    // Names are shown in one line.
    for (const char c : bytes)
      if (static_cast<unsigned char>(c) < 0x20) refuse("a name with control characters");
    return std::string(bytes);
  }
  std::int64_t integer(const WireField& f) const {
    if (f.wire != Wire::varint) refuse("field {} is no number", f.number);
    return static_cast<std::int64_t>(f.value);
  }

  // Repeated numbers lie packed, or one a field.
  void read_integers(const WireField& f, std::vector<std::int64_t>& out) {
    if (f.wire == Wire::varint) {
      take_items(1);
      out.push_back(integer(f));
      return;
    }
    WireReader packed(message(f));
    while (!packed.at_end()) {
      const std::optional<std::uint64_t> value = packed.next_varint();
      if (!value) refuse("a list of numbers breaks off");
      take_items(1);
      out.push_back(static_cast<std::int64_t>(*value));
    }
  }
  template <typename T>
  void read_fixed(const WireField& f, std::vector<double>& out) {
    if (f.wire == Wire::varint || f.bytes.size() % sizeof(T) != 0) refuse("a list of numbers breaks off");
    take_items(static_cast<std::int64_t>(f.bytes.size() / sizeof(T)));
    for (std::size_t at = 0; at < f.bytes.size(); at += sizeof(T))
      out.push_back(meant_by(get_raw<T>(f.bytes.substr(at))));
  }

  void read_opset(std::string_view bytes, Model& model) {
    std::string domain;
    std::int64_t version = 0;
    each_field(bytes, "set of operators", [&](const WireField& f) {
      if (f.number == field::opset::domain) domain = text(f);
      if (f.number == field::opset::version) version = integer(f);
    });
    if (domain.empty() || domain == "ai.onnx") model.opset = version;
  }

  void read_graph(std::string_view bytes, Model& model) {
    each_field(bytes, "graph", [&](const WireField& f) {
      switch (f.number) {
        case field::graph::node:
          if (static_cast<std::int64_t>(model.nodes.size()) == kMaxNodes)
            refuse("more than {} nodes", kMaxNodes);
          model.nodes.push_back(read_node(message(f)));
          break;
        case field::graph::name:
          model.graph_name = text(f);
          break;
        case field::graph::initializer:
          if (static_cast<std::int64_t>(model.initializers.size()) == kMaxNodes)
            refuse("more than {} initializers", kMaxNodes);
          model.initializers.push_back(read_tensor(message(f)));
          break;
        case field::graph::input:
          add_value(f, model.inputs);
          break;
        case field::graph::output:
          add_value(f, model.outputs);
          break;
        case field::graph::value_info:
          add_value(f, model.values);
          break;
        default:
          break;
      }
    });
  }

  Node read_node(std::string_view bytes) {
    Node node;
    each_field(bytes, "node", [&](const WireField& f) {
      if (f.number == field::node::input) node.inputs.push_back(text(f));
      if (f.number == field::node::output) node.outputs.push_back(text(f));
      if (f.number == field::node::name) node.name = text(f);
      if (f.number == field::node::op_type) node.type = text(f);
      if (f.number == field::node::domain) node.domain = text(f);
      if (f.number == field::node::attribute) {
        take_items(1);
        node.attributes.push_back(read_attribute(message(f)));
      }
    });
    if (node.type.empty()) refuse("a node without an operator");
    return node;
  }

  Attribute read_attribute(std::string_view bytes) {
    Attribute attribute;
    std::int64_t type = 0;
    each_field(bytes, "attribute", [&](const WireField& f) {
      switch (f.number) {
        case field::attribute::name:
          attribute.name = text(f);
          break;
        case field::attribute::type:
          type = integer(f);
          break;
        case field::attribute::f:
          if (f.wire != Wire::fixed32) refuse("field {} is no number", f.number);
          attribute.number = meant_by(get_raw<float>(f.bytes));
          break;
        case field::attribute::i:
          attribute.integer = integer(f);
          break;
        case field::attribute::s:
          attribute.text = std::string(message(f).substr(0, 1024));
          for (char& c : attribute.text)
            if (static_cast<unsigned char>(c) < 0x20) c = '?';
          break;
        case field::attribute::t:
          attribute.tensor.assign(1, read_tensor(message(f)));
          break;
        case field::attribute::floats:
          read_fixed<float>(f, attribute.numbers);
          break;
        case field::attribute::ints:
          read_integers(f, attribute.integers);
          break;
        default:  // graphs of loops and branches, lists of tensors and texts: nothing of ours has them
          break;
      }
    });
    attribute.kind = kind_of(type);
    return attribute;
  }

  static Attribute::Kind kind_of(std::int64_t type) {
    switch (type) {
      case field::attribute::is_float:
        return Attribute::Kind::number;
      case field::attribute::is_int:
        return Attribute::Kind::integer;
      case field::attribute::is_string:
        return Attribute::Kind::text;
      case field::attribute::is_tensor:
        return Attribute::Kind::tensor;
      case field::attribute::is_floats:
        return Attribute::Kind::numbers;
      case field::attribute::is_ints:
        return Attribute::Kind::integers;
      default:
        return Attribute::Kind::other;
    }
  }

  // Points at each kind of content; all may be empty.
  struct Content {
    std::vector<WireField> integers, floats, doubles;
  };

  Tensor read_tensor(std::string_view bytes) {
    Tensor tensor;
    tensor.message = bytes;
    Content content;
    each_field(bytes, "tensor", [&](const WireField& f) {
      switch (f.number) {
        case field::tensor::dims:
          read_integers(f, tensor.dims);
          if (tensor.dims.size() > kMaxRank) refuse("a tensor of more than {} dimensions", kMaxRank);
          break;
        case field::tensor::data_type:
          tensor.dtype = type_of_number(integer(f));
          break;
        case field::tensor::name:
          tensor.name = text(f);
          break;
        case field::tensor::doc_string:
          tensor.doc = message(f).substr(0, kReadDoc);
          break;
        case field::tensor::raw_data:
          tensor.raw = message(f);
          break;
        case field::tensor::int32_data:
        case field::tensor::int64_data:
          keep(f, content.integers);
          break;
        case field::tensor::float_data:
          keep(f, content.floats);
          break;
        case field::tensor::double_data:
          keep(f, content.doubles);
          break;
        case field::tensor::external_data:
          tensor.external = true;
          break;
        default:
          break;
      }
    });
    for (const std::int64_t dim : tensor.dims)
      if (dim < 0) refuse("tensor '{}' has dimension {}", tensor.name, dim);
    const std::int64_t elements = tensor.elements(), size = bytes_of_type(tensor.dtype);
    if (elements == kUnknown) refuse("tensor '{}' has more than {} elements", tensor.name, kMaxElements);
    if (!tensor.raw.empty() && !tensor.external && size > 0 &&
        static_cast<std::int64_t>(tensor.raw.size()) != elements * size)
      refuse("tensor '{}' has {} bytes, its {} wants {}", tensor.name, tensor.raw.size(),
             TensorSpec{true, tensor.dims, tensor.dtype}.to_string(), elements * size);
    if (elements <= kReadNumbers && !tensor.external) read_numbers(tensor, content);
    return tensor;
  }

  void keep(const WireField& f, std::vector<WireField>& fields) {
    take_items(1);
    if (fields.size() <= kReadNumbers) fields.push_back(f);
  }

  template <typename T>
  static void raw_numbers(Tensor& tensor) {
    for (std::size_t at = 0; at < tensor.raw.size(); at += sizeof(T)) {
      const T number = get_raw<T>(tensor.raw.substr(at));
      if constexpr (std::is_floating_point_v<T>)
        tensor.numbers.push_back(meant_by(number));
      else
        tensor.numbers.push_back(static_cast<double>(number));
    }
  }

  void read_numbers(Tensor& tensor, const Content& content) {
    if (tensor.dtype == "f32" && !tensor.raw.empty()) raw_numbers<float>(tensor);
    if (tensor.dtype == "f64" && !tensor.raw.empty()) raw_numbers<double>(tensor);
    if (tensor.dtype == "i32" && !tensor.raw.empty()) raw_numbers<std::int32_t>(tensor);
    if (tensor.dtype == "i64" && !tensor.raw.empty()) raw_numbers<std::int64_t>(tensor);
    if (tensor.raw.empty() && (tensor.dtype == "i32" || tensor.dtype == "i64")) {
      std::vector<std::int64_t> values;
      for (const WireField& f : content.integers) read_integers(f, values);
      for (const std::int64_t value : values) tensor.numbers.push_back(static_cast<double>(value));
    }
    if (tensor.raw.empty() && tensor.dtype == "f32")
      for (const WireField& f : content.floats) read_fixed<float>(f, tensor.numbers);
    if (tensor.raw.empty() && tensor.dtype == "f64")
      for (const WireField& f : content.doubles) read_fixed<double>(f, tensor.numbers);
    if (static_cast<std::int64_t>(tensor.numbers.size()) != tensor.elements()) tensor.numbers.clear();
  }

  void add_value(const WireField& f, std::vector<ValueInfo>& values) {
    take_items(1);
    ValueInfo value;
    each_field(message(f), "description of a value", [&](const WireField& inner) {
      if (inner.number == field::value_info::name) value.name = text(inner);
      if (inner.number == field::value_info::doc_string) value.doc = message(inner).substr(0, kReadDoc);
      if (inner.number == field::value_info::type) read_type(message(inner), value.spec);
    });
    values.push_back(std::move(value));
  }

  void read_type(std::string_view bytes, TensorSpec& spec) {
    each_field(bytes, "type", [&](const WireField& f) {
      if (f.number != field::type::tensor_type) return;
      each_field(message(f), "type of a tensor", [&](const WireField& inner) {
        if (inner.number == field::tensor_type::elem_type) spec.dtype = type_of_number(integer(inner));
        if (inner.number == field::tensor_type::shape) read_shape(message(inner), spec);
      });
    });
  }

  void read_shape(std::string_view bytes, TensorSpec& spec) {
    spec.has_shape = true;
    each_field(bytes, "shape", [&](const WireField& f) {
      if (f.number != field::shape::dim) return;
      std::int64_t size = kUnknown;
      each_field(message(f), "dimension", [&](const WireField& inner) {
        if (inner.number == field::dim::value) size = integer(inner);
      });
      take_items(1);
      spec.dims.push_back(size > 0 ? size
                                   : kUnknown);  // exporters write 0 and -1 for a size that is not fixed
      if (spec.dims.size() > kMaxRank) refuse("a tensor of more than {} dimensions", kMaxRank);
    });
  }

  static constexpr std::size_t kReadDoc = 16;  // what our own files say there is shorter

  const std::string& who_;
  std::int64_t items_ = 0;
};

}  // namespace

Model read_model(std::string_view bytes, const std::string& who) { return ModelReader(who).read(bytes); }

}  // namespace trainyard::interchange::onnx
