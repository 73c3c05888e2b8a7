#include "ops/update.h"

#include <cmath>
#include <vector>

#include "backend/function_kernel.h"
#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/list.h"
#include "base/parallel.h"

// One pass over the arenas. The planner lays parameters, gradients and each slot out in the same order, so
// what the node lists tensor by tensor is a few long ranges, usually one.
namespace trainyard::backend::onednn {
namespace {

struct Range {
  float *parameter, *gradient;
  float* slot[3];
  std::int64_t count;
};

struct Rates {
  float rate, momentum, decay, beta1, beta2, epsilon, weight_decay, shrink, correction1, correction2, ema;
};

Rates rates_at(const ops::UpdateAttrs& attrs, std::int64_t step) {
  const double t = static_cast<double>(step + 1);
  const double rate = attrs.schedule.at(step);
  return {static_cast<float>(rate),
          static_cast<float>(attrs.momentum),
          static_cast<float>(attrs.decay),
          static_cast<float>(attrs.beta1),
          static_cast<float>(attrs.beta2),
          static_cast<float>(attrs.epsilon),
          static_cast<float>(attrs.decoupled_decay ? 0 : attrs.weight_decay),
          static_cast<float>(attrs.decoupled_decay ? rate * attrs.weight_decay : 0),
          static_cast<float>(1 / (1 - std::pow(attrs.beta1, t))),
          static_cast<float>(1 / (1 - std::pow(attrs.beta2, t))),
          static_cast<float>(attrs.ema_decay_at(step))};
}

// Rule, Nesterov and shadow weights are template arguments: the loop has no branches and vectorises.
template <ops::Rule rule, bool nesterov, bool ema>
void update_range(const Range& range, const Rates& r, std::int64_t begin, std::int64_t end) {
  float* __restrict p = range.parameter;
  const float* __restrict g = range.gradient;
  float* __restrict s0 = range.slot[0];
  float* __restrict s1 = range.slot[1];
  constexpr int kShadow = rule == ops::Rule::sgd ? 0 : rule == ops::Rule::momentum ? 1 : 2;
  float* __restrict shadow = range.slot[kShadow];
#pragma omp simd
  for (std::int64_t i = begin; i < end; ++i) {
    const float gradient = g[i] + r.weight_decay * p[i];
    float change = 0;
    if constexpr (rule == ops::Rule::sgd) {
      change = r.rate * gradient;
    } else if constexpr (rule == ops::Rule::momentum) {
      s0[i] = r.momentum * s0[i] + gradient;
      change = r.rate * (nesterov ? gradient + r.momentum * s0[i] : s0[i]);
    } else if constexpr (rule == ops::Rule::rmsprop) {
      s0[i] = r.decay * s0[i] + (1 - r.decay) * gradient * gradient;
      s1[i] = r.momentum * s1[i] + r.rate * gradient / std::sqrt(s0[i] + r.epsilon);
      change = s1[i];
    } else {
      s0[i] = r.beta1 * s0[i] + (1 - r.beta1) * gradient;
      s1[i] = r.beta2 * s1[i] + (1 - r.beta2) * gradient * gradient;
      change = r.rate * (s0[i] * r.correction1) / (std::sqrt(s1[i] * r.correction2) + r.epsilon);
    }
    p[i] = p[i] - r.shrink * p[i] - change;
    if constexpr (ema) shadow[i] = r.ema * shadow[i] + (1 - r.ema) * p[i];
  }
}

using RangeUpdate = void (*)(const Range&, const Rates&, std::int64_t, std::int64_t);

template <bool ema>
RangeUpdate pick(const ops::UpdateAttrs& attrs) {
  switch (attrs.rule) {
    case ops::Rule::sgd:
      return update_range<ops::Rule::sgd, false, ema>;
    case ops::Rule::momentum:
      return attrs.nesterov ? update_range<ops::Rule::momentum, true, ema>
                            : update_range<ops::Rule::momentum, false, ema>;
    case ops::Rule::rmsprop:
      return update_range<ops::Rule::rmsprop, false, ema>;
    case ops::Rule::adam:
      return update_range<ops::Rule::adam, false, ema>;
  }
  return nullptr;
}

class UpdateKernel final : public Kernel {
 public:
  UpdateKernel(const graph::NodeView& node, KernelIo io)
      : Kernel(std::move(io)),
        attrs_(node.attrs<ops::UpdateAttrs>()),
        update_(attrs_.ema_decay > 0 ? pick<true>(attrs_) : pick<false>(attrs_)) {
    const int count = ops::updated_parameters(node);
    // Buffers end on whole cache lines and their padding is zero: updating it too lets neighbours join.
    for (int i = 0; i < count; ++i)
      floats_.push_back((io_.inputs[static_cast<std::size_t>(i)].elements(node.input_shape(i)) + 15) / 16 *
                        16);
  }

  void bind(const Binding& binding) override {
    ranges_.clear();
    const std::size_t count = floats_.size();
    const auto at = [&](std::size_t group, std::size_t i) {
      return reinterpret_cast<float*>(binding.inputs[group * count + i]);
    };
    for (std::size_t i = 0; i < count; ++i) {
      Range range{at(0, i), at(1, i), {}, floats_[i]};
      for (int s = 0; s < attrs_.slots(); ++s) range.slot[s] = at(static_cast<std::size_t>(s) + 2, i);
      if (ranges_.empty() || !extend(ranges_.back(), range)) ranges_.push_back(range);
    }
  }

  void run(const StepContext& context) override {
    const Rates rates = rates_at(attrs_, context.step);
    for (const Range& range : ranges_)
      parallel_chunks(range.count, 16384,
                      [&](std::int64_t begin, std::int64_t end, int) { update_(range, rates, begin, end); });
  }

 private:
  // Buffers begin on cache lines and what lies between two of them is zero: updating that too lets them join.
  bool extend(Range& last, const Range& next) const {
    const std::int64_t step = (last.count + 15) / 16 * 16;
    bool adjacent = last.parameter + step == next.parameter && last.gradient + step == next.gradient;
    for (int s = 0; s < attrs_.slots(); ++s) adjacent = adjacent && last.slot[s] + step == next.slot[s];
    if (adjacent) last.count = step + next.count;
    return adjacent;
  }

  ops::UpdateAttrs attrs_;
  RangeUpdate update_;
  std::vector<std::int64_t> floats_;
  std::vector<Range> ranges_;
};

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// Gradients and slots take the layout their parameter already has.
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const int count = ops::updated_parameters(node);
  KernelIo io = plain_io(node);
  for (int i = 0; i < node.inputs(); ++i)
    io.inputs[static_cast<std::size_t>(i)] = request.input_or_plain(i % count);
  return std::make_unique<UpdateKernel>(node, std::move(io));
}

}  // namespace

std::vector<Candidate> update_candidates() { return {{&ops::update_op, "own:update", accept, make}}; }

}  // namespace trainyard::backend::onednn
