#include "backend/cuda/runtime/check.h"

#include "base/error.h"

namespace trainyard::backend::cuda {
namespace {

// "cudaMalloc(&memory, bytes)" -> "cudaMalloc"
std::string_view function_of(std::string_view call) { return call.substr(0, call.find('(')); }

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that does not harm the context would be found again by the next call
  fail(ErrorKind::device, "{}: {}", function_of(call), cudaGetErrorString(status));
}

void check(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::array<char, 512> text{};
  cudnnGetLastErrorString(text.data(), text.size());
  fail(ErrorKind::device, "{}: {}{}{}", function_of(call), cudnnGetErrorString(status),
       text[0] == '\0' ? "" : ": ", text.data());
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail(ErrorKind::device, "{}: {}", function_of(call), cublasLtGetStatusString(status));
}

}  // namespace trainyard::backend::cuda
