#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

// Kernels that do one thing, to time the GPU on.
namespace trainyard::backend::cuda::device {

void nothing(cudaStream_t stream);
// Bytes: a multiple of 16.
void copy_bytes(cudaStream_t stream, const std::byte* from, std::byte* to, std::size_t bytes);
// Writes to `sink` only when told to by what it reads, so that nothing of the reading can be left out.
void read_bytes(cudaStream_t stream, const std::byte* from, std::size_t bytes, std::uint32_t* sink);
// Reads them `passes` times, up to the last that are too few for all threads; returns how many bytes that is.
// Bytes: 16 KiB at least.
std::size_t reread_bytes(cudaStream_t stream, const std::byte* from, std::size_t bytes, int passes,
                         std::uint32_t* sink);

}  // namespace trainyard::backend::cuda::device
