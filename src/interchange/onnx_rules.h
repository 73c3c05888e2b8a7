#pragma once

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "interchange/onnx_content.h"
#include "interchange/onnx_export.h"
#include "interchange/onnx_known.h"
#include "interchange/onnx_model.h"
#include "ops/window.h"

// Rules turn ops of ours into nodes of ONNX, and the other way. A rule declines by an Error of kind
// unsupported or shape, which says why.
namespace trainyard::interchange {

// Rows are a matrix of ours that stands for a value of the file (..., E) of more dimensions. The file's rows
// are outer x inner; where they are swapped, ours are inner x outer. So tokens are read step by step where
// the file has a batch of sequences, and nothing is moved.
struct Rows {
  graph::ValueId value = graph::kNone;
  std::int64_t outer = 1, inner = 1;
  bool swapped = false;
  bool all_equal = false;  // so that any order is the right one

  bool same_order(const Rows& other) const {
    return all_equal || other.all_equal || swapped == other.swapped;
  }
};

// A rule of import works on this context.
class ImportContext {
 public:
  struct Options {
    std::int64_t batch = 1;
    bool training = true;
    FileWeights* weights = nullptr;  // none: parameters start from random numbers
    std::string tokens = {};         // the input of token ids (N, T) that becomes ours; empty: none
    bool masked = false;             // as OnnxNetwork::masked says
  };
  ImportContext(const onnx::Model& model, const KnownValues& known, graph::Graph& graph, Options options);

  graph::Graph& graph() { return graph_; }
  const KnownValues& known() const { return known_; }
  bool training() const { return options_.training; }
  std::int64_t opset() const { return opset_; }
  bool is_own_file() const { return own_file_; }

  static std::string name(const onnx::Node& node);
  static bool has(const onnx::Node& node, std::size_t input) {
    return input < node.inputs.size() && !node.inputs[input].empty();
  }
  // Returns the input as a value of our graph; an initializer becomes a parameter.
  graph::ValueId tensor(const onnx::Node& node, std::size_t input);
  // Returns rows whatever they are, token ids among them. REQUIRES: has_rows().
  const Rows& rows_as_kept(const onnx::Node& node, std::size_t input) const {
    return rows_.at(node.inputs[input]).rows;
  }
  // Returns the input as rows; a value of more dimensions is made a matrix.
  Rows rows(const onnx::Node& node, std::size_t input);
  bool has_rows(const onnx::Node& node, std::size_t input) const {
    return has(node, input) && rows_.contains(node.inputs[input]);
  }
  // Keeps rows as the output `output` of the node, of this shape in the file, and returns their value.
  graph::ValueId keep_rows(const onnx::Node& node, const Rows& rows, const Shape& shape,
                           std::size_t output = 0);
  // Tells whether a rule kept rows as the first output, and returns them. REQUIRES of the second: so it is.
  bool made_rows(const onnx::Node& node) const { return rows_.contains(node.outputs.at(0)); }
  const Rows& made_as_rows(const onnx::Node& node) const { return rows_.at(node.outputs.at(0)).rows; }
  // Says that all rows of what the node makes are equal.
  void note_equal_rows(const onnx::Node& node) { equal_rows_.insert(node.outputs.at(0)); }
  // Keeps what a rule made of the node.
  void set_made(const onnx::Node& node, graph::ValueId made);
  // Returns an output of the graph in the file's shape, but logits of sequences as rows step by step; kNone
  // where it is not ours.
  graph::ValueId output(const std::string& value);
  // Returns the input of token ids; kNone where there is none.
  graph::ValueId tokens() const { return tokens_; }
  // Returns the input, which the file must hold or leave to its caller, as a parameter or statistic of this
  // shape.
  graph::ValueId state(const onnx::Node& node, std::size_t input, const Shape& shape,
                       graph::Role role = graph::Role::parameter);
  // Does the same for a parameter whose numbers lie otherwise in the file.
  graph::ValueId arranged_state(const onnx::Node& node, std::size_t input, const Shape& shape,
                                const Arrangement& arrangement);
  // Does the same for a tensor that holds twice as many numbers.
  graph::ValueId half_state(const onnx::Node& node, std::size_t input, const Shape& shape,
                            const Arrangement& arrangement);
  // Returns the shape of an initializer, or of any other input.
  Shape shape(const onnx::Node& node, std::size_t input);
  bool is_state(const onnx::Node& node, std::size_t input) const;
  // Returns numbers that the file itself holds; declines where it does not, or where a number is no small
  // integer.
  std::vector<std::int64_t> integers(const onnx::Node& node, std::size_t input);
  const onnx::Tensor* constant(const std::string& value) const;
  // Returns the axes of Squeeze and Unsqueeze: an attribute until set 12 of operators, then an input.
  std::vector<std::int64_t> squeezed_axes(const onnx::Node& node);

  // Returns the only node that reads the value, unless the value also leaves the graph.
  const onnx::Node* sole_reader(const std::string& value) const;
  bool is_read(const std::string& value) const {
    return readers_.contains(value) || outputs_.contains(value);
  }
  // A rule has already made `value`; the import passes over the node that would make it.
  void fold(const onnx::Node& node, graph::ValueId value);
  bool is_folded(const onnx::Node& node) const { return folded_.contains(&node); }

  void set_value(const std::string& value, graph::ValueId made) { values_[value] = made; }
  graph::ValueId value(const std::string& value) const;  // kNone when it has none in our graph
  void add_constant(const std::string& value, const onnx::Tensor* tensor) { constants_[value] = tensor; }
  // Returns the type and shape that the file declares for a value.
  TensorSpec declared(const std::string& value) const;
  bool is_input(const std::string& value) const { return inputs_.contains(value); }

  template <typename... Args>
  [[noreturn]] static void decline(fmt::format_string<Args...> format, Args&&... args) {
    fail(ErrorKind::unsupported, format, std::forward<Args>(args)...);
  }
  // Declines shapes with more elements than any tensor; called before a shape is computed.
  static void want_elements(const Shape& shape);

 private:
  graph::ValueId add_input(const std::string& value);
  bool is_mask(const std::string& value) const;
  graph::ValueId add_fixed(const std::string& value);
  void add_tokens(const std::string& value);
  graph::ValueId tensor_of(const std::string& value);
  graph::ValueId rows_by_steps(const std::string& value);
  struct StateForm {
    Shape shape;
    graph::Role role = graph::Role::parameter;
    std::int64_t elements = 0;  // in the file
    Arrangement arrangement{};
  };
  graph::ValueId add_state(const std::string& value, const StateForm& form);
  graph::Initializer first_content(const std::string& name, const StateForm& form) const;

  struct ShapedRows {
    Rows rows;
    Shape shape;       // in the file
    std::string name;  // of the op that would give them this shape
  };

  const KnownValues& known_;
  graph::Graph& graph_;
  const Options options_;
  const std::int64_t opset_;
  const bool own_file_;
  std::string sample_;  // the input that is no weight, where there is just one
  graph::ValueId tokens_ = graph::kNone;
  std::unordered_map<std::string, ShapedRows> rows_;
  std::unordered_set<std::string> equal_rows_;
  std::unordered_map<std::string, graph::ValueId> values_;
  std::unordered_map<std::string, const onnx::Tensor*> constants_;
  std::unordered_map<std::string, TensorSpec> inputs_, declared_;
  std::unordered_map<std::string, std::string> roles_;  // of inputs, where our own export said it
  std::unordered_map<std::string, std::vector<const onnx::Node*>> readers_;
  std::unordered_map<std::string, std::string> arrangements_;  // of weights, by their names
  std::unordered_set<std::string> outputs_;
  std::unordered_set<const onnx::Node*> folded_;
};

// A negative axis counts from the end; declines one that there is not.
int checked_axis(std::int64_t axis, int rank);

// Returns `src` with axes of length 1 before its own and repeated to this shape, where it is another.
graph::ValueId repeated(ImportContext& context, const std::string& name, graph::ValueId src,
                        const Shape& shape);

// Reads the window of a node that walks over images; `kernel` is used where the node does not say it.
ops::Window2d read_window(const onnx::Node& node, const Shape& image, std::array<std::int64_t, 2> kernel);

// Returns constant places along an axis of what a node gathers from.
graph::ValueId import_places(ImportContext& context, const onnx::Node& node);

// Makes an op element by element of one input, on rows where the input lies as rows.
template <typename Make>
graph::ValueId of_each(ImportContext& context, const onnx::Node& node, std::size_t input, const Make& make) {
  if (!context.has_rows(node, input)) return make(context.tensor(node, input));
  Rows rows = context.rows(node, input);
  rows.value = make(rows.value);
  return context.keep_rows(node, rows, context.shape(node, input));
}

// Returns nothing where no type of ours is the same.
std::optional<graph::TensorType> type_of(const TensorSpec& spec);

// Returns the value of the node's first output; its others must not be read.
using ImportRule = graph::ValueId (*)(ImportContext&, const onnx::Node&);
struct ImportRow {
  const char* type;
  ImportRule rule;
};

// A rule of export works on this context.
class ExportContext {
 public:
  ExportContext(const graph::Graph& graph, onnx::Model& model, const WeightSource& weights)
      : graph_(graph), model_(model), weights_(weights) {}

  const graph::Graph& graph() const { return graph_; }
  const std::string& name(graph::ValueId value) const { return graph_.value(value).name; }
  // Returns the name of an input of the node; parameters and statistics come along.
  std::string input(const graph::Node& node, std::size_t i);
  // A parameter or statistic in another shape and order: `arrange` moves its content.
  using Arrange = std::function<std::vector<std::byte>(std::vector<std::byte>)>;
  std::string state(graph::ValueId value, std::vector<std::int64_t> dims, const Arrange& arrange = nullptr);
  // Returns a small constant of its own for this node.
  std::string constant(const graph::Node& node, const char* what, const std::vector<std::int64_t>& values);
  std::string constant(const graph::Node& node, const char* what, double value);
  // Returns a constant that all nodes who ask by this name share.
  std::string shared_constant(const std::string& name, std::vector<std::int64_t> dims,
                              const std::vector<float>& values);
  // Returns the name of the input whose first dimension is the batch, or "".
  std::string batch_input(std::int64_t batch);
  // A node that makes the first output of ours.
  void add(const graph::Node& node, const char* type, std::vector<std::string> inputs,
           std::vector<onnx::Attribute> attributes = {});
  // Adds any node by its name and that of its output, where one op of ours takes two nodes.
  void add_part(std::string name, const char* type, std::vector<std::string> inputs, std::string output,
                std::vector<onnx::Attribute> attributes = {});

 private:
  const graph::Graph& graph_;
  onnx::Model& model_;
  const WeightSource& weights_;
  std::unordered_map<graph::ValueId, std::vector<std::int64_t>> written_;
  std::unordered_set<std::string> shared_;
};

onnx::Attribute attribute(const char* name, std::int64_t value);
onnx::Attribute attribute(const char* name, double value);
onnx::Attribute attribute(const char* name, std::vector<std::int64_t> values);
onnx::Attribute attribute(const char* name, onnx::Tensor value);
onnx::Attribute attribute(const char* name, const char* text);
// Returns a tensor that is written into the file.
template <typename T>
onnx::Tensor small_tensor(std::string name, const char* dtype, std::vector<std::int64_t> dims,
                          const std::vector<T>& values) {
  onnx::Tensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  tensor.content = [values] {
    std::vector<std::byte> bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  };
  return tensor;
}

using ExportRule = void (*)(ExportContext&, const graph::Node&);
struct ExportRow {
  const graph::OpDef* op;
  ExportRule rule;
};

// Each family has one pair, in a file of its name.
std::vector<ImportRow> arithmetic_import_rows();
std::vector<ExportRow> arithmetic_export_rows();
std::vector<ImportRow> reduction_import_rows();
std::vector<ExportRow> reduction_export_rows();
std::vector<ImportRow> cut_import_rows();
std::vector<ExportRow> cut_export_rows();
std::vector<ImportRow> resize_import_rows();
std::vector<ExportRow> resize_export_rows();
std::vector<ImportRow> image_import_rows();
std::vector<ExportRow> image_export_rows();
std::vector<ImportRow> matrix_import_rows();
std::vector<ExportRow> matrix_export_rows();
std::vector<ImportRow> recurrent_import_rows();
std::vector<ExportRow> recurrent_export_rows();
std::vector<ImportRow> elementwise_import_rows();
std::vector<ExportRow> elementwise_export_rows();
std::vector<ImportRow> shape_import_rows();
std::vector<ExportRow> shape_export_rows();
std::vector<ImportRow> attention_import_rows();
std::vector<ExportRow> attention_export_rows();
std::vector<ImportRow> norm_import_rows();
std::vector<ExportRow> norm_export_rows();

}  // namespace trainyard::interchange
