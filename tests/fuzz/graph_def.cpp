#include "interchange/graph_def.h"

#include "base/protobuf_wire.h"
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

// A node with a type, a shape, a list of numbers and a constant.
std::vector<std::string> graph_def_wire_seeds() {
  const auto part = [](unsigned field, const std::string& content) {
    std::string out;
    put_bytes(out, field, content);
    return out;
  };
  const auto number = [](unsigned field, std::uint64_t value) {
    std::string out;
    put_key(out, field, Wire::varint);
    put_varint(out, value);
    return out;
  };
  const auto attribute = [&](const std::string& key, const std::string& value) {
    return part(5, part(1, key) + part(2, value));
  };
  const std::string shape = part(2, number(1, 2)) + part(2, number(1, 3));
  const std::string node = part(1, "x") + part(2, "Const") + part(4, "/gpu:0") +
                           attribute("T", number(6, 1)) + attribute("shape", part(7, shape)) +
                           attribute("strides", part(1, part(3, "\1\2"))) +
                           attribute("value", part(8, number(1, 3) + part(2, shape) + part(4, "\1\2\3\4")));
  return {part(1, node) + part(1, part(1, "y") + part(2, "Relu") + part(3, "x"))};
}

void fuzz_graph_def_wire(std::string_view bytes) {
  expect_error_or_result(
      "graph_def_wire",
      [](std::string_view file) {
        interchange::totals_of(
            interchange::read_graph_def(interchange::text_of_graph_def(file, "fuzz"), "fuzz", 2));
      },
      bytes);
}

}  // namespace trainyard::fuzz
