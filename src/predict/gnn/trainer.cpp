#include "predict/gnn/trainer.h"

#include "engine/canonical.h"
#include "meter/process_stat.h"
#include "plan/compile.h"
#include "predict/gnn/batch.h"

namespace trainyard::predict {
namespace {

ops::UpdateAttrs adam(const GnnFitOptions& options) {
  ops::UpdateAttrs update{.rule = ops::Rule::adam, .weight_decay = options.weight_decay};
  update.schedule.rate = options.learning_rate;
  return update;
}

// The rounds' values for the backward pass take most of the memory, which grows with the square of a graph.
void want_memory(const Capacity& capacity, const Architecture& architecture) {
  const auto nodes = static_cast<double>(capacity.nodes), hidden = static_cast<double>(architecture.hidden);
  const double each_round = (architecture.convolution == GraphConvolution::gcn ? 6 : 7) * hidden,
               each_step = nodes + 7 * hidden * static_cast<double>(capacity.graphs);
  const double needed = sizeof(float) * (static_cast<double>(capacity.convolutions) * nodes * each_round +
                                         static_cast<double>(capacity.readout_steps) * each_step);
  const std::int64_t available = meter::available_bytes(meter::SystemFiles());
  if (available > 0 && needed > static_cast<double>(available))
    fail(ErrorKind::config,
         "fit: {} graphs of together {} nodes, with up to {} convolutions, need {:.1f} GB of memory, this "
         "machine has "
         "{:.1f}; take fewer at once, fewer convolutions, or coarser graphs",
         capacity.graphs, capacity.nodes, capacity.convolutions, needed / 1e9,
         static_cast<double>(available) / 1e9);
}

double loss_of(const engine::Executor& executor) { return executor.host_view<float>(kLoss)[0]; }

}  // namespace

bool is_frozen(const std::string& name, const std::vector<std::string>& frozen) {
  return std::any_of(frozen.begin(), frozen.end(),
                     [&](const std::string& one) { return name.starts_with(one); });
}

Trainer::Trainer(std::span<const GraphSample> training, std::span<const GraphSample> validation,
                 const GnnFitOptions& options, const GnnScaling& scaling)
    : training_(training),
      validation_(validation),
      options_(options),
      scaling_(scaling),
      backend_(backend::make_backend("auto")) {
  const std::int64_t batch = std::min(options_.batch, training_size());
  const Capacity capacity = capacity_for(training_, options_.architecture, batch);
  want_memory(capacity, options_.architecture);
  GraphNetwork network = build_network({.architecture = options_.architecture,
                                        .capacity = capacity,
                                        .training = true,
                                        .frozen = [this](const std::string& name) { return frozen(name); }});
  add_training_step(network, adam(options_));
  executor_ = std::make_unique<engine::Executor>(
      plan::compile(network.graph, *backend_, {.keep_gradients = true, .pinned_layouts = {}}));
  engine::initialise_state(*executor_, options_.seed);
  engine::initialise_optimizer(*executor_, options_.seed);
  if (!validation_.empty()) evaluator_ = make_evaluator();
}

bool Trainer::frozen(const std::string& name) const { return is_frozen(name, options_.frozen); }

std::unique_ptr<engine::Executor> Trainer::make_evaluator() const {
  const std::int64_t batch = std::min(options_.batch, static_cast<std::int64_t>(validation_.size()));
  const GraphNetwork network =
      build_network({.architecture = options_.architecture,
                     .capacity = capacity_for(validation_, options_.architecture, batch),
                     .frozen = [this](const std::string& name) { return frozen(name); }});
  plan::CompiledStep step = plan::compile(network.graph, *backend_,
                                          {.pinned_layouts = plan::persistent_layouts(executor_->plan())});
  engine::Executor::Regions borrowed{};
  for (const plan::Region region : {plan::Region::parameters, plan::Region::statistics}) {
    borrowed[static_cast<std::size_t>(region)] = executor_->region(region);
    // Both plans have the same values in the same order and layouts, so they agree on every offset.
    const auto here = engine::tensors_in(step.plan, region),
               there = engine::tensors_in(executor_->plan(), region);
    TRAINYARD_CHECK(here.size() == there.size());
    for (std::size_t i = 0; i < here.size(); ++i)
      TRAINYARD_CHECK(here[i]->name == there[i]->name && here[i]->offset == there[i]->offset);
  }
  return std::make_unique<engine::Executor>(std::move(step), borrowed);
}

Trainer::Part Trainer::training_part(std::int64_t epoch, std::int64_t step) const {
  const SampleOrder order(options_.seed, training_size());
  Part part;
  const std::int64_t begin = step * options_.batch, end = std::min(begin + options_.batch, training_size());
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t index = options_.shuffle ? order.index(epoch * training_size() + i) : i;
    part.push_back(&training_[static_cast<std::size_t>(index)]);
  }
  return part;
}

void Trainer::check_gradients() {
  const auto buffers = engine::tensors_in(executor_->plan(), plan::Region::gradients);
  std::set<std::string> missing;
  for (const graph::ValueId value : executor_->graph().values_with(graph::Role::parameter))
    missing.insert(executor_->graph().value(value).name);
  for (std::int64_t step = 0; step < steps_per_epoch() && !missing.empty(); ++step) {
    const Part part = training_part(0, step);
    write_graphs(*executor_, part, options_.architecture, scaling_);
    if (write_labels(*executor_, part, scaling_) == 0) continue;
    executor_->run_gradients({options_.seed, step});
    for (const plan::Buffer* buffer : buffers) {
      const graph::ValueId of = executor_->graph().value(buffer->value).gradient_of;
      TRAINYARD_CHECK(of != graph::kNone);
      const auto* numbers = reinterpret_cast<const float*>(executor_->data(*buffer));
      if (std::any_of(numbers, numbers + buffer->bytes / sizeof(float), [](float x) { return x != 0; }))
        missing.erase(executor_->graph().value(of).name);
    }
  }
  if (!missing.empty())
    fail(ErrorKind::config,
         "fit: '{}' is to be trained but gets no gradient from any of {} training graphs; freeze it, or give "
         "graphs "
         "that use it",
         *missing.begin(), training_.size());
}

double Trainer::train_epoch(std::int64_t epoch) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t step = 0; step < steps_per_epoch(); ++step) {
    const Part part = training_part(epoch, step);
    write_graphs(*executor_, part, options_.architecture, scaling_);
    const std::int64_t known = write_labels(*executor_, part, scaling_);
    if (known == 0) continue;
    executor_->run({options_.seed, epoch * steps_per_epoch() + step});
    const double loss = loss_of(*executor_);
    if (!std::isfinite(loss))
      fail(ErrorKind::config, "fit: the loss is not finite in epoch {}; learning rate {} may be too high",
           epoch, options_.learning_rate);
    sum += loss * static_cast<double>(known);
    count += known;
  }
  return sum / static_cast<double>(std::max<std::int64_t>(count, 1));
}

double Trainer::validate() {
  TRAINYARD_CHECK(evaluator_ != nullptr);
  double sum = 0;
  std::int64_t count = 0;
  const auto batch = static_cast<std::size_t>(options_.batch);
  for (std::size_t first = 0; first < validation_.size(); first += batch) {
    Part part;
    for (std::size_t i = first; i < std::min(first + batch, validation_.size()); ++i)
      part.push_back(&validation_[i]);
    write_graphs(*evaluator_, part, options_.architecture, scaling_);
    const std::int64_t known = write_labels(*evaluator_, part, scaling_);
    if (known == 0) continue;
    evaluator_->run({options_.seed, 0});
    sum += loss_of(*evaluator_) * static_cast<double>(known);
    count += known;
  }
  return sum / static_cast<double>(std::max<std::int64_t>(count, 1));
}

}  // namespace trainyard::predict
