#pragma once

// For tests only: steps of networks that PyTorch exported, whose losses it wrote beside them.

#include "interchange/read_graph.h"
#include "train/session/session.h"

namespace trainyard::interchange {

// The samples of a step, and PyTorch's losses of this step and of those behind it on the same samples.
struct Step {
  std::int64_t batch = 0;
  std::vector<double> input;
  std::vector<std::int32_t> labels;
  std::vector<double> losses;
  double rate = 0.1;
};

inline HostTensor whole_numbers(const Shape& shape, const std::vector<std::int32_t>& numbers) {
  HostTensor tensor(shape, DType::i32);
  std::copy(numbers.begin(), numbers.end(), tensor.as<std::int32_t>().begin());
  return tensor;
}

// The file has sequence after sequence, a step reads step after step. PyTorch's labels are the next tokens; a
// network that is asked for masked ones has its labels behind the tokens.
inline HostTensor by_steps(const std::vector<double>& ids, std::int64_t sequences, bool masked) {
  const auto steps = static_cast<std::int64_t>(ids.size()) / sequences, length = steps - 1;
  const std::int64_t rows = masked ? 2 * length : steps;
  HostTensor tensor({rows, sequences}, DType::i32);
  for (std::int64_t n = 0; n < sequences; ++n)
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t step = masked && row >= length ? row - length + 1 : row;
      tensor.as<std::int32_t>()[static_cast<std::size_t>(row * sequences + n)] =
          static_cast<std::int32_t>(ids[static_cast<std::size_t>(n * steps + step)]);
    }
  return tensor;
}

inline void write_samples(train::Session& session, const networks::NetworkInfo& info, const Step& step) {
  engine::Executor& executor = session.executor();
  if (info.reads_sequences()) {
    const auto length = static_cast<std::int32_t>(info.input[0]);
    executor.write("tokens", by_steps(step.input, step.batch, info.masked));
    executor.write("lengths",
                   whole_numbers({step.batch}, std::vector(static_cast<std::size_t>(step.batch), length)));
    return;
  }
  Shape shape{step.batch};
  for (const std::int64_t dim : info.input) shape.append(dim);
  HostTensor images(shape, DType::f32);
  std::transform(step.input.begin(), step.input.end(), images.as<float>().begin(),
                 [](double number) { return static_cast<float>(number); });
  executor.write("images", images);
  executor.write("labels", whole_numbers({step.batch}, step.labels));
}

}  // namespace trainyard::interchange
