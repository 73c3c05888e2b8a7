#pragma once

#include "graph/graph.h"
#include "interchange/onnx_model.h"

namespace trainyard::interchange {

// Gives the model's last layer so many classes: its weights get other sizes and lose their content. `graph`
// is the network that the model is without the change. Error (unsupported), beginning with `who`, where a
// weight of the last layer does not say which of its sizes counts the classes.
void resize_head(onnx::Model& model, const graph::Graph& graph, std::int64_t classes, const std::string& who);

}  // namespace trainyard::interchange
