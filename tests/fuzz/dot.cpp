#include "interchange/dot.h"

#include <stdexcept>

#include "fuzz/targets.h"
#include "interchange/graph_def.h"
#include "interchange/test_models.h"

namespace trainyard::fuzz {

std::vector<std::string> dot_seeds() {
  return {interchange::to_dot(interchange::read_graph_def(interchange::small_graph_def(), "seed")),
          "strict digraph g { rankdir=LR; a:n -> b -> \"c\" [style=dashed]; subgraph s { d [label=\"x\\ny\"] "
          "} }"};
}

void fuzz_dot(std::string_view bytes) {
  expect_error_or_result(
      "dot",
      [](std::string_view text) {
        // A graph that was read must be written in a form that can be read again.
        const interchange::ExchangeGraph graph = interchange::read_dot(text, "fuzz");
        const interchange::ExchangeGraph again = interchange::read_dot(interchange::to_dot(graph), "fuzz");
        if (!(interchange::totals_of(graph) == interchange::totals_of(again)))
          throw std::logic_error("dot: what was written is not what was read");
      },
      bytes);
}

}  // namespace trainyard::fuzz
