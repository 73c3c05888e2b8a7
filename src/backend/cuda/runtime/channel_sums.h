#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace trainyard::backend::cuda::device {

// Places in the workspace.
struct ChannelSumsWorkspace {
  static constexpr int kFactors = 3;
  float* factors;   // [kFactors][channels]
  float* partials;  // of every block
  unsigned* done;   // blocks that have finished, one number for every channel block; zero between launches
};

// Describes how blocks share the rows (pixels of all images) and channels of a tensor that lies channels
// last, when something is summed over the rows.
struct ChannelSums {
  std::int64_t rows = 0, channels = 0;
  int multiprocessors = 1;
  int width = 1;  // neighbouring channels of a thread: 16 bytes, or one where the channels do not divide so
  int lanes = 1;  // threads side by side in a row; the others of a block take further rows
  int row_blocks = 1, channel_blocks = 1;

  static constexpr int kMostLanes = 8;
  static constexpr int kSums = 2;  // per channel

  ChannelSums(std::int64_t rows, std::int64_t channels, std::size_t element_bytes, int multiprocessors);

  // Factors of the pass behind the sums, and partial sums; all are written before anyone reads them.
  std::size_t workspace_bytes() const;
  ChannelSumsWorkspace workspace(float* memory, unsigned* done) const {
    return {memory, memory + ChannelSumsWorkspace::kFactors * channels, done};
  }
};

// to[c] = sum over rows of src[row, c]: for tensors that keep the whole device busy; channel_sum() needs no
// workspace and is faster for small ones. T: float or __nv_bfloat16.
template <typename T>
void channel_sum_of_many(cudaStream_t stream, const ChannelSums& sums, const T* src, float* to,
                         const ChannelSumsWorkspace& workspace);

}  // namespace trainyard::backend::cuda::device
