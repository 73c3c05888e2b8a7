#include "exchange/dot.h"

#include <stdexcept>

#include "exchange/graph_def.h"
#include "exchange/test_models.h"
#include "fuzz/targets.h"

namespace trainyard::fuzz {

std::vector<std::string> dot_seeds() {
  return {exchange::to_dot(exchange::read_graph_def(exchange::small_graph_def(), "seed")),
          "strict digraph g { rankdir=LR; a:n -> b -> \"c\" [style=dashed]; subgraph s { d [label=\"x\\ny\"] "
          "} }"};
}

void fuzz_dot(std::string_view bytes) {
  expect_error_or_result(
      "dot",
      [](std::string_view text) {
        // What was read is written so that it is read again.
        const exchange::ExchangeGraph graph = exchange::read_dot(text, "fuzz");
        const exchange::ExchangeGraph again = exchange::read_dot(exchange::to_dot(graph), "fuzz");
        if (!(exchange::totals_of(graph) == exchange::totals_of(again)))
          throw std::logic_error("dot: what was written is not what was read");
      },
      bytes);
}

}  // namespace trainyard::fuzz
