#pragma once

#include "backend/kernel.h"
#include "base/parallel.h"

// Kernels that treat a tensor as one row of floats: any layout will do, as long as all operands share it and
// zeros in the padding stay zeros.
namespace trainyard::backend::onednn {

// Below this number of elements a second thread costs more time than it saves.
constexpr std::int64_t kElementwiseGrain = 16384;

// Floats of the first output, padding included.
inline std::int64_t padded_elements(const Arguments& arguments) {
  return arguments.io.outputs[0].elements(arguments.node.output_shape(0));
}

// Gives all inputs and outputs in the layout that input `leader` has now.
KernelIo follow_io(const KernelRequest& request, int leader, std::vector<std::pair<int, int>> in_place);

// The body may work in place: element i of an output depends on elements i of the inputs only.
template <typename Body>
void for_each_element(std::int64_t count, const Body& body) {
  parallel_chunks(count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    const Body local =
        body;  // or every store might change what the body captured, for all the compiler knows
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) local(i);
  });
}

}  // namespace trainyard::backend::onednn
