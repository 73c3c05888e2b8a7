#include "interchange/graph_def.h"

#include "interchange/text_format.h"

namespace trainyard::interchange {
namespace {

using tensorflow::Node;
using tensorflow::Value;
using Event = TextReader::Event;
using Kind = TextReader::Kind;

constexpr std::size_t kReadConstant = 4096;  // numbers

class GraphDefReader {
 public:
  GraphDefReader(std::string_view text, const std::string& who, std::int64_t batch)
      : reader_(text, who), who_(who), batch_(batch) {}

  ExchangeGraph read() && {
    for (Event event = reader_.next(); event.kind != Kind::end; event = reader_.next()) {
      if (event.kind != Kind::open) continue;
      if (event.name == "node")
        read_node();
      else
        reader_.skip_message();
    }
    if (graph_.nodes.empty()) reader_.refuse("no node in it: is it a GraphDef?");
    link();
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i].op = &graph_.nodes[i];
    infer_shapes(nodes_, graph_, batch_);
    count_costs(nodes_, graph_);
    return std::move(graph_);
  }

 private:
  void take_items(std::int64_t count) {
    items_ += count;
    if (items_ > kMaxItems) reader_.refuse(fmt::format("more than {} inputs and numbers", kMaxItems));
  }

  std::string name_text(const Event& event) {
    take_items(1 + static_cast<std::int64_t>(event.value.size()) / kNameBytes);
    std::string text = reader_.text(event);
    for (const char c : text)
      if (static_cast<unsigned char>(c) < 0x20) reader_.refuse("a name with control characters");
    return text;
  }

  // Calls `visit` for every field of the message that was opened last; it must pass over messages it opens.
  template <typename Visit>
  void each_field(const Visit& visit) {
    for (Event event = reader_.next(); event.kind != Kind::close; event = reader_.next()) visit(event);
  }

  void read_node() {
    if (static_cast<std::int64_t>(nodes_.size()) == kMaxNodes)
      reader_.refuse(fmt::format("more than {} nodes", kMaxNodes));
    OpNode op;
    Node node;
    std::vector<std::string> inputs;
    each_field([&](const Event& event) {
      if (event.kind == Kind::open) {
        if (event.name == "attr")
          read_attribute(node);
        else
          reader_.skip_message();
        return;
      }
      if (event.name == "name") op.name = name_text(event);
      if (event.name == "op") op.type = name_text(event);
      if (event.name == "device") op.device = name_text(event);
      if (event.name == "input") inputs.push_back(name_text(event));
    });
    if (op.name.empty() || op.type.empty()) reader_.refuse("a node without a name or an op");
    if (!index_.try_emplace(op.name, static_cast<int>(nodes_.size())).second)
      reader_.refuse(fmt::format("two nodes '{}'", op.name));
    for (const auto& [name, value] : node.attributes)
      if (!name.starts_with('_') && !value.text.empty()) op.attributes.emplace_back(name, value.text);
    graph_.nodes.push_back(std::move(op));
    nodes_.push_back(std::move(node));
    inputs_.push_back(std::move(inputs));
  }

  void read_attribute(Node& node) {
    std::string key;
    Value value;
    each_field([&](const Event& event) {
      if (event.kind == Kind::open) {
        if (event.name == "value")
          read_value(value);
        else
          reader_.skip_message();
      } else if (event.name == "key") {
        key = name_text(event);
      }
    });
    take_items(1);
    node.attributes[key] = std::move(value);
  }

  // An AttrValue, or its list.
  void read_value(Value& value) {
    each_field([&](const Event& event) {
      if (event.kind == Kind::open) {
        if (event.name == "list") {
          read_value(value);
        } else if (event.name == "shape") {
          value.shapes.push_back(read_shape());
        } else if (event.name == "tensor") {
          read_tensor(value);
        } else {
          reader_.skip_message();
        }
        return;
      }
      take_items(1);
      if (event.name == "i") value.integers.push_back(reader_.integer(event));
      if (event.name == "b") value.truth = reader_.truth(event);
      if (value.text.size() < kShownText) {
        Event shown = event;
        shown.value = event.value.substr(0, kShownText);
        if (!value.text.empty()) value.text += ',';
        value.text += reader_.text(shown);
        for (char& c : value.text)
          if (static_cast<unsigned char>(c) < 0x20) c = ' ';
      }
    });
  }

  TensorSpec read_shape() {
    TensorSpec spec{true, {}, ""};
    take_items(1);
    each_field([&](const Event& event) {
      if (event.kind != Kind::open) {
        if (event.name == "unknown_rank" && reader_.truth(event)) spec.has_shape = false;
        return;
      }
      if (event.name != "dim") return reader_.skip_message();
      std::int64_t size = 0;  // what protobuf leaves out
      each_field([&](const Event& inner) {
        if (inner.kind == Kind::open) return reader_.skip_message();
        if (inner.name == "size") size = reader_.integer(inner);
      });
      take_items(1);
      spec.dims.push_back(size < 0 || size > kMaxElements ? kUnknown : size);
      if (spec.dims.size() > kMaxRank) reader_.refuse(fmt::format("more than {} dimensions", kMaxRank));
    });
    if (!spec.has_shape) spec.dims.clear();
    return spec;
  }

  // Integers of small constants are kept: shapes and axes are such.
  void read_tensor(Value& value) {
    TensorSpec spec{true, {}, ""};
    std::string content;
    each_field([&](const Event& event) {
      if (event.kind == Kind::open) {
        if (event.name == "tensor_shape")
          spec.dims = read_shape().dims;
        else
          reader_.skip_message();
        return;
      }
      if (event.name == "dtype") spec.dtype = tensorflow::dtype_of(event.value);
      if ((event.name == "int_val" || event.name == "int64_val") && value.integers.size() < kReadConstant)
        value.integers.push_back(reader_.integer(event));
      if (event.name == "tensor_content" && event.value.size() <= 4 * 8 * kReadConstant)
        content = reader_.text(event);
    });
    if (value.integers.empty() && spec.dtype == "i32") read_content<std::int32_t>(content, value.integers);
    if (value.integers.empty() && spec.dtype == "i64") read_content<std::int64_t>(content, value.integers);
    // One number may stand for all of them.
    const std::size_t elements = static_cast<std::size_t>(spec.elements().value_or(0));
    if (value.integers.size() == 1 && elements <= kReadConstant)
      value.integers.resize(elements, value.integers[0]);
    if (value.integers.size() != elements) value.integers.clear();
    value.shapes.push_back(std::move(spec));
  }

  template <typename T>
  static void read_content(const std::string& content, std::vector<std::int64_t>& out) {
    for (std::size_t at = 0; at + sizeof(T) <= content.size() && out.size() < kReadConstant;
         at += sizeof(T)) {
      T value;
      std::memcpy(&value, content.data() + at, sizeof value);
      out.push_back(value);
    }
  }

  // "^name" is a control edge, "name:2" the third output, "name" the first.
  void link() {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      for (const std::string& given : inputs_[i]) {
        const bool control = given.starts_with('^');
        std::string name = control ? given.substr(1) : given;
        int output = 0;
        if (const std::size_t colon = name.rfind(':'); !control && colon != std::string::npos) {
          const std::string number = name.substr(colon + 1);
          const bool digits = !number.empty() && number.size() < 5 &&
                              number.find_first_not_of("0123456789") == std::string::npos;
          if (digits) {
            output = std::stoi(number);
            name.resize(colon);
          }
        }
        const auto found = index_.find(name);
        if (found == index_.end())
          fail(ErrorKind::config, "{}: node '{}' reads '{}', which is no node", who_, graph_.nodes[i].name,
               given);
        graph_.nodes[i].inputs.push_back({found->second, output, control});
      }
  }

  static constexpr std::size_t kShownText = 64;

  TextReader reader_;
  const std::string& who_;
  const std::int64_t batch_;
  ExchangeGraph graph_;
  std::vector<Node> nodes_;
  std::vector<std::vector<std::string>> inputs_;
  std::unordered_map<std::string, int> index_;
  std::int64_t items_ = 0;
};

}  // namespace

ExchangeGraph read_graph_def(std::string_view text, const std::string& who, std::int64_t batch) {
  return GraphDefReader(text, who, batch).read();
}

}  // namespace trainyard::interchange

namespace trainyard::interchange::tensorflow {
namespace {

bool is_variable(const OpNode& op) {
  return op.type == "VariableV2" || op.type == "Variable" || op.type == "VarHandleOp";
}

bool applies_update(const OpNode& op) {
  return op.type.starts_with("Apply") || op.type.starts_with("ResourceApply");
}

class Costs {
 public:
  explicit Costs(ExchangeGraph& graph) : graph_(graph) {}

  void count(OpNode& op, const Node& node) {
    for (const OpInput& input : op.inputs)
      if (!input.control) op.bytes_moved += spec(input).bytes();
    for (const TensorSpec& output : op.outputs) op.bytes_moved += output.bytes();
    const std::int64_t results = op.outputs.empty() ? 0 : op.outputs[0].elements().value_or(0);
    op.flops = flops(op, node, results);
    if (op.flops == 0 && !is_variable(op) && op.type != "Const") op.elementwise_flops = results;
  }

 private:
  TensorSpec spec(const OpInput& from) const {
    const auto& outputs = graph_.nodes[static_cast<std::size_t>(from.node)].outputs;
    const auto output = static_cast<std::size_t>(from.output);
    return output < outputs.size() ? outputs[output] : TensorSpec{};
  }
  TensorSpec input(const OpNode& op, std::size_t i) const {
    return i < op.inputs.size() && !op.inputs[i].control ? spec(op.inputs[i]) : TensorSpec{};
  }

  // Multiply-adds of one result of a convolution: all of its filter but the output channels.
  static std::int64_t taps(const TensorSpec& filter, bool depthwise) {
    const std::optional<std::int64_t> elements = filter.elements();
    if (!elements || filter.dims.size() != 4 || filter.dims[2] < 1 || filter.dims[3] < 1) return 0;
    return depthwise ? filter.dims[0] * filter.dims[1] : *elements / filter.dims[3];
  }

  std::int64_t flops(const OpNode& op, const Node& node, std::int64_t results) const {
    if (op.type == "Conv2D") return 2 * results * taps(input(op, 1), false);
    if (op.type == "DepthwiseConv2dNative") return 2 * results * taps(input(op, 1), true);
    // The gradient of the result has as many elements as the result had.
    const std::int64_t d_results = input(op, 2).elements().value_or(0);
    if (op.type == "Conv2DBackpropInput") return 2 * d_results * taps(input(op, 1), false);
    if (op.type == "Conv2DBackpropFilter" && !op.outputs.empty())
      return 2 * d_results * taps(op.outputs[0], false);
    if (op.type == "MatMul" || op.type.starts_with("BatchMatMul")) {
      const TensorSpec a = input(op, 0);
      if (!a.elements() || a.dims.size() < 2) return 0;
      const Value* transposed = node.find(op.type == "MatMul" ? "transpose_a" : "adj_x");
      const bool turned = transposed != nullptr && transposed->truth;
      return 2 * results * a.dims[a.dims.size() - (turned ? 2 : 1)];
    }
    return 0;
  }

  ExchangeGraph& graph_;
};

}  // namespace

void count_costs(const std::vector<Node>& nodes, ExchangeGraph& graph) {
  Costs costs(graph);
  bool updates = false;
  std::vector<bool> trained(nodes.size(), false);
  double total = 0;
  for (const Node& node : nodes) {
    OpNode& op = *node.op;
    costs.count(op, node);
    total += static_cast<double>(op.flops);
    if (total > static_cast<double>(kMaxFlops)) op.flops = 0;  // sums stay 64-bit numbers
    if (!applies_update(op) || op.inputs.empty()) continue;
    updates = true;
    trained[static_cast<std::size_t>(op.inputs[0].node)] = true;
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    OpNode& op = *nodes[i].op;
    if (is_variable(op) && (trained[i] || !updates) && !op.outputs.empty() &&
        !op.outputs[0].dtype.starts_with('i'))
      op.parameters = op.outputs[0].elements().value_or(0);
  }
}

}  // namespace trainyard::interchange::tensorflow
