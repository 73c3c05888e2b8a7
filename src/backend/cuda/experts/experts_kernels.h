#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

// ops/sequence/experts.h and grouped_dense.h say what the kernels compute. Places and offsets are read
// where the kernels run; what lies outside of a tensor is passed over. All sums have an order that depends on
// the sizes and the offsets alone. T and D: float or __nv_bfloat16.
namespace trainyard::backend::cuda::device {

inline constexpr int kMostExperts = 1024;  // that are routed to

struct RouteSizes {
  std::int64_t rows, experts, choices;
};

struct RouteTensors {
  float* gates;
  std::int32_t *chosen, *place, *offsets;
};
// `counts`: route_counts() numbers.
void route(cudaStream_t stream, const RouteSizes& sizes, const float* scores, const RouteTensors& made,
           std::int32_t* counts);
std::int64_t route_counts(const RouteSizes& sizes);

void route_grad(cudaStream_t stream, const RouteSizes& sizes, const float* d_gates, const float* gates,
                const std::int32_t* chosen, float* d_scores);

// Leaves the parts of a layer's penalty, without the coefficient, in kBalanceParts numbers; finish_balance()
// adds up the parts of all layers.
inline constexpr int kBalanceParts = 64;
void balance_parts(cudaStream_t stream, std::int64_t rows, std::int64_t experts, const float* scores,
                   const std::int32_t* offsets, float* parts);
void finish_balance(cudaStream_t stream, int layers, float coefficient, const float* parts, float* penalty);
void balance_grad(cudaStream_t stream, std::int64_t rows, std::int64_t experts, float coefficient,
                  const float* d_loss, const float* scores, const std::int32_t* offsets, float* d_scores);

struct ChoiceSizes {
  std::int64_t rows, choices, width;
};

// dst: row r of src at each of its places.
template <typename T>
void dispatch(cudaStream_t stream, const ChoiceSizes& sizes, const T* src, const std::int32_t* place, T* dst);
// dst: for each row the sum of the rows at its places, times gate; null: without gates.
template <typename T>
void sum_choices(cudaStream_t stream, const ChoiceSizes& sizes, const T* src, const float* gates,
                 const std::int32_t* place, T* dst);
// d_src may be src.
template <typename D, typename T>
void combine_grad(cudaStream_t stream, const ChoiceSizes& sizes, const D* d_dst, const T* src,
                  const float* gates, const std::int32_t* place, T* d_src, float* d_gates);

struct GroupSizes {
  std::int64_t rows, groups, inputs, outputs;
};

// bias may be null.
template <typename T>
void grouped_dense(cudaStream_t stream, const GroupSizes& sizes, const T* src, const T* weight,
                   const std::int32_t* offsets, const float* bias, T* dst);
template <typename T>
void grouped_dense_d_src(cudaStream_t stream, const GroupSizes& sizes, const T* d_dst, const T* weight,
                         const std::int32_t* offsets, T* d_src);
// d_bias may be null.
template <typename T>
void grouped_dense_d_weight(cudaStream_t stream, const GroupSizes& sizes, const T* d_dst, const T* src,
                            const std::int32_t* offsets, T* d_weight, float* d_bias);

}  // namespace trainyard::backend::cuda::device
