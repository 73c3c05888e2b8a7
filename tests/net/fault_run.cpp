#include "net/fault_run.h"

#include <unistd.h>

#include <array>
#include <fstream>
#include <mutex>
#include <set>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/philox.h"
#include "net/fleet.h"
#include "net/inject.h"
#include "net/ps_problem.h"
#include "ps/mode/test_modes.h"
#include "ps/server/coordinator.h"

namespace trainyard::net_test {
namespace {

namespace transport = comm::transport;
using News = ps::Coordinator::News;
using Kind = Injection::Kind;

constexpr double kDeadlineSeconds = 150, kEndSeconds = 20;

// Below those that the system gives to who calls: nobody else gets one while its server is away.
std::uint16_t free_port(std::uint64_t draw) {
  constexpr std::uint16_t kFirst = 12'000, kCount = 20'000;
  for (std::uint64_t i = 0;; ++i) {
    const auto port = static_cast<std::uint16_t>(kFirst + (draw + i) % kCount);
    try {
      listen_at({.port = port});
      return port;
    } catch (const Error&) {
      if (i > kCount) throw;
    }
  }
}

class Driver {
 public:
  Driver(const FaultRun& run, const FaultPlan& plan, const std::filesystem::path& node,
         const std::filesystem::path& folder)
      : run_(run), plan_(plan), node_(node), folder_(folder), fleet_(folder) {
    key_.write(folder / "key");
    coordinator_ = std::make_unique<ps::Coordinator>(
        ps::CoordinatorOptions{
            .servers = run.servers,
            .keys = problem_keys(run.servers),
            .listen = transport::Address::parse(
                run.has_relays() ? "tcp:127.0.0.1:0" : "unix:" + (folder / "coordinator").string())},
        key_, [this](const std::string& line) { tell("coordinator: " + line); });
    ps::State state;
    state.arrays.assign(2, std::vector<float>(kElements));
    coordinator_->begin(std::move(state));
    for (int server = 0; server < run.servers; ++server) start_server(server);
    for (int worker = 0; worker < run.workers; ++worker) start_worker(worker);
  }

  FaultRunResult carry_out() {
    while (!over_ && result_.problems.empty()) {
      if (const auto news = coordinator_->next(0.005)) hear(*news);
      for (const std::string& problem : fleet_.look()) add_problem(problem);
      inject_what_is_due();
      go_on();
      if (now_seconds() - began_ < kDeadlineSeconds) continue;
      add_problem("it hangs");
      result_.story += fleet_.stacks();
    }
    result_.seconds = now_seconds() - began_;
    const std::lock_guard lock(mutex_);
    result_.story = story_ + result_.story;
    if (!result_.problems.empty()) result_.story += fleet_.logs(60);
    return std::move(result_);
  }

 private:
  void start_server(int server) {
    transport::Address address{.port = 0};
    if (run_.has_relays())
      address.port = free_port(run_.seed * 131 + static_cast<std::uint64_t>(::getpid()) * 17 +
                               static_cast<std::uint64_t>(server));
    else
      address =
          transport::Address::parse(run_.over + ":" + (folder_ / fmt::format("server{}", server)).string());
    addresses_.push_back(address);
    // The address that the others have for the leader is a relay at another address of this machine.
    const bool behind_relay = run_.has_relays() && server == 0 && run_.servers > 1;
    if (behind_relay)
      between_servers_ = std::make_unique<Relay>(
          Relay::Options{.target = address, .listen = {.host = "127.0.0.2", .port = address.port}});
    start(
        fmt::format("server{}", server), "server", server,
        {"least_workers=" + std::to_string(run_.loses_worker ? run_.workers : 1),
         fmt::format("patience={}", run_.loses_worker ? 1.0 : 20.0), fmt::format("batches={}", run_.batches),
         "state=" + (folder_ / fmt::format("server{}.state", server)).string(),
         "listen=" + address.to_string(), behind_relay ? "advertise=127.0.0.2" : "advertise="});
  }

  void start_worker(int worker) {
    std::string servers;
    for (int server = 0; run_.has_relays() && server < run_.servers; ++server) {
      relays_[worker].push_back(
          std::make_unique<Relay>(Relay::Options{.target = addresses_[static_cast<std::size_t>(server)]}));
      servers += relays_[worker].back()->address().to_string() + " ";
    }
    start(fmt::format("worker{}", worker), "worker", worker,
          {"relays=" + servers, fmt::format("seed={}", run_.seed), "give_up=20",
           "journal=" + journal(worker).string()});
  }

  void start(const std::string& name, const std::string& role, int number,
             const std::vector<std::string>& settings) {
    std::vector<std::string> command = {node_.string(),
                                        role,
                                        fmt::format("number={}", number),
                                        fmt::format("servers={}", run_.servers),
                                        fmt::format("workers={}", run_.workers),
                                        "mode=" + run_.mode,
                                        fmt::format("lease={}", run_.lease_seconds),
                                        "key=" + (folder_ / "key").string(),
                                        "coordinator=" + coordinator_->address().to_string(),
                                        fmt::format("began={}", began_)};
    command.insert(command.end(), settings.begin(), settings.end());
    fleet_.start(name, std::move(command));
  }

  std::filesystem::path journal(int worker) const {
    return folder_ / fmt::format("worker{}.journal", worker);
  }

  // Injections.

  void inject_what_is_due() {
    while (next_ < plan_.injections.size() && !over_) {
      const Injection& injection = plan_.injections[next_];
      const double clock = injection.clock == Injection::Clock::seconds ? now_seconds() - began_ : progress_;
      if (clock < injection.at) return;
      ++next_;
      if (inject_one(injection)) {
        result_.injected.push_back(injection);
        tell(FaultPlan{run_.seed, {injection}}.to_string());
      }
    }
  }

  // False: who it was meant for has ended already.
  bool inject_one(const Injection& injection) {
    const std::string worker = fmt::format("worker{}", injection.target),
                      server = fmt::format("server{}", injection.target);
    const double again = 0.01 + 0.3 * to_unit_float(random_.word(next_));
    switch (injection.kind) {
      case Kind::kill_worker:
        return fleet_.kill(worker, run_.loses_worker ? -1 : again);
      case Kind::kill_server:
        return fleet_.kill(server, again);
      case Kind::stop_worker:
        return fleet_.stop(worker, injection.seconds);
      case Kind::stop_server:
        return fleet_.stop(server, injection.seconds);
      case Kind::stranger:
        return call_as_stranger(addresses_.at(static_cast<std::size_t>(injection.target)), injection);
      case Kind::cut_servers:
        return inject_between_servers(Kind::cut, injection);
      case Kind::delay_servers:
        return inject_between_servers(Kind::delay, injection);
      case Kind::freeze_servers:
        return inject_between_servers(Kind::freeze, injection);
      default:
        for (const auto& relay : relays_[injection.target]) inject(*relay, injection, run_.seed + next_);
        return !relays_[injection.target].empty();
    }
  }

  bool inject_between_servers(Kind kind, Injection injection) {
    if (between_servers_ == nullptr) return false;
    injection.kind = kind;
    inject(*between_servers_, injection, run_.seed);
    return true;
  }

  bool call_as_stranger(const transport::Address& address, const Injection& injection) {
    try {
      strangers_.push_back(connect_to(address));
      strangers_.back().write(noise(run_.seed + next_, static_cast<std::size_t>(injection.amount)), 0.1);
    } catch (const Error&) {
      return false;  // the server is away
    }
    return true;
  }

  // These functions react to the news.

  void hear(const News& news) {
    switch (news.kind) {
      case News::Kind::noted:
        progress_ = std::max(progress_, static_cast<double>(news.noted.updates));
        return note(news.noted);
      case News::Kind::finished:
        tell(fmt::format("finished after {} updates: '{}'", news.updates, news.words));
        if (run_.loses_worker != !news.words.empty()) add_problem("it finished with '" + news.words + "'");
        if (std::exchange(finished_, true)) return;  // a lead that came again says it again
        progress_ = 1e9;
        return coordinator_->want_snapshot(news.updates);
      case News::Kind::snapshot:
        snapshot_updates_ = news.updates;
        tell("snapshot");
        return check_snapshot(news);
      case News::Kind::counts:
        for (const ps::ServerCounts& counts : news.counts)
          if (counts.updates != *snapshot_updates_)
            add_problem(fmt::format("a server has {} updates, in all there are {}", counts.updates,
                                    *snapshot_updates_));
        return end();
      case News::Kind::failed:
        return add_problem(news.words);
      case News::Kind::lost:
        return tell("lost: " + news.words);
      default:
        return;
    }
  }

  void note(const ps::Noted& noted) {
    const auto [found, first] = noted_.try_emplace(noted.batch, noted.worker);
    // In a round that was broken off it did not count after all.
    if (!first) found->second = noted.worker;
  }

  void check_snapshot(const News& news) {
    const ps::LedgerStart& start = news.state.start;
    std::set<std::int64_t> used;
    for (std::int64_t batch = 0; batch < start.next_batch; ++batch) used.insert(batch);
    for (const std::int64_t batch : start.loose) used.erase(batch);
    if (!run_.loses_worker && static_cast<std::int64_t>(used.size()) != run_.batches)
      add_problem(fmt::format("{} batches are used, not {}", used.size(), run_.batches));
    check_journals(used);
    if (run_.races()) return;  // which loses some, and counts none
    for (const float slot : news.state.arrays[1])
      if (slot != static_cast<float>(news.updates))
        return add_problem(fmt::format("a slot has {} updates, not {}", slot, news.updates));
    for (std::int64_t i = 0; i < kElements; ++i) {
      float sum = 0;
      for (const std::int64_t batch : used) sum += gradient_of(batch, i);
      const float found = news.state.arrays[0][static_cast<std::size_t>(i)];
      if (found != sum) return add_problem(fmt::format("parameter {} is {}, not {}", i, found, sum));
    }
  }

  void check_journals(const std::set<std::int64_t>& used) {
    std::set<std::int64_t> acknowledged;
    for (int worker = 0; worker < run_.workers; ++worker) {
      std::ifstream file(journal(worker));
      for (std::int64_t batch = 0; file >> batch;) {
        if (!acknowledged.insert(batch).second)
          add_problem(fmt::format("batch {} was acknowledged twice", batch));
        if (!used.contains(batch)) add_problem(fmt::format("batch {} was acknowledged, and is lost", batch));
        const auto found = noted_.find(batch);
        if (found != noted_.end() && static_cast<int>(found->second) != worker)
          add_problem(fmt::format("batch {} was acknowledged to worker {}, and noted as of worker {}", batch,
                                  worker, found->second));
      }
    }
  }

  void go_on() {
    if (!snapshot_updates_ || asked_counts_ || !fleet_.all_ended("worker")) return;
    asked_counts_ = true;
    coordinator_->want_counts();
  }

  void end() {
    over_ = true;
    coordinator_->end();
    const double ended = now_seconds();
    while (!fleet_.all_ended("server") && now_seconds() - ended < kEndSeconds) {
      for (const std::string& problem : fleet_.look()) add_problem(problem);
      ::usleep(2000);
    }
    for (const std::string& process : processes_left())
      add_problem(fmt::format("{} s after the end there is {}", kEndSeconds, process));
  }

  void add_problem(const std::string& problem) {
    tell("PROBLEM: " + problem);
    result_.problems.push_back(problem);
  }

  void tell(const std::string& what) {
    const std::lock_guard lock(mutex_);
    story_ += fmt::format("{:.3f} s: {}\n", now_seconds() - began_, what);
  }

  const FaultRun run_;
  const FaultPlan plan_;
  const std::filesystem::path node_, folder_;
  const double began_ = now_seconds();
  const transport::JobKey key_ = transport::JobKey::random();
  const Philox random_{run_.seed, stream_of("driver")};
  std::mutex mutex_;  // of the story, to which the coordinator's thread adds
  std::string story_;
  std::unique_ptr<ps::Coordinator> coordinator_;
  Fleet fleet_;
  std::vector<transport::Address> addresses_;                  // of servers
  std::map<int, std::vector<std::unique_ptr<Relay>>> relays_;  // by worker, for each server
  std::unique_ptr<Relay> between_servers_;
  std::vector<Socket> strangers_;
  std::size_t next_ = 0;                         // injection
  double progress_ = 0;                          // updates
  std::map<std::int64_t, std::uint32_t> noted_;  // by batch: whose
  bool finished_ = false, asked_counts_ = false, over_ = false;
  std::optional<std::int64_t> snapshot_updates_;
  FaultRunResult result_;
};

}  // namespace

std::string FaultRun::to_string() const {
  return fmt::format("{}, {} worker{}, {} server{}, {}{}", mode, workers, workers == 1 ? "" : "s", servers,
                     servers == 1 ? "" : "s", over, loses_worker ? ", loses a worker" : "");
}

bool FaultRun::races() const { return ps::ModeName::parse(mode).row->sharing == ps::Sharing::racing; }

FaultRun draw_run(std::uint64_t seed) {
  const Philox::Block draw = Philox(seed, stream_of("fault run")).block(0);
  const std::vector<std::string> modes = ps::summing_modes(2, true);
  FaultRun run{.seed = seed,
               .mode = modes[seed % modes.size()],
               .workers = static_cast<int>(1 + draw[0] % 4),
               .servers = static_cast<int>(1 + draw[1] % 3),
               .over = std::array{"shm", "unix", "tcp", "tcp", "tcp", "tcp"}[draw[2] % 6],
               .loses_worker = draw[3] % 20 == 0,
               .shape = {}};
  run.batches = 40 * run.workers;
  run.lease_seconds = 0.5 + 0.5 * to_unit_float(draw[3]);
  const bool by_updates = draw[2] / 6 % 2 == 0;
  const auto updates = static_cast<double>(ps::ModeName::parse(run.mode).in_rounds() ? 40 : run.batches);
  run.shape = {.workers = run.workers,
               .servers = run.servers,
               .injections = static_cast<int>(3 + draw[2] / 12 % 6),
               .clock = by_updates ? Injection::Clock::updates : Injection::Clock::seconds,
               .length = by_updates ? 1.05 * updates : 0.6,
               .most_seconds = 1.5,
               .kinds = {Kind::kill_worker, Kind::stop_worker}};
  if (run.loses_worker) {
    run.workers = run.shape.workers = 2;
    run.batches = 4000;  // the other one does not come to their end
    run.shape.kinds = {Kind::kill_worker};
    run.shape.injections = 1;
    run.shape.length = by_updates ? 20 : 0.2;
    return run;
  }
  std::vector<Kind>& kinds = run.shape.kinds;
  if (!run.races()) kinds.insert(kinds.end(), {Kind::kill_server, Kind::stop_server});
  if (run.has_relays())
    kinds.insert(kinds.end(), {Kind::cut, Kind::delay, Kind::throttle, Kind::garbage, Kind::half_frame,
                               Kind::freeze, Kind::stranger});
  if (run.has_relays() && run.servers > 1 && !run.races())
    kinds.insert(kinds.end(), {Kind::cut_servers, Kind::delay_servers, Kind::freeze_servers});
  return run;
}

FaultRunResult carry_out(const FaultRun& run, const FaultPlan& plan, const std::filesystem::path& node,
                         const std::filesystem::path& folder) {
  return Driver(run, plan, node, folder).carry_out();
}

}  // namespace trainyard::net_test
