#include "ops/sequence/experts.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/lane_sums.h"
#include "backend/onednn/runtime/vector_math.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

std::int64_t row_grain(std::int64_t numbers) {
  return std::max<std::int64_t>(1, kElementwiseGrain / numbers);
}

// Returns the expert that follows `last` where experts are sorted by falling score, those of equal scores by
// number; -1 as `last`: the first. Returns -1 where no further score is a number.
std::int32_t next_best(const float* scores, std::int64_t experts, std::int32_t last) {
  std::int32_t best = -1;
  for (std::int32_t e = 0; e < experts; ++e) {
    const bool is_behind = last < 0 || scores[e] < scores[last] || (scores[e] == scores[last] && e > last);
    if (is_behind && scores[e] == scores[e] && (best < 0 || scores[e] > scores[best])) best = e;
  }
  return best;
}

void choose(const float* scores, std::int64_t experts, std::int64_t choices, std::int32_t* chosen,
            float* gates) {
  float sum = 0;
  for (std::int64_t j = 0; j < choices; ++j) {
    const std::int32_t best = next_best(scores, experts, j == 0 ? -1 : chosen[j - 1]);
    chosen[j] = best < 0 ? static_cast<std::int32_t>(j) : best;
    sum += gates[j] =
        best < 0 ? std::numeric_limits<float>::quiet_NaN() : vector_exp(scores[best] - scores[chosen[0]]);
  }
  for (std::int64_t j = 0; j < choices; ++j) gates[j] /= sum;
}

void run_route(const Arguments& arguments) {
  const std::int64_t rows = arguments.node.input_shape(0)[0], experts = arguments.node.input_shape(0)[1],
                     choices = arguments.node.attrs<ops::RouteAttrs>().choices;
  auto *chosen = arguments.output<std::int32_t>(1), *place = arguments.output<std::int32_t>(2),
       *offsets = arguments.output<std::int32_t>(3);
  parallel_chunks(rows, row_grain(experts * choices), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r)
      choose(arguments.input<float>(0) + r * experts, experts, choices, chosen + r * choices,
             arguments.output<float>(0) + r * choices);
  });
  // Counts, their sums, and then the next free place of each expert.
  auto* next = reinterpret_cast<std::int32_t*>(arguments.memory.workspace);
  std::fill_n(offsets, experts + 1, 0);
  for (std::int64_t i = 0; i < rows * choices; ++i) ++offsets[chosen[i] + 1];
  std::partial_sum(offsets, offsets + experts + 1, offsets);
  std::copy_n(offsets, experts, next);
  for (std::int64_t i = 0; i < rows * choices; ++i) place[i] = next[chosen[i]]++;
}

void run_route_grad(const Arguments& arguments) {
  const std::int64_t rows = arguments.node.input_shape(1)[0], choices = arguments.node.input_shape(1)[1],
                     experts = arguments.node.output_shape(0)[1];
  parallel_chunks(rows, row_grain(experts), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float *d_gates = arguments.input<float>(0) + r * choices,
                  *gates = arguments.input<float>(1) + r * choices;
      const auto* chosen = arguments.input<std::int32_t>(2) + r * choices;
      float* d_scores = arguments.output<float>(0) + r * experts;
      const float sum = dot(d_gates, gates, choices);
      std::fill_n(d_scores, experts, 0.0f);
      for (std::int64_t j = 0; j < choices; ++j) d_scores[chosen[j]] = gates[j] * (d_gates[j] - sum);
    }
  });
}

void run_dispatch(const Arguments& arguments) {
  const std::int64_t width = arguments.node.input_shape(0)[1], rows = arguments.node.input_shape(1)[0],
                     choices = arguments.node.input_shape(1)[1];
  const auto* place = arguments.input<std::int32_t>(1);
  parallel_chunks(rows, row_grain(width * choices), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin * choices; i < end * choices; ++i)
      std::copy_n(arguments.input<float>(0) + i / choices * width, width,
                  arguments.output<float>(0) + place[i] * width);
  });
}

// dst (rows, width) = sum over the choices of each row of the row at their place, times gate where there are
// gates.
void sum_choices(const Arguments& arguments, const float* gates, const std::int32_t* place,
                 std::int64_t choices) {
  const std::int64_t rows = arguments.node.output_shape(0)[0], width = arguments.node.output_shape(0)[1];
  parallel_chunks(rows, row_grain(width * choices), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) {
      float* dst = arguments.output<float>(0) + r * width;
      std::fill_n(dst, width, 0.0f);
      for (std::int64_t i = r * choices; i < (r + 1) * choices; ++i) {
        const float *src = arguments.input<float>(0) + place[i] * width,
                    gate = gates == nullptr ? 1 : gates[i];
#pragma omp simd
        for (std::int64_t c = 0; c < width; ++c) dst[c] += gate * src[c];
      }
    }
  });
}

void run_dispatch_d_src(const Arguments& arguments) {
  sum_choices(arguments, nullptr, arguments.input<std::int32_t>(1), arguments.node.input_shape(1)[1]);
}

void run_combine(const Arguments& arguments) {
  sum_choices(arguments, arguments.input<float>(1), arguments.input<std::int32_t>(2),
              arguments.node.input_shape(1)[1]);
}

// d_src may lie in the memory of src: a row is read before it is written.
void run_combine_grad(const Arguments& arguments) {
  const std::int64_t width = arguments.node.input_shape(1)[1], rows = arguments.node.input_shape(2)[0],
                     choices = arguments.node.input_shape(2)[1];
  const auto* place = arguments.input<std::int32_t>(3);
  parallel_chunks(rows, row_grain(width * choices), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t i = begin * choices; i < end * choices; ++i) {
      const float *d_dst = arguments.input<float>(0) + i / choices * width,
                  *src = arguments.input<float>(1) + place[i] * width, gate = arguments.input<float>(2)[i];
      float* d_src = arguments.output<float>(0) + place[i] * width;
      arguments.output<float>(1)[i] = dot(d_dst, src, width);
#pragma omp simd
      for (std::int64_t c = 0; c < width; ++c) d_src[c] = gate * d_dst[c];
    }
  });
}

// A row of probabilities, and the mean of the experts' shares of all choices by them.
struct Probabilities {
  float highest, sum, mean_share;

  Probabilities(const float* scores, const float* shares, std::int64_t experts) {
    const float top = highest = highest_of(scores, experts);
    sum = sum_in_lanes(experts, [=](std::int64_t e) { return vector_exp(scores[e] - top); });
    mean_share =
        sum_in_lanes(experts, [=](std::int64_t e) { return vector_exp(scores[e] - top) * shares[e]; }) / sum;
  }
};

void find_shares(const std::int32_t* offsets, std::int64_t experts, float* shares) {
  for (std::int64_t e = 0; e < experts; ++e)
    shares[e] = static_cast<float>(offsets[e + 1] - offsets[e]) / static_cast<float>(offsets[experts]);
}

constexpr std::int64_t kRowsOfASum = 256;

// Rows are summed in pieces of fixed size, so that the sum does not depend on the threads.
void run_balance(const Arguments& arguments) {
  auto *shares = reinterpret_cast<float*>(arguments.memory.workspace), *sums = shares + ops::kMostExperts;
  float penalty = 0;
  for (int layer = 0; layer < arguments.node.inputs(); layer += 2) {
    const std::int64_t rows = arguments.node.input_shape(layer)[0],
                       experts = arguments.node.input_shape(layer)[1],
                       pieces = (rows + kRowsOfASum - 1) / kRowsOfASum;
    find_shares(arguments.input<std::int32_t>(layer + 1), experts, shares);
    const float* scores = arguments.input<float>(layer);
    parallel_items(pieces, [&](std::int64_t piece, int) {
      float sum = 0;
      for (std::int64_t r = piece * kRowsOfASum; r < std::min(rows, (piece + 1) * kRowsOfASum); ++r)
        sum += Probabilities(scores + r * experts, shares, experts).mean_share;
      sums[piece] = sum;
    });
    penalty +=
        std::accumulate(sums, sums + pieces, 0.0f) * static_cast<float>(experts) / static_cast<float>(rows);
  }
  *arguments.output<float>(0) =
      static_cast<float>(arguments.node.attrs<ops::BalanceAttrs>().coefficient) * penalty;
}

void run_balance_grad(const Arguments& arguments) {
  const std::int64_t rows = arguments.node.input_shape(1)[0], experts = arguments.node.input_shape(1)[1];
  auto* shares = reinterpret_cast<float*>(arguments.memory.workspace);
  find_shares(arguments.input<std::int32_t>(2), experts, shares);
  const float factor = static_cast<float>(arguments.node.attrs<ops::BalanceAttrs>().coefficient) *
                       *arguments.input<float>(0) * static_cast<float>(experts) / static_cast<float>(rows);
  parallel_chunks(rows, row_grain(experts), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* scores = arguments.input<float>(1) + r * experts;
      float* d_scores = arguments.output<float>(0) + r * experts;
      const Probabilities row(scores, shares, experts);
#pragma omp simd
      for (std::int64_t e = 0; e < experts; ++e)
        d_scores[e] = factor * vector_exp(scores[e] - row.highest) / row.sum * (shares[e] - row.mean_share);
    }
  });
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// `in_place`: the inputs in whose memory output 0 may lie.
template <KernelFunction function, int... in_place>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {std::pair<int, int>{0, in_place}...};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), function);
}

std::unique_ptr<Kernel> make_route(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  Workspace workspace;
  workspace.add(static_cast<std::size_t>(request.node.input_shape(0)[1]) * sizeof(std::int32_t));
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_route);
}

std::unique_ptr<Kernel> make_balance(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  std::int64_t most_rows = 0;
  for (int layer = 0; layer < request.node.inputs(); layer += 2)
    most_rows = std::max(most_rows, request.node.input_shape(layer)[0]);
  Workspace workspace;
  workspace.add_floats(ops::kMostExperts + most_rows / kRowsOfASum + 1);
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_balance);
}

std::unique_ptr<Kernel> make_balance_grad(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  Workspace workspace;
  workspace.add_floats(ops::kMostExperts);
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_balance_grad);
}

}  // namespace

std::vector<Candidate> experts_candidates() {
  return {{&ops::route_op, "own:route", accept, make_route},
          {&ops::route_grad_op, "own:route_grad", accept, make<run_route_grad>},
          {&ops::dispatch_op, "own:dispatch", accept, make<run_dispatch>},
          {&ops::dispatch_d_src_op, "own:dispatch_d_src", accept, make<run_dispatch_d_src>},
          {&ops::combine_op, "own:combine", accept, make<run_combine>},
          {&ops::combine_grad_op, "own:combine_grad", accept, make<run_combine_grad, 1>},
          {&ops::balance_penalty_op, "own:balance_penalty", accept, make_balance},
          {&ops::balance_penalty_grad_op, "own:balance_penalty_grad", accept, make_balance_grad}};
}

}  // namespace trainyard::backend::onednn
