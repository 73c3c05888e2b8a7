// Recurrent layers whose weights the file puts together of a framework's: gates in another order, two biases
// and two directions joined.

#include "interchange/onnx_patterns.h"
#include "interchange/onnx_recurrent.h"
#include "interchange/onnx_rules.h"

namespace trainyard::interchange {
namespace {

// Returns the weight whose blocks these numbers are: `rows` rows of `columns` numbers for each gate, from
// element `first` of the value on. What moves numbers is affine within a block.
std::optional<std::string> weight_behind(Tracer& tracer, const PatternGraph& graph, const std::string& value,
                                         std::int64_t first, const std::vector<std::size_t>& blocks,
                                         std::int64_t rows, std::int64_t columns) {
  const std::string source = tracer.trace(value, first).source;
  const TensorSpec& spec = graph.known().spec(source);
  const auto gates = static_cast<std::int64_t>(blocks.size());
  if (source == value || graph.maker(source) != nullptr || !spec.dtype.starts_with('f') ||
      spec.elements() != std::optional(gates * rows * columns))
    return std::nullopt;
  for (std::int64_t gate = 0; gate < gates; ++gate)
    for (const std::int64_t row : tested_places(rows))
      for (const std::int64_t column : tested_places(columns)) {
        const Place place = tracer.trace(value, first + (gate * rows + row) * columns + column);
        const auto own = static_cast<std::int64_t>(blocks[static_cast<std::size_t>(gate)]);
        if (place.source != source || place.index != (own * rows + row) * columns + column)
          return std::nullopt;
      }
  return source;
}

// The inputs of the layer become src, lengths, both first states, and for each direction both weights and
// both biases as the framework has them.
bool match_recurrent(PatternGraph& graph, std::size_t place) {
  const onnx::Node& layer = graph.node(place);
  const CellRow* row = find_cell_row(layer.type);
  if (row == nullptr || !layer.domain.empty() || layer.inputs.size() < 4 || layer.inputs.size() > 7)
    return false;
  const TensorSpec &weight = graph.known().spec(layer.inputs[1]),
                   &recurrent = graph.known().spec(layer.inputs[2]),
                   &bias = graph.known().spec(layer.inputs[3]);
  if (!weight.elements() || !recurrent.elements() || !bias.elements() || weight.dims.size() != 3 ||
      recurrent.dims.size() != 3)
    return false;
  const auto gates = static_cast<std::int64_t>(row->blocks.size());
  const std::int64_t directions = weight.dims[0], hidden = recurrent.dims[2], inputs = weight.dims[2],
                     rows = gates * hidden;
  if (hidden < 1 || inputs < 1 || directions < 1 || directions > 2 || weight.dims[1] != rows ||
      recurrent.dims != std::vector{directions, rows, hidden} ||
      bias.dims != std::vector{directions, 2 * rows})
    return false;
  std::vector<std::string> found{layer.inputs[0]};
  for (std::size_t i = 4; i < 7; ++i) found.push_back(i < layer.inputs.size() ? layer.inputs[i] : "");
  Tracer tracer(graph);
  for (std::int64_t direction = 0; direction < directions; ++direction) {
    struct Part {
      std::size_t input;
      std::int64_t first, columns;
    };
    for (const Part& part :
         {Part{1, direction * rows * inputs, inputs}, Part{2, direction * rows * hidden, hidden},
          Part{3, 2 * direction * rows, 1}, Part{3, (2 * direction + 1) * rows, 1}}) {
      const auto source = weight_behind(tracer, graph, layer.inputs[part.input], part.first, row->blocks,
                                        hidden, part.columns);
      if (!source) return false;
      found.push_back(*source);
    }
  }
  onnx::Node node = layer;
  node.domain = kOwnDomain;
  node.inputs = std::move(found);
  graph.replace(place, std::move(node));
  return true;
}

}  // namespace

std::vector<PatternRow> recurrent_patterns() { return {{"recurrent layer", match_recurrent}}; }

}  // namespace trainyard::interchange
