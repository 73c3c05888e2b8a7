#include "predict/gnn/weights.h"

#include <algorithm>

namespace trainyard::predict {

void write_weights(engine::Executor& executor, const std::vector<NamedTensor>& tensors) {
  for (const NamedTensor& tensor : tensors) {
    const HostTensor content(tensor.shape, DType::f32);
    std::copy(tensor.numbers.begin(), tensor.numbers.end(), content.as<float>().begin());
    executor.write(tensor.name, content);
  }
}

std::vector<NamedTensor> read_weights(const engine::Executor& executor, const Architecture& architecture) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, shape] : parameter_shapes(architecture)) {
    const HostTensor content = executor.read(name);
    const auto numbers = content.as<float>();
    tensors.push_back({name, shape, {numbers.begin(), numbers.end()}});
  }
  return tensors;
}

}  // namespace trainyard::predict
