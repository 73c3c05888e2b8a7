#include "train/loop/ps_training.h"

#include <sys/resource.h>

#include <sstream>

#include "process/stop_request.h"
#include "ps/server/coordinator.h"

namespace trainyard::train {
namespace {

using News = ps::Coordinator::News;

constexpr double kLookSeconds = 0.1;
constexpr double kOrderlySeconds = 5;  // to save what was reached, when something is broken

// "17" and "3,9": which batches were used by the time of a checkpoint.
constexpr const char *kNextBatch = "next batch", *kLoose = "batches left before it";

std::vector<std::pair<std::string, std::string>> to_reached(const ps::LedgerStart& start) {
  std::string loose;
  for (const std::int64_t batch : start.loose) loose += fmt::format("{}{}", loose.empty() ? "" : ",", batch);
  return {{kNextBatch, std::to_string(start.next_batch)}, {kLoose, loose}};
}

// A checkpoint that names no batches is of a run without servers: each step used one batch a worker.
ps::LedgerStart ledger_of(const engine::CheckpointHeader& at, std::int64_t batches_per_step) {
  ps::LedgerStart start{.updates = at.step, .next_batch = at.step * batches_per_step, .loose = {}};
  for (const auto& [key, value] : at.reached) {
    if (key == kNextBatch) start.next_batch = std::stoll(value);
    std::istringstream list(value);
    if (key == kLoose)
      for (std::string each; std::getline(list, each, ',');) start.loose.push_back(std::stoll(each));
  }
  return start;
}

std::int64_t batches_used(const ps::LedgerStart& at) {
  return at.next_batch - static_cast<std::int64_t>(at.loose.size());
}

// Returns the CPU time of processes that we started and that are gone.
double children_seconds() {
  ::rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

WireLayout layout_of(const Session& session, const PsSetup& options) {
  return !options.canonical && can_be_native(session) ? WireLayout::native : WireLayout::canonical;
}

// Uses the plan that workers have, because otherwise their layouts could differ.
SessionOptions like_a_worker(SessionOptions options) {
  options.keep_gradients = true;
  return options;
}

// Steps that servers make of the gradients of workers, all of them other processes. The keeper is a session
// of this process: it gets the servers' numbers when something is due, while they go on.
class ServersStepper final : public Stepper {
 public:
  ServersStepper(const SessionOptions& session, const TrainOptions& options, const PsSetup& ps,
                 const comm::transport::JobKey& key, PsProcesses& processes, PsResult& exchange)
      : options_(options),
        ps_(ps),
        processes_(processes),
        session_(like_a_worker(session)),
        numbers_(session_, layout_of(session_, ps)),
        exchange_(exchange),
        coordinator_({.servers = ps.servers,
                      .keys = ps::make_keys(numbers_.elements(), ps.servers),
                      .listen = ps.listen},
                     key, [](const std::string&) {}) {
    exchange_.layout = layout_of(session_, ps);
  }

  Session& keeper() override { return session_; }

  // Not by steps: runs that lost workers made more of them.
  std::int64_t left(const engine::CheckpointHeader& at) const override {
    return batches_in_all() - batches_used(ledger_of(at, per_update()));
  }

  void resume(engine::CheckpointHeader& at) override {
    start_ = ledger_of(at, per_update());
    exchange_.batches_used = batches_used(start_);
  }

  void prepare(std::int64_t first_step, Hear hear) override {
    hear_ = std::move(hear);
    reached_ = first_step;
    ps::State state = numbers_.read_state();
    state.start = start_;
    coordinator_.begin(std::move(state));
    std::uint64_t run = 0;
    comm::transport::fill_random(std::as_writable_bytes(std::span(&run, 1)));
    processes_.start({.coordinator = coordinator_.address(),
                      .layout = exchange_.layout,
                      .fingerprint = numbers_.fingerprint(),
                      .elements = numbers_.elements(),
                      .parameters = numbers_.parameters(),
                      .batches = batches_in_all(),
                      .run = run});
    watch_.emplace();
  }

  Reached advance(std::int64_t due) override {
    using State = Reached::State;
    if (due < options_.steps && !finished_at_) coordinator_.want_snapshot(due);
    while (hear_news() != News::Kind::snapshot) {
    }
    // One that was wanted before may come when all is done already.
    if (!finished_at_ || reached_ < *finished_at_) return {reached_, seconds(), State::going_on};
    end_of_update();
    return {reached_, seconds(), process::StopRequest::asked() ? State::stopped : State::done};
  }

  std::vector<std::pair<std::string, std::string>> place() const override { return to_reached(start_); }

  void stop(TrainResult&) override {}  // the processes end when their last state is saved

  void finish(TrainResult& result) override {
    if (watch_) end_processes(result);
    result.feed = Feed::host;
    result.facts.backend = session_.backend().name();
    result.facts.threads = session_.options().threads * ps_.workers;
    result.facts.parameters = session_.parameters();
    result.facts.flops_per_step = session_.work_per_step().flops * per_update();
    result.facts.bytes_per_step = session_.work_per_step().bytes_moved * per_update();
    const plan::StepPlan& plan = session_.executor().plan();
    result.facts.plan_bytes = static_cast<std::int64_t>(session_.plan_bytes());
    result.facts.plan_limit_bytes = static_cast<std::int64_t>(plan.limit_bytes);
    result.facts.unlimited_plan_bytes = static_cast<std::int64_t>(plan.unlimited_bytes);
    result.facts.recomputed_flops_per_step = session_.recomputed_per_step().flops * per_update();
    result.facts.recomputed_bytes_per_step = session_.recomputed_per_step().bytes_moved * per_update();
  }

 private:
  // From the start of the processes to their end.
  struct Watch {
    Watch() {}  // without it Clang 16 has no default constructor for optional's emplace
    meter::NoiseGuard guard;
    double children_before = children_seconds();
    std::optional<Error> failure;
    double looked = 0, failed_at = 0;
    bool halted = false;
  };

  std::int64_t per_update() const { return one_update_of_all(ps_.mode) ? ps_.workers : 1; }
  std::int64_t batches_in_all() const { return options_.steps * per_update(); }
  double seconds() const { return last_noted_ > began_ ? last_noted_ - began_ : 0; }

  // Takes the next news, and returns its kind. A failure ends the run with what was reached: a failure of
  // another kind than peer, or one after which nothing orderly comes, ends it here.
  News::Kind hear_news() {
    while (true) {
      std::optional<News> news = coordinator_.next(kLookSeconds);
      if (news) take(*news);
      if (news && news->kind == News::Kind::counts) return news->kind;
      look();
      if (news) return news->kind;
    }
  }

  void look() {
    std::optional<Error>& failure = watch_->failure;
    if (now_seconds() - watch_->looked >= kLookSeconds && !failure) {
      watch_->looked = now_seconds();
      failure = processes_.look();
    }
    if ((failure || process::StopRequest::asked()) && !std::exchange(watch_->halted, true))
      coordinator_.halt();
    if (!failure) return;
    if (watch_->failed_at == 0) watch_->failed_at = now_seconds();
    if (failure->kind() == ErrorKind::peer && now_seconds() - watch_->failed_at <= kOrderlySeconds) return;
    coordinator_.end();
    processes_.end();
    throw Error(*failure);
  }

  void take(const News& news) {
    switch (news.kind) {
      case News::Kind::ready:
        break;
      case News::Kind::noted:
        note(news.noted, news.note);
        break;
      case News::Kind::snapshot:
        numbers_.write_state(news.state);
        reached_ = news.updates;
        start_ = news.state.start;
        exchange_.batches_used = batches_used(start_);
        break;
      case News::Kind::finished:
        if (!news.words.empty()) watch_->failure.emplace(ErrorKind::peer, news.words);
        finished_at_ = news.updates;
        coordinator_.want_snapshot(news.updates);
        break;
      case News::Kind::counts:
        exchange_.servers = news.counts;
        break;
      case News::Kind::lost:
        ++exchange_.lost_servers;
        if (options_.progress != nullptr) options_.progress->warn(fmt::format("lost {}", news.words));
        break;
      case News::Kind::failed:
        watch_->failure.emplace(ErrorKind::peer, news.words);
        break;
    }
  }

  void end_processes(TrainResult& result) {
    coordinator_.want_counts();
    while (hear_news() != News::Kind::counts) {
    }
    end_of_steps(result);
    coordinator_.end();
    processes_.end();
    if (watch_->failure) throw Error(*watch_->failure);
    result.noise = watch_->guard.finish(children_seconds() - watch_->children_before);
  }

  // Gradients come one by one; an update is heard of when the first of the next comes, or at the end.
  void note(const ps::Noted& noted, std::span<const std::byte> bytes) {
    const std::optional<StepNote> step = StepNote::from_bytes(bytes);
    if (!step || !is_new(noted.batch)) return;
    if (noted.updates != update_) end_of_update();
    update_ = noted.updates;
    const double when = 1e-9 * static_cast<double>(noted.nanoseconds);
    if (update_ends_.empty()) {
      // Otherwise the first update would have taken no time at all.
      began_ = when - static_cast<double>(step->input + step->forward + step->backward);
      update_ends_.push_back(began_);
    }
    last_noted_ = when;
    loss_sum_ += static_cast<double>(step->loss);
    ++losses_in_update_;
    ++gradients_;
    ++exchange_.gradients[static_cast<int>(noted.worker)];
    for (float StepNote::*each : kMeans) sum_.*each += (*step).*each;
    user_seconds_ += static_cast<double>(step->user);
    system_seconds_ += static_cast<double>(step->system);
  }

  // A server that was killed may have told of a gradient and then not have it: then it comes once more.
  bool is_new(std::int64_t batch) {
    constexpr std::size_t kRemembered = 4096;
    if (!noted_batches_.insert(batch).second) return false;
    if (noted_batches_.size() > kRemembered) noted_batches_.erase(noted_batches_.begin());
    return true;
  }

  void end_of_update() {
    if (losses_in_update_ == 0) return;
    done_.first = update_;
    done_.losses.assign(1, loss_sum_ / static_cast<double>(losses_in_update_));
    done_.seconds.assign(1, seconds_of_update());
    done_.images = losses_in_update_ * session_.options().model.batch;
    done_.gradients = losses_in_update_;
    hear_(done_, seconds());
    loss_sum_ = 0;
    losses_in_update_ = 0;
  }

  // In modes where each worker makes updates by itself, the updates of several workers arrive together, and
  // the time between two of them says nothing: it is taken over as many updates as there are workers.
  double seconds_of_update() {
    update_ends_.push_back(last_noted_);
    const std::size_t over = one_update_of_all(ps_.mode) ? 1 : static_cast<std::size_t>(ps_.workers);
    if (update_ends_.size() > over + 1) update_ends_.pop_front();
    return std::max(
        (update_ends_.back() - update_ends_.front()) / static_cast<double>(update_ends_.size() - 1), 1e-9);
  }

  void end_of_steps(TrainResult& result) {
    end_of_update();
    if (gradients_ == 0) return;
    for (float StepNote::*each : kMeans) exchange_.mean.*each = sum_.*each / static_cast<float>(gradients_);
    result.input_wait_seconds = static_cast<double>(sum_.input) / ps_.workers;
    result.cpu.user_seconds = user_seconds_;
    result.cpu.system_seconds = system_seconds_;
    exchange_.seconds = result.cpu.wall_seconds = std::max(last_noted_ - began_, 1e-9);
    exchange_.gradients_per_second = static_cast<double>(gradients_) / exchange_.seconds;
  }

  static constexpr std::array kMeans{&StepNote::loss,     &StepNote::input, &StepNote::forward,
                                     &StepNote::backward, &StepNote::push,  &StepNote::apply,
                                     &StepNote::pull};

  const TrainOptions& options_;
  const PsSetup ps_;
  PsProcesses& processes_;
  Session session_;
  SharedNumbers numbers_;
  PsResult& exchange_;
  ps::LedgerStart start_;     // of the session's present state
  std::int64_t reached_ = 0;  // updates in it
  ps::Coordinator coordinator_;
  Hear hear_;
  std::optional<Watch> watch_;               // while there are processes
  std::optional<std::int64_t> finished_at_;  // updates
  std::int64_t update_ = -1, gradients_ = 0, losses_in_update_ = 0;
  double loss_sum_ = 0, last_noted_ = 0, began_ = 0, user_seconds_ = 0, system_seconds_ = 0;
  std::deque<double> update_ends_;
  std::set<std::int64_t> noted_batches_;  // the newest
  StepNote sum_;
  StepsDone done_;
};

}  // namespace

bool one_update_of_all(const ps::ModeName& mode) { return mode.in_rounds(); }

TrainResult run_ps_training(const SessionOptions& session, const data::Dataset& dataset,
                            const TrainOptions& options, const PsSetup& ps, const RunFolder* folder,
                            const comm::transport::JobKey& key, PsProcesses& processes, PsResult& exchange) {
  const process::StopRequest guard;
  ServersStepper stepper(session, options, ps, key, processes, exchange);
  const engine::CheckpointHeader identity =
      run_identity(stepper.keeper().options(), dataset, options.preprocess, ps.workers);
  return run_loop(stepper, identity, data::batches_of(dataset), options, folder);
}

}  // namespace trainyard::train
