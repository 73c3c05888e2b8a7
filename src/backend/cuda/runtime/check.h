#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

namespace trainyard::backend::cuda {

// Throws Error (device) that names the call and the message of the library.
void check(cudaError_t status, const char* call);
void check(cudnnStatus_t status, const char* call);
void check(cublasStatus_t status, const char* call);

}  // namespace trainyard::backend::cuda

// Checks a call. It is a macro, so that the text of the call is in the message.
#define TRAINYARD_CUDA(call) ::trainyard::backend::cuda::check((call), #call)
