#include "serve/queue.h"

#include <deque>
#include <thread>

#include "base/clock.h"

namespace trainyard::serve {

double SteadyClock::now() { return now_seconds(); }

void SteadyClock::wait_until(double moment) {
  constexpr double kSpinSeconds = 2e-4;  // a sleep ends later than it should by less than that, mostly
  const double rest = moment - now() - kSpinSeconds;
  if (rest > 0) std::this_thread::sleep_for(std::chrono::duration<double>(rest));
  while (now() < moment) {
  }
}

namespace {

constexpr double kLookSeconds = 0.05;  // how soon somebody who asks for a stop is heard
constexpr double kNever = std::numeric_limits<double>::infinity();

// The requests that are to come, and those that have.
class Line {
 public:
  explicit Line(const QueueOptions& options)
      : options_(options), times_(options.arrivals.is_open() ? options.arrivals.rate : 1, options.seed) {
    if (!options.arrivals.is_open())
      for (std::int64_t client = 0; client < options.arrivals.clients; ++client) send(0);
    else
      send(times_.next());
  }

  // Takes in those for whom has_come(due).
  template <typename HasCome>
  void advance(const HasCome& has_come) {
    while (!coming_.empty() && has_come(coming_.front())) {
      waiting_.push_back(coming_.front());
      coming_.pop_front();
      if (options_.arrivals.is_open()) send(times_.next());
    }
  }

  // A client has its answer, and sends again.
  void answer(double now) {
    if (!options_.arrivals.is_open()) send(now);
  }

  double take() {
    const double due = waiting_.front();
    waiting_.pop_front();
    return due;
  }

  std::int64_t waiting() const { return std::ssize(waiting_); }
  double oldest() const { return waiting_.front(); }
  double next_due() const { return coming_.empty() ? kNever : coming_.front(); }
  bool timed_out() const { return timed_out_; }
  // No request will join those that wait. A server does not know, and would wait; the end of a measurement is
  // not its business.
  bool is_over() const { return coming_.empty() && (sent_ == options_.requests || timed_out_); }

 private:
  void send(double due) {
    if (sent_ == options_.requests || timed_out_) return;
    timed_out_ = due > options_.max_seconds;
    if (timed_out_) return;
    ++sent_;
    coming_.push_back(due);
  }

  const QueueOptions& options_;
  PoissonTimes times_;
  std::deque<double> coming_, waiting_;  // when they are due, the earliest first
  std::int64_t sent_ = 0;
  bool timed_out_ = false;
};

}  // namespace

Answered serve(const QueueOptions& options, Clock& clock, const Server& server) {
  Answered answered;
  Line line(options);
  const double origin = clock.now();
  while (true) {
    if (options.stop != nullptr && options.stop()) {
      answered.stopped = true;
      break;
    }
    const double now = clock.now();
    // As it is waited for: a difference of moments would be rounded otherwise, and never come.
    const auto has_come = [&](double moment) { return origin + moment <= now; };
    line.advance(has_come);
    if (line.waiting() == 0 && line.is_over()) break;
    const bool full = line.waiting() > 0 && (line.waiting() >= options.batch || line.is_over());
    const double begin = line.waiting() > 0 ? line.oldest() + options.wait_seconds : kNever;
    if (!full && !has_come(begin)) {
      clock.wait_until(std::min(origin + std::min(begin, line.next_due()), now + kLookSeconds));
      continue;
    }
    Batch batch{.begun = now - origin, .waiting = line.waiting()};
    batch.requests = std::min(batch.waiting, options.batch);
    const double first = server(batch.requests);
    batch.ended = clock.now() - origin;
    for (std::int64_t i = 0; i < batch.requests; ++i) {
      answered.requests.push_back(
          {line.take(), batch.begun, first > 0 ? batch.begun + first : batch.ended, batch.ended});
      line.answer(batch.ended);
    }
    answered.batches.push_back(batch);
    if (options.progress != nullptr) options.progress(std::ssize(answered.requests));
  }
  answered.timed_out = line.timed_out();
  return answered;
}

}  // namespace trainyard::serve
