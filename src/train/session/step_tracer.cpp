#include "train/session/step_tracer.h"

namespace trainyard::train {
namespace {

using trace::Span;

Span span(std::string name, const char* category, double began, double ended) {
  return {0, std::move(name), category, began, std::max(ended - began, 0.0), {}};
}

Span step_span(const std::string& name, const char* category, std::int64_t step, double began, double ended) {
  Span made = span(name, category, began, ended);
  made.arguments = {{"step", step}};
  return made;
}

// Adds a span for each run of consecutive kernels of one phase; no span reaches into the exchange of
// gradients.
void add_phases(const StepTracer::Notes& notes, const plan::StepPlan& plan, std::vector<Span>& spans) {
  const std::vector<StepTracer::Notes::Kernel>& kernels = notes.kernels;
  const auto phase_of = [&](const StepTracer::Notes::Kernel& kernel) {
    return kernel.number == engine::Executor::kPrologue ? "input"
                                                        : graph::name(plan.steps[kernel.number].phase);
  };
  const auto exchanged = [&](const StepTracer::Notes::Kernel& kernel) {
    return notes.exchanging_from > 0 && kernel.began >= notes.exchanging_from;
  };
  for (std::size_t from = 0, to = 0; from < kernels.size(); from = to) {
    const std::string phase = phase_of(kernels[from]);
    while (to < kernels.size() && phase == phase_of(kernels[to]) &&
           exchanged(kernels[from]) == exchanged(kernels[to]))
      ++to;
    spans.push_back(span(phase, "phase", kernels[from].began, kernels[to - 1].ended));
  }
}

Span kernel_span(const StepTracer::Notes::Kernel& kernel, const plan::StepPlan& plan, std::int64_t step) {
  if (kernel.number == engine::Executor::kPrologue)
    return span("take batch", "copy", kernel.began, kernel.ended);
  const plan::Step& planned = plan.steps[kernel.number];
  Span made = span(planned.name, graph::name(planned.category), kernel.began, kernel.ended);
  made.arguments = {{"op", planned.op},
                    {"kernel", planned.kernel},
                    {"phase", std::string(graph::name(planned.phase))},
                    {"step", step},
                    {"flops", planned.cost.flops},
                    {"elementwise_flops", planned.cost.elementwise_flops},
                    {"bytes", planned.cost.bytes_moved}};
  if (planned.recomputed) made.arguments.emplace_back("recomputed", std::int64_t{1});
  return made;
}

// Rate of multiply-adds while a kernel runs.
void add_rate(const Span& kernel, std::vector<trace::Counter>& counters) {
  const std::int64_t* flops = kernel.number("flops");
  if (flops == nullptr || *flops == 0 || kernel.seconds <= 0) return;
  counters.push_back({0, "GFLOP/s", kernel.began, 1e-9 * static_cast<double>(*flops) / kernel.seconds});
  counters.push_back({0, "GFLOP/s", kernel.ended(), 0});
}

}  // namespace

void StepTracer::choose(std::int64_t first, std::int64_t begin, std::int64_t end) {
  if (!steps_.first) steps_.first = std::max(begin, std::min(first, end - steps_.count));
  if (*steps_.first < begin || *steps_.first + steps_.count > end)
    fail(ErrorKind::usage, "{} {}..{}: this run has steps {}..{}", Setting{"trace_steps"}, *steps_.first,
         *steps_.first + steps_.count - 1, begin, end - 1);
}

void StepTracer::add_device(const std::string& title, const engine::Executor& executor) {
  Device& device = devices_.emplace_back();
  device.title = title;
  device.executor = &executor;
  Notes& notes = device.notes;
  notes.kernels.reserve(2 * executor.plan().steps.size() + 1);
  notes.watch = [&notes](std::size_t number, double began, double ended) {
    notes.kernels.push_back({number, began, ended});
  };
}

StepTracer::Kind StepTracer::kind(std::int64_t step) const {
  if (!steps_.first) return Kind::none;
  const std::int64_t after = step - *steps_.first;
  if (after < -steps_.count || after >= steps_.count) return Kind::none;
  return after < 0 ? Kind::plain : Kind::traced;
}

std::int64_t StepTracer::unnoted(std::int64_t step, std::int64_t most) const {
  if (!steps_.first) return most;
  const std::int64_t begins = *steps_.first - steps_.count;
  return step < begins ? std::min(most, begins - step) : most;
}

StepTracer::Notes& StepTracer::begin(int device, std::int64_t step) {
  Notes& notes = this->notes(device);
  notes.step = step;
  notes.fetched = notes.came = notes.exchanging_from = 0;
  notes.kernels.clear();
  notes.began = notes.fed = notes.ended = now_seconds();
  return notes;
}

void StepTracer::end(int number) {
  Device& device = devices_[static_cast<std::size_t>(number)];
  const Notes& notes = device.notes;
  const plan::StepPlan& plan = device.executor->plan();
  std::vector<Span>& steps = device.steps;
  steps.push_back(
      step_span(fmt::format("step {}", notes.step), "step", notes.step, notes.began, notes.ended));
  const double input_from = std::max(notes.began, notes.fetched);
  if (notes.fetched > 0)
    steps.push_back(span(notes.from_servers ? "wait for weights" : "fetch parameters", "communication",
                         notes.began, notes.fetched));
  if (notes.came > 0) {
    steps.push_back(span("input", "phase", input_from, notes.fed));
    steps.push_back(span("wait for batch", "wait", input_from, notes.came));
    steps.push_back(span("copy batch", "copy", notes.came, notes.fed));
  }
  if (notes.exchanging_from > 0)
    steps.push_back(span("exchange gradients", "communication", notes.exchanging_from, notes.ended));
  std::vector<Span>& kernels = device.executor->on_host() ? steps : device.kernels;
  add_phases(notes, plan, kernels);
  for (const Notes::Kernel& kernel : notes.kernels) {
    kernels.push_back(kernel_span(kernel, plan, notes.step));
    add_rate(kernels.back(), device.counters);
  }
}

void StepTracer::note_plain(int device, std::int64_t step, double began, double ended) {
  devices_[static_cast<std::size_t>(device)].steps.push_back(
      step_span(fmt::format("step {}, not traced", step), "plain_step", step, began, ended));
}

void StepTracer::note_copies(int device, const std::vector<backend::CopyQueue::Copy>& copies) {
  for (const backend::CopyQueue::Copy& copy : copies) {
    Span made = span("copy batch to the device", "copy", copy.began, copy.ended);
    made.arguments = {{"bytes", static_cast<std::int64_t>(copy.bytes)}};
    devices_[static_cast<std::size_t>(device)].copies.push_back(std::move(made));
  }
}

void StepTracer::note_batch(int device, std::int64_t step, double began, double ended) {
  // Batches are made some steps ahead: those of steps that nobody will see are forgotten.
  constexpr std::int64_t kAhead = 8;
  if (!steps_.first || step < *steps_.first - steps_.count || step >= *steps_.first + steps_.count + kAhead)
    return;
  const MutexLock lock(batches_mutex_);
  batches_.push_back({device, std::this_thread::get_id(), step, began, ended});
}

bool StepTracer::has_steps() const {
  return std::any_of(devices_.begin(), devices_.end(), [](const Device& device) {
    return std::any_of(device.steps.begin(), device.steps.end(),
                       [](const Span& each) { return each.category == "step"; });
  });
}

trace::Trace StepTracer::noted() const {
  trace::Trace whole;
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    const Device& device = devices_[i];
    const auto add = [&](const char* name, const std::vector<Span>& spans) {
      if (spans.empty()) return;
      const int track = whole.track({device.title, name, static_cast<int>(i) + 1});
      for (Span each : spans) {
        each.track = track;
        whole.spans.push_back(std::move(each));
      }
    };
    add("steps", device.steps);
    for (trace::Counter counter : device.counters) {
      counter.track = whole.track({device.title, "steps", static_cast<int>(i) + 1});
      whole.counters.push_back(std::move(counter));
    }
    add("kernels", device.kernels);
    add("copies", device.copies);
    std::vector<std::thread::id> threads;  // that make its batches
    const MutexLock lock(batches_mutex_);
    for (const Batch& batch : batches_) {
      if (batch.device != static_cast<int>(i)) continue;
      auto thread = std::find(threads.begin(), threads.end(), batch.thread);
      if (thread == threads.end()) thread = threads.insert(thread, batch.thread);
      const std::string name = fmt::format("input {}", thread - threads.begin());
      Span made =
          step_span(fmt::format("make batch {}", batch.step), "input", batch.step, batch.began, batch.ended);
      made.track = whole.track({device.title, name, static_cast<int>(i) + 1});
      whole.spans.push_back(std::move(made));
    }
  }
  return whole;
}

}  // namespace trainyard::train
