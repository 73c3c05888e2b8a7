#include "interchange/graph_def.h"

#include "fuzz/targets.h"
#include "interchange/test_models.h"

namespace trainyard::fuzz {

std::vector<std::string> graph_def_seeds() {
  return {
      interchange::small_graph_def(),
      R"(node { name: "s" op: "Const" attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } }
               int_val: 1 int_val: -1 } } } }
             node { name: "x" op: "Placeholder" attr { key: "shape" value { shape { dim { size: 4 } dim { size: 6 } } } } }
             node { name: "r" op: "Reshape" input: "x" input: "s" } node { name: "m" op: "MatMul" input: "x" input: "r"
               attr { key: "transpose_b" value { b: true } } attr { key: "_output_shapes" value { list { shape { unknown_rank: true } } } } }
             node { name: "p" op: "Pad" input: "x" input: "s" } node { name: "c" op: "ConcatV2" input: "x" input: "x" input: "s" })"};
}

void fuzz_graph_def(std::string_view bytes) {
  expect_error_or_result(
      "graph_def",
      [](std::string_view text) { interchange::totals_of(interchange::read_graph_def(text, "fuzz")); },
      bytes);
}

}  // namespace trainyard::fuzz
