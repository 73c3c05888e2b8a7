#include "base/error.h"
#include "base/protobuf_wire.h"
#include "interchange/onnx_model.h"

namespace trainyard::interchange::onnx {
namespace {

void put_integer(std::string& out, unsigned number, std::int64_t value) {
  put_key(out, number, Wire::varint);
  put_varint(out, static_cast<std::uint64_t>(value));
}

void put_float(std::string& out, unsigned number, double value) {
  put_key(out, number, Wire::fixed32);
  put_raw(out, static_cast<float>(value));
}

void put_integers(std::string& out, unsigned number, const std::vector<std::int64_t>& values) {
  for (const std::int64_t value : values) put_integer(out, number, value);  // as proto2 writes them
}

// Writes all of a tensor but its content.
std::string tensor_head(const Tensor& tensor) {
  std::string out;
  put_integers(out, field::tensor::dims, tensor.dims);
  put_integer(out, field::tensor::data_type, number_of_type(tensor.dtype));
  if (!tensor.name.empty()) put_bytes(out, field::tensor::name, tensor.name);
  if (!tensor.doc.empty()) put_bytes(out, field::tensor::doc_string, tensor.doc);
  return out;
}

std::string tensor_bytes(const Tensor& tensor) {
  const std::vector<std::byte> content = tensor.content();
  std::string out = tensor_head(tensor);
  put_bytes(out, field::tensor::raw_data, {reinterpret_cast<const char*>(content.data()), content.size()});
  return out;
}

std::string attribute_bytes(const Attribute& attribute) {
  namespace id = field::attribute;
  std::string out;
  put_bytes(out, id::name, attribute.name);
  switch (attribute.kind) {
    case Attribute::Kind::number:
      put_float(out, id::f, attribute.number);
      put_integer(out, id::type, id::is_float);
      break;
    case Attribute::Kind::integer:
      put_integer(out, id::i, attribute.integer);
      put_integer(out, id::type, id::is_int);
      break;
    case Attribute::Kind::text:
      put_bytes(out, id::s, attribute.text);
      put_integer(out, id::type, id::is_string);
      break;
    case Attribute::Kind::integers:
      put_integers(out, id::ints, attribute.integers);
      put_integer(out, id::type, id::is_ints);
      break;
    case Attribute::Kind::numbers:
      for (const double value : attribute.numbers) put_float(out, id::floats, value);
      put_integer(out, id::type, id::is_floats);
      break;
    case Attribute::Kind::tensor:
      put_bytes(out, id::t, tensor_bytes(attribute.tensor.at(0)));
      put_integer(out, id::type, id::is_tensor);
      break;
    case Attribute::Kind::other:
      fail(ErrorKind::internal, "ONNX: attribute '{}' is of a kind that is not written", attribute.name);
  }
  return out;
}

std::string node_bytes(const Node& node) {
  std::string out;
  for (const std::string& input : node.inputs) put_bytes(out, field::node::input, input);
  for (const std::string& output : node.outputs) put_bytes(out, field::node::output, output);
  put_bytes(out, field::node::name, node.name);
  put_bytes(out, field::node::op_type, node.type);
  for (const Attribute& attribute : node.attributes)
    put_bytes(out, field::node::attribute, attribute_bytes(attribute));
  return out;
}

std::string value_bytes(const ValueInfo& value) {
  std::string shape;
  for (const std::int64_t dim : value.spec.dims) {
    std::string size;
    if (dim >= 0) put_integer(size, field::dim::value, dim);
    put_bytes(shape, field::shape::dim, size);
  }
  std::string tensor, type, out;
  put_integer(tensor, field::tensor_type::elem_type, number_of_type(value.spec.dtype));
  if (value.spec.has_shape) put_bytes(tensor, field::tensor_type::shape, shape);
  put_bytes(type, field::type::tensor_type, tensor);
  put_bytes(out, field::value_info::name, value.name);
  put_bytes(out, field::value_info::type, type);
  if (!value.doc.empty()) put_bytes(out, field::value_info::doc_string, value.doc);
  return out;
}

std::uint64_t content_bytes(const Tensor& tensor) {
  return static_cast<std::uint64_t>(tensor.elements() * bytes_of_type(tensor.dtype));
}

// Returns the bytes that precede a tensor's content in the graph: key and length of the tensor, its head, key
// and length of the content.
std::string before_content(const Tensor& tensor) {
  std::string head = tensor_head(tensor);
  put_key(head, field::tensor::raw_data, Wire::bytes);
  put_varint(head, content_bytes(tensor));
  std::string out;
  put_key(out, field::graph::initializer, Wire::bytes);
  put_varint(out, head.size() + content_bytes(tensor));
  return out + head;
}

}  // namespace

void write_model(const Model& model, const std::function<void(std::string_view)>& write) {
  std::string graph;
  for (const Node& node : model.nodes) put_bytes(graph, field::graph::node, node_bytes(node));
  put_bytes(graph, field::graph::name, model.graph_name);
  for (const ValueInfo& value : model.inputs) put_bytes(graph, field::graph::input, value_bytes(value));
  for (const ValueInfo& value : model.outputs) put_bytes(graph, field::graph::output, value_bytes(value));
  for (const ValueInfo& value : model.values) put_bytes(graph, field::graph::value_info, value_bytes(value));
  std::uint64_t graph_bytes = graph.size();
  for (const Tensor& tensor : model.initializers)
    graph_bytes += before_content(tensor).size() + content_bytes(tensor);

  std::string head, opset;
  put_integer(head, field::model::ir_version, model.ir_version);
  put_bytes(head, field::model::producer_name, model.producer);
  put_bytes(opset, field::opset::domain, "");
  put_integer(opset, field::opset::version, model.opset);
  put_bytes(head, field::model::opset_import, opset);
  put_key(head, field::model::graph, Wire::bytes);
  put_varint(head, graph_bytes);
  write(head);
  write(graph);
  for (const Tensor& tensor : model.initializers) {
    const std::vector<std::byte> content = tensor.content();
    TRAINYARD_CHECK(content.size() == content_bytes(tensor));
    write(before_content(tensor));
    write({reinterpret_cast<const char*>(content.data()), content.size()});
  }
}

}  // namespace trainyard::interchange::onnx
