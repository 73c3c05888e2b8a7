#include "train/ps_training.h"

#include <sys/resource.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>
#include <sstream>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/progress.h"
#include "data/view/batch_maker.h"
#include "engine/checkpoint.h"
#include "meter/noise.h"
#include "process/stop_request.h"
#include "ps/server/coordinator.h"
#include "train/evaluate.h"
#include "train/events.h"
#include "train/run_folder.h"

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

// CPU time of processes that we started and that are gone.
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

class PsTrainingRun {
 public:
  PsTrainingRun(const SessionOptions& session, const data::Dataset& dataset, const TrainOptions& options,
                const PsSetup& ps, const RunFolder* folder, const comm::transport::JobKey& key,
                PsProcesses& processes)
      : options_(options),
        ps_(ps),
        folder_(folder),
        processes_(processes),
        session_(like_a_worker(session)),
        numbers_(session_, layout_of(session_, ps)),
        header_(run_identity(session_.options(), dataset, options.preprocess, ps.workers)),
        bar_(options.progress, "train " + session.model.network, options.steps) {
    if (folder_ != nullptr && options_.resume) resume();
    if (options_.evaluate)
      evaluator_ = std::make_unique<Evaluator>(session_, data::batches_of(dataset), options.preprocess);
    if (folder_ != nullptr) events_ = std::make_unique<EventFile>(folder_->path(), header_.step);
    exchange_.layout = layout_of(session_, ps);
    coordinator_ = std::make_unique<ps::Coordinator>(
        ps::CoordinatorOptions{.servers = ps.servers,
                               .keys = ps::make_keys(numbers_.elements(), ps.servers),
                               .listen = ps.listen},
        key, [](const std::string&) {});
  }

  TrainResult run(PsResult& exchange) {
    const double start = now_seconds();
    exchange_.batches_used = batches_used(start_);
    if (exchange_.batches_used < batches_in_all()) {
      begin();
      follow();
    } else if (evaluator_ != nullptr) {
      evaluate();
    }
    if (events_ != nullptr) events_->flush();
    result_.interrupted = process::StopRequest::asked();
    result_.final_step = header_.step;
    result_.first_loss = header_.first_loss;
    // One loss an update: all of them are still there, the first one too.
    const bool with_first =
        !losses_.empty() && losses_.size() == result_.step_seconds.size() && !result_.resumed_from;
    result_.diverged = has_diverged(static_cast<double>(header_.first_loss),
                                    std::span(std::as_const(losses_)).subspan(with_first ? 1 : 0));
    result_.final_loss = final_loss();
    result_.seconds = now_seconds() - start;
    result_.feed = Feed::host;
    result_.facts.backend = session_.backend().name();
    result_.facts.threads = session_.options().threads * ps_.workers;
    result_.facts.parameters = session_.parameters();
    result_.facts.flops_per_step = session_.work_per_step().flops * per_update();
    result_.facts.bytes_per_step = session_.work_per_step().bytes_moved * per_update();
    exchange = std::move(exchange_);
    return std::move(result_);
  }

 private:
  std::int64_t per_update() const { return one_update_of_all(ps_.mode) ? ps_.workers : 1; }
  std::int64_t batches_in_all() const { return options_.steps * per_update(); }
  static std::int64_t batches_used(const ps::LedgerStart& at) {
    return at.next_batch - static_cast<std::int64_t>(at.loose.size());
  }

  void resume() {
    const auto latest = engine::latest_checkpoint(folder_->path());
    if (!latest) return;  // the folder was opened to resume or begin
    const engine::CheckpointHeader found = engine::load_checkpoint(*latest, header_, session_.executor());
    header_.step = saved_step_ = result_.first_step = found.step;
    header_.first_loss = found.first_loss;
    start_ = {.updates = found.step, .next_batch = found.step * per_update(), .loose = {}};
    for (const auto& [key, value] : found.reached) {
      if (key == kNextBatch) start_.next_batch = std::stoll(value);
      std::istringstream list(value);
      if (key == kLoose)
        for (std::string each; std::getline(list, each, ',');) start_.loose.push_back(std::stoll(each));
    }
    // The comparison is not by steps: runs that lost workers made more of them.
    if (batches_used(start_) > batches_in_all())
      fail(ErrorKind::usage, "{}: '{}' is beyond the {} steps asked for", Setting{"resume"}, latest->string(),
           options_.steps);
    header_.reached = to_reached(start_);
    result_.resumed_from = result_.checkpoint = latest;
    if (options_.progress != nullptr)
      options_.progress->note(fmt::format("resumed from '{}'", latest->string()));
  }

  void begin() {
    ps::State state = numbers_.read_state();
    state.start = start_;
    coordinator_->begin(std::move(state));
    std::uint64_t run = 0;
    comm::transport::fill_random(std::as_writable_bytes(std::span(&run, 1)));
    processes_.start({.coordinator = coordinator_->address(),
                      .layout = exchange_.layout,
                      .fingerprint = numbers_.fingerprint(),
                      .elements = numbers_.elements(),
                      .parameters = numbers_.parameters(),
                      .batches = batches_in_all(),
                      .run = run});
    want_next_snapshot();
  }

  // Runs until all that was asked for is done, saved and evaluated.
  void follow() {
    const meter::NoiseGuard guard;
    const double children_before = children_seconds();
    std::optional<Error> failure;
    double looked = 0, failed_at = 0;
    bool ended = false, halted = false;
    while (!ended) {
      if (const std::optional<News> news = coordinator_->next(kLookSeconds)) ended = take(*news, failure);
      if (now_seconds() - looked >= kLookSeconds && !ended && !failure) {
        looked = now_seconds();
        failure = processes_.look();
      }
      if ((failure || process::StopRequest::asked()) && !std::exchange(halted, true)) coordinator_->halt();
      if (!failure) continue;
      if (failed_at == 0) failed_at = now_seconds();
      if (failure->kind() != ErrorKind::peer || now_seconds() - failed_at > kOrderlySeconds) break;
    }
    coordinator_->end();
    processes_.end();
    if (failure) throw Error(*failure);
    result_.noise = guard.finish(children_seconds() - children_before);
  }

  // Returns true when that was the last.
  bool take(const News& news, std::optional<Error>& failure) {
    switch (news.kind) {
      case News::Kind::ready:
        return false;
      case News::Kind::noted:
        note(news.noted, news.note);
        return false;
      case News::Kind::snapshot:
        take_snapshot(news);
        if (!finished_at_)
          want_next_snapshot();
        else if (is_last(news))
          coordinator_->want_counts();
        return false;
      case News::Kind::finished:
        if (!news.words.empty()) failure.emplace(ErrorKind::peer, news.words);
        finished_at_ = news.updates;
        coordinator_->want_snapshot(news.updates);
        return false;
      case News::Kind::counts:
        exchange_.servers = news.counts;
        end_of_steps();
        return true;
      case News::Kind::lost:
        ++exchange_.lost_servers;
        if (options_.progress != nullptr) options_.progress->warn(fmt::format("lost {}", news.words));
        return false;
      case News::Kind::failed:
        failure.emplace(ErrorKind::peer, news.words);
        return false;
    }
    return false;
  }

  // Gradients come one by one; an update is noted when the first of the next comes, or at the end.
  void note(const ps::Noted& noted, std::span<const std::byte> bytes) {
    const std::optional<StepNote> step = StepNote::from_bytes(bytes);
    if (!step || !is_new(noted.batch)) return;
    if (noted.updates != update_) end_of_update();
    update_ = noted.updates;
    const double when = 1e-9 * static_cast<double>(noted.nanoseconds);
    if (first_noted_ == 0) {
      first_noted_ = when;
      // Otherwise the first update would have taken no time at all.
      began_ = when - static_cast<double>(step->input + step->forward + step->backward);
      update_ends_.push_back(began_);
    }
    last_noted_ = when;
    loss_sum_ += static_cast<double>(step->loss);
    ++losses_in_update_;
    ++gradients_;
    ++exchange_.gradients[static_cast<int>(noted.worker)];
    result_.images_consumed += session_.options().model.batch;
    StepNote& sum = sum_;
    sum.loss += step->loss;
    for (float StepNote::*phase : {&StepNote::input, &StepNote::forward, &StepNote::backward, &StepNote::push,
                                   &StepNote::apply, &StepNote::pull})
      sum.*phase += (*step).*phase;
    result_.cpu.user_seconds += static_cast<double>(step->user);
    result_.cpu.system_seconds += static_cast<double>(step->system);
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
    const double loss = loss_sum_ / static_cast<double>(losses_in_update_), seconds = seconds_of_update();
    if (update_ == 0) header_.first_loss = static_cast<float>(loss);
    losses_.push_back(loss);
    result_.loss_curve.add(last_noted_ - began_, losses_in_update_, loss);
    if (losses_.size() > TrainResult::kFinalLosses) losses_.erase(losses_.begin());
    result_.step_seconds.push_back(seconds);
    const double rate = static_cast<double>(losses_in_update_ * session_.options().model.batch) / seconds;
    if (events_ != nullptr) {
      const std::array<Scalar, 3> scalars{
          {{"loss", static_cast<float>(loss)},
           {"learning_rate", static_cast<float>(session_.options().update.schedule.at(update_))},
           {"images_per_second", static_cast<float>(rate)}}};
      events_->add(update_, scalars);
    }
    if (bar_.due()) bar_.update(update_ + 1, fmt::format("{:.0f} images/s, loss {:.4f}", rate, loss));
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

  void end_of_steps() {
    end_of_update();
    if (gradients_ == 0) return;
    const auto count = static_cast<float>(gradients_);
    for (float StepNote::*phase : {&StepNote::loss, &StepNote::input, &StepNote::forward, &StepNote::backward,
                                   &StepNote::push, &StepNote::apply, &StepNote::pull})
      exchange_.mean.*phase = sum_.*phase / count;
    result_.input_wait_seconds = static_cast<double>(sum_.input) / ps_.workers;
    exchange_.seconds = result_.cpu.wall_seconds = std::max(last_noted_ - began_, 1e-9);
    exchange_.gradients_per_second = static_cast<double>(gradients_) / exchange_.seconds;
  }

  double final_loss() const {
    return std::accumulate(losses_.begin(), losses_.end(), 0.0) / static_cast<double>(losses_.size());
  }

  void want_next_snapshot() {
    std::int64_t due = 0;
    const auto due_every = [&](std::int64_t steps) {
      const std::int64_t next = (header_.step / steps + 1) * steps;
      due = due == 0 ? next : std::min(due, next);
    };
    if (folder_ != nullptr) due_every(options_.checkpoint_every);
    if (evaluator_ != nullptr && options_.eval_every > 0) due_every(options_.eval_every);
    if (due > 0 && due < options_.steps) coordinator_->want_snapshot(due);
  }

  // One that was wanted before may come when all is done already.
  bool is_last(const News& snapshot) const { return finished_at_ && snapshot.updates >= *finished_at_; }

  void take_snapshot(const News& news) {
    const std::int64_t before = header_.step;
    numbers_.write_state(news.state);
    header_.step = news.updates;
    header_.reached = to_reached(news.state.start);
    exchange_.batches_used = batches_used(news.state.start);
    const auto passed = [&](std::int64_t every) {
      return every > 0 && header_.step / every > before / every;
    };
    if (folder_ != nullptr && header_.step > saved_step_ &&
        (is_last(news) || passed(options_.checkpoint_every)))
      save();
    if (evaluator_ != nullptr && !process::StopRequest::asked() &&
        (is_last(news) || passed(options_.eval_every)))
      evaluate();
  }

  void save() {
    events_->flush();
    result_.checkpoint =
        engine::save_checkpoint(session_.executor(), header_, {folder_->path(), options_.keep});
    saved_step_ = header_.step;
  }

  void evaluate() {
    const double trained_seconds = last_noted_ > began_ ? last_noted_ - began_ : 0;
    const double accuracy = evaluator_->accuracy();
    if (process::StopRequest::asked()) return;
    result_.test_accuracy = accuracy;
    result_.test_loss = evaluator_->loss();
    result_.accuracy_curve.push_back({trained_seconds, header_.step, accuracy});
    if (events_ != nullptr) {
      const std::array<Scalar, 1> scalars{{{"accuracy", static_cast<float>(accuracy)}}};
      events_->add(header_.step, scalars);
    }
    if (options_.progress != nullptr && !finished_at_)
      options_.progress->note(fmt::format("step {}: test accuracy {:.4f}", header_.step, accuracy));
  }

  const TrainOptions& options_;
  PsSetup ps_;
  const RunFolder* folder_;
  PsProcesses& processes_;
  Session session_;
  SharedNumbers numbers_;
  engine::CheckpointHeader header_;
  ps::LedgerStart start_;
  Progress bar_;
  std::unique_ptr<Evaluator> evaluator_;
  std::unique_ptr<EventFile> events_;
  std::unique_ptr<ps::Coordinator> coordinator_;
  std::optional<std::int64_t> finished_at_;  // updates
  std::int64_t saved_step_ = 0, update_ = -1, gradients_ = 0, losses_in_update_ = 0;
  double loss_sum_ = 0, first_noted_ = 0, last_noted_ = 0, began_ = 0;
  std::deque<double> update_ends_;
  std::set<std::int64_t> noted_batches_;  // the newest
  std::vector<double> losses_;
  StepNote sum_;
  PsResult exchange_;
  TrainResult result_;
};

}  // namespace

bool one_update_of_all(const ps::ModeName& mode) { return mode.in_rounds(); }

TrainResult run_ps_training(const SessionOptions& session, const data::Dataset& dataset,
                            const TrainOptions& options, const PsSetup& ps, const RunFolder* folder,
                            const comm::transport::JobKey& key, PsProcesses& processes, PsResult& exchange) {
  const process::StopRequest guard;
  return PsTrainingRun(session, dataset, options, ps, folder, key, processes).run(exchange);
}

}  // namespace trainyard::train
