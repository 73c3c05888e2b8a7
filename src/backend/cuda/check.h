#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

namespace trainyard::backend::cuda {

// Error (device) that names the call and what the library says of it.
void check(cudaError_t status, const char* call);
void check(cudnnStatus_t status, const char* call);
void check(cublasStatus_t status, const char* call);

}  // namespace trainyard::backend::cuda

// Of the call itself, so that its text is in the message.
#define TRAINYARD_CUDA(call) ::trainyard::backend::cuda::check((call), #call)
