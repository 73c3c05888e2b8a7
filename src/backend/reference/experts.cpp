#include "ops/sequence/experts.h"

#include "backend/reference/backend.h"

namespace trainyard::backend::reference {

namespace {

// The softmax of the scores at some places of a row, by the order of `scores`.
template <typename T>
std::vector<double> softmax_of(const std::vector<T>& scores) {
  const double highest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> shares;
  double sum = 0;
  for (const T score : scores) sum += shares.emplace_back(std::exp(static_cast<double>(score) - highest));
  for (double& share : shares) share /= sum;
  return shares;
}

void route(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(0)[0], experts = args.node.input_shape(0)[1],
                       choices = args.node.attrs<ops::RouteAttrs>().choices;
    auto *chosen = args.output<std::int32_t>(1), *place = args.output<std::int32_t>(2),
         *offsets = args.output<std::int32_t>(3);
    std::fill_n(offsets, experts + 1, 0);
    std::vector<std::int32_t> order(static_cast<std::size_t>(experts));
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* scores = args.input<T>(0) + r * experts;
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(),
                       [&](std::int32_t a, std::int32_t b) { return scores[a] > scores[b]; });
      std::vector<T> best;
      for (std::int64_t j = 0; j < choices; ++j) {
        const std::int32_t expert = order[static_cast<std::size_t>(j)];
        chosen[r * choices + j] = expert;
        ++offsets[expert + 1];
        best.push_back(scores[expert]);
      }
      const std::vector<double> gates = softmax_of(best);
      std::transform(gates.begin(), gates.end(), args.output<T>(0) + r * choices,
                     [](double gate) { return static_cast<T>(gate); });
    }
    std::partial_sum(offsets, offsets + experts + 1, offsets);
    std::vector<std::int32_t> next(offsets, offsets + experts);
    for (std::int64_t i = 0; i < rows * choices; ++i) place[i] = next[static_cast<std::size_t>(chosen[i])]++;
  });
}

// d_score = gate (d_gate - sum of gate d_gate) of the chosen; the others have no part in it.
void route_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(1)[0], choices = args.node.input_shape(1)[1],
                       experts = args.node.output_shape(0)[1];
    std::fill_n(args.output<T>(0), rows * experts, T(0));
    for (std::int64_t r = 0; r < rows; ++r) {
      const T *d_gates = args.input<T>(0) + r * choices, *gates = args.input<T>(1) + r * choices;
      const auto* chosen = args.input<std::int32_t>(2) + r * choices;
      double sum = 0;
      for (std::int64_t j = 0; j < choices; ++j) sum += static_cast<double>(gates[j]) * d_gates[j];
      for (std::int64_t j = 0; j < choices; ++j)
        args.output<T>(0)[r * experts + chosen[j]] = static_cast<T>(gates[j] * (d_gates[j] - sum));
    }
  });
}

void dispatch(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t width = args.node.input_shape(0)[1], choices = args.node.input_shape(1)[1];
    const auto* place = args.input<std::int32_t>(1);
    for (std::int64_t i = 0; i < args.node.input_shape(1).elements(); ++i)
      std::copy_n(args.input<T>(0) + i / choices * width, width, args.output<T>(0) + place[i] * width);
  });
}

void dispatch_d_src(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.output_shape(0)[0], width = args.node.output_shape(0)[1],
                       choices = args.node.input_shape(1)[1];
    const auto* place = args.input<std::int32_t>(1);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; ++c) {
        double sum = 0;
        for (std::int64_t j = 0; j < choices; ++j)
          sum += args.input<T>(0)[place[r * choices + j] * width + c];
        args.output<T>(0)[r * width + c] = static_cast<T>(sum);
      }
  });
}

void combine(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.output_shape(0)[0], width = args.node.output_shape(0)[1],
                       choices = args.node.input_shape(1)[1];
    const T *src = args.input<T>(0), *gates = args.input<T>(1);
    const auto* place = args.input<std::int32_t>(2);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < width; ++c) {
        double sum = 0;
        for (std::int64_t i = r * choices; i < (r + 1) * choices; ++i)
          sum += static_cast<double>(gates[i]) * src[place[i] * width + c];
        args.output<T>(0)[r * width + c] = static_cast<T>(sum);
      }
  });
}

void combine_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t width = args.node.input_shape(1)[1], choices = args.node.input_shape(2)[1];
    const T *d_dst = args.input<T>(0), *src = args.input<T>(1), *gates = args.input<T>(2);
    const auto* place = args.input<std::int32_t>(3);
    for (std::int64_t i = 0; i < args.node.input_shape(2).elements(); ++i) {
      const T *d = d_dst + i / choices * width, *row = src + place[i] * width;
      double sum = 0;
      for (std::int64_t c = 0; c < width; ++c) {
        sum += static_cast<double>(d[c]) * row[c];  // before d_src, which may lie in the memory of src
        args.output<T>(0)[place[i] * width + c] = gates[i] * d[c];
      }
      args.output<T>(1)[i] = static_cast<T>(sum);
    }
  });
}

// Returns of each expert its share of all choices.
std::vector<double> shares_in(const std::int32_t* offsets, std::int64_t experts) {
  std::vector<double> shares;
  for (std::int64_t e = 0; e < experts; ++e)
    shares.push_back(static_cast<double>(offsets[e + 1] - offsets[e]) / offsets[experts]);
  return shares;
}

void balance_penalty(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    double penalty = 0;
    for (int layer = 0; layer < args.node.inputs(); layer += 2) {
      const std::int64_t rows = args.node.input_shape(layer)[0], experts = args.node.input_shape(layer)[1];
      const std::vector<double> shares = shares_in(args.input<std::int32_t>(layer + 1), experts);
      for (std::int64_t r = 0; r < rows; ++r) {
        const T* scores = args.input<T>(layer) + r * experts;
        const std::vector<double> p = softmax_of(std::vector<T>(scores, scores + experts));
        penalty += std::inner_product(p.begin(), p.end(), shares.begin(), 0.0) *
                   static_cast<double>(experts) / static_cast<double>(rows);
      }
    }
    *args.output<T>(0) = static_cast<T>(args.node.attrs<ops::BalanceAttrs>().coefficient * penalty);
  });
}

// With t = sum over experts of f p: d_score = coefficient E / R p (f - t)
void balance_penalty_grad(const Arguments& args) {
  with_float_type(args.node.dtype(), [&]<typename T>() {
    const std::int64_t rows = args.node.input_shape(1)[0], experts = args.node.input_shape(1)[1];
    const std::vector<double> shares = shares_in(args.input<std::int32_t>(2), experts);
    const double factor = args.node.attrs<ops::BalanceAttrs>().coefficient * *args.input<T>(0) *
                          static_cast<double>(experts) / static_cast<double>(rows);
    for (std::int64_t r = 0; r < rows; ++r) {
      const T* scores = args.input<T>(1) + r * experts;
      const std::vector<double> p = softmax_of(std::vector<T>(scores, scores + experts));
      const double mean = std::inner_product(p.begin(), p.end(), shares.begin(), 0.0);
      for (std::size_t e = 0; e < p.size(); ++e)
        args.output<T>(0)[r * experts + static_cast<std::int64_t>(e)] =
            static_cast<T>(factor * p[e] * (shares[e] - mean));
    }
  });
}

}  // namespace

std::vector<Candidate> experts_candidates() {
  return {
      {&ops::route_op, "reference:route", always, make<route>},
      {&ops::route_grad_op, "reference:route_grad", always, make<route_grad>},
      {&ops::dispatch_op, "reference:dispatch", always, make<dispatch>},
      {&ops::dispatch_d_src_op, "reference:dispatch_d_src", always, make<dispatch_d_src>},
      {&ops::combine_op, "reference:combine", always, make<combine>},
      {&ops::combine_grad_op, "reference:combine_grad", always, make<combine_grad, 1>},
      {&ops::balance_penalty_op, "reference:balance_penalty", always, make<balance_penalty>},
      {&ops::balance_penalty_grad_op, "reference:balance_penalty_grad", always, make<balance_penalty_grad>}};
}

}  // namespace trainyard::backend::reference
