#include "exchange/exchange_graph.h"

#include <functional>
#include <queue>

#include "exchange/limits.h"

namespace trainyard::exchange {

std::int64_t bytes_of_type(std::string_view dtype) {
  for (const auto& [name, bytes] : {std::pair<std::string_view, std::int64_t>{"f32", 4},
                                    {"i32", 4},
                                    {"u32", 4},
                                    {"f64", 8},
                                    {"i64", 8},
                                    {"u64", 8},
                                    {"c64", 8},
                                    {"c128", 16},
                                    {"f16", 2},
                                    {"bf16", 2},
                                    {"i16", 2},
                                    {"u16", 2},
                                    {"i8", 1},
                                    {"u8", 1},
                                    {"bool", 1}})
    if (name == dtype) return bytes;
  return 0;
}

std::optional<std::int64_t> TensorSpec::elements() const {
  if (!has_shape) return std::nullopt;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim > kMaxElements) return std::nullopt;
    count *= dim;
    if (count > kMaxElements) return std::nullopt;
  }
  return count;
}

std::int64_t TensorSpec::bytes() const { return elements().value_or(0) * bytes_of_type(dtype); }

std::string TensorSpec::to_string() const {
  std::string text = dtype.empty() ? "?" : dtype;
  if (!has_shape) return text + " of unknown shape";
  if (dims.empty()) return text + " scalar";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += i == 0 ? ' ' : 'x';
    text += dims[i] < 0 ? std::string("?") : std::to_string(dims[i]);
  }
  return text;
}

GraphTotals totals_of(const ExchangeGraph& graph) {
  GraphTotals totals;
  totals.ops = static_cast<std::int64_t>(graph.nodes.size());
  for (const OpNode& node : graph.nodes) {
    for (const OpInput& input : node.inputs) ++(input.control ? totals.control_edges : totals.edges);
    totals.flops += node.flops;
    totals.elementwise_flops += node.elementwise_flops;
    totals.bytes_moved += node.bytes_moved;
    totals.parameters += node.parameters;
    bool known = true;
    for (const TensorSpec& output : node.outputs) known = known && output.elements().has_value();
    if (!known) ++totals.unknown_shapes;
  }
  return totals;
}

std::vector<int> topological_order(const ExchangeGraph& graph) {
  const std::size_t count = graph.nodes.size();
  std::vector<int> waits(count, 0);
  std::vector<std::vector<int>> readers(count);
  for (std::size_t i = 0; i < count; ++i)
    for (const OpInput& input : graph.nodes[i].inputs) {
      readers[static_cast<std::size_t>(input.node)].push_back(static_cast<int>(i));
      ++waits[i];
    }
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (waits[i] == 0) ready.push(static_cast<int>(i));
  std::vector<int> order;
  std::vector<bool> done(count, false);
  std::size_t first_left = 0;  // all before it are done
  while (order.size() < count) {
    if (ready.empty()) {
      while (done[first_left]) ++first_left;
      ready.push(static_cast<int>(first_left));
    }
    const auto node = static_cast<std::size_t>(ready.top());
    ready.pop();
    if (done[node]) continue;
    done[node] = true;
    order.push_back(static_cast<int>(node));
    for (const int reader : readers[node])
      if (--waits[static_cast<std::size_t>(reader)] == 0) ready.push(reader);
  }
  return order;
}

}  // namespace trainyard::exchange
