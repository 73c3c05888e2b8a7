#include <algorithm>

#include "fuzz/targets.h"
#include "study/spec/plan.h"
#include "study/spec/spec.h"

namespace trainyard::fuzz {

std::vector<std::string> study_file_seeds() {
  return {R"(study: all-of-it
about: every key there is
run: train
settings: {network: lenet, lr: 1e-3, no_eval: true}
axes:
  batch: [16..64 x2, 100]
  staging: [in-place, memory]
exclude:
  - {batch: [16, 32], staging: memory}
replicates: 3
order: shuffled
seed: 9
time_limit: 1.5m
memory_limit: 2GiB
wait_for_quiet: 2m
pin_clocks: true
at_once: 4
environment: {OMP_WAIT_POLICY: passive}
sbatch: [--qos=low]
)",
          R"(study: parts
settings: {steps: 3, network: fc}
axes: {batch: &sizes [1, 2]}
parts:
  - axes: {width: *sizes}
    exclude: [{width: 1, batch: 2}]
  - settings: {network: cnn, steps: 5}
    axes: {blocks: [1, '3,4,6,3']}
  - axes: {width: 1..64 x2}
    sample: {points: 2, seed: 7}
)",
          "study: p\nrun: program\nprogram: [echo, '{colour}']\naxes: &x {colour: [red, '1'], more: *x}\n"};
}

void fuzz_study_file(std::string_view bytes) {
  expect_error_or_result(
      "study_file",
      [](std::string_view text) {
        study::Spec spec = study::parse_spec(std::string(text), "fuzz");
        // The plan is refused or listed; a long list tests no more than a short one.
        spec.replicates = std::min(spec.replicates, 2);
        constexpr double kEnough = 1000;
        double cells = 0;
        for (const study::Matrix& matrix : study::matrices_of(spec)) {
          double product = 1;
          for (const study::Axis& axis : matrix.axes) product *= static_cast<double>(axis.values.size());
          cells += product;
        }
        if (cells <= kEnough || cells > 2.0 * static_cast<double>(study::kMostRuns))
          study::make_plan(spec, [](const record::Settings&) { return std::string(); });
      },
      bytes);
}

}  // namespace trainyard::fuzz
