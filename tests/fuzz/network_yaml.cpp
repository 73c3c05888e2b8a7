#include "fuzz/targets.h"
#include "networks/layers/described_network.h"

namespace trainyard::fuzz {

std::vector<std::string> network_yaml_seeds() {
  return {R"(name: images
about: layers of images
input: {height: 12, width: $side, channels: 4}
classes: 5
preprocess: unit
parameters: {side: 8, n: {default: 2, from: 0, to: 3, about: times}, kind: {default: relu, choices: [relu, gelu]}}
layers:
- conv: {name: stem, filters: 2 * $n + 2, kernel: [3, 1], padding: 1, groups: 2, activation: $kind}
- repeat:
    times: $n
    name: block
    layers: [depthwise_conv, {residual: [conv: {filters: 6, batch_norm: yes}]}]
- max_pool
- transposed_conv: 6
- concat: [[], stem]
- multiply: [[], [global_pool, dense: {units: 12, activation: sigmoid}]]
- local_response_norm: 3
- dropout: 0.25
- logits
)",
          R"(input: {length: 6, vocabulary: 20, masked: no}
layers:
- embedding: {name: e, width: 8}
- positions: sinusoidal
- residual: [layer_norm, attention: {heads: 2, kv_heads: 1, rotary: yes}]
- gru: 8
- add: [[swiglu, dense: 8], e]
- logits: {tied: e, bias: false}
)",
          "input: {features: 7}\nclasses: &n 3\nlayers: [dense: {units: *n, activation: elu}, batch_norm]\n"};
}

void fuzz_network_yaml(std::string_view bytes) {
  expect_error_or_result(
      "network_yaml",
      [](std::string_view text) { networks::layers::parse_described(std::string(text), "fuzz"); }, bytes);
}

}  // namespace trainyard::fuzz
