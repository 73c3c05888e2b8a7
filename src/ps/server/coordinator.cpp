#include "ps/server/coordinator.h"

namespace trainyard::ps {

namespace transport = comm::transport;
using transport::Frame;

Coordinator::Coordinator(const CoordinatorOptions& options, const transport::JobKey& key, Log log)
    : options_(options),
      log_(std::move(log)),
      refusals_(log_),
      servers_(static_cast<std::size_t>(options.servers)),
      listener_(transport::listen(
          loop_, options.listen, &key, {},
          [this](std::unique_ptr<transport::Connection> connection) { meet(std::move(connection)); },
          [this](const std::string& who, const std::string& why) {
            refusals_.add(who, why, now_seconds());
          })) {
  thread_ = std::thread([this] { loop_.run(); });
}

Coordinator::~Coordinator() {
  loop_.post([this] {
    // Messages that are already queued are still sent.
    for (Seat& server : servers_)
      if (server.peer != nullptr) server.peer->connection().close("the run is over", true);
    last_ = loop_.after(0.2, [this] { loop_.stop(); });
  });
  thread_.join();
}

std::optional<Coordinator::News> Coordinator::next(double seconds) {
  const double deadline = now_seconds() + seconds;
  MutexLock lock(mutex_);
  while (news_.empty() && changed_.wait_until(lock, deadline)) {
  }
  if (news_.empty()) return std::nullopt;
  News first = std::move(news_.front());
  news_.pop_front();
  return first;
}

void Coordinator::begin(State state) {
  loop_.post([this, state = std::make_shared<State>(std::move(state))] {
    beginning_ = std::move(*state);
    begin_when_complete();
  });
}

void Coordinator::want_snapshot(std::int64_t updates) {
  loop_.post([this, updates] { ask_for_snapshot(updates); });
}

void Coordinator::want_counts() {
  loop_.post([this] {
    for (Seat& server : servers_) server.counts.reset();
    wants_counts_ = true;
    say_to_all({.kind = wire(Kind::counts_wanted)});
  });
}

void Coordinator::halt() {
  loop_.post([this] {
    halted_ = true;
    if (servers_[0].peer != nullptr && ready_) servers_[0].peer->say({.kind = wire(Kind::halt)});
  });
}

void Coordinator::end() {
  loop_.post([this] {
    ended_ = true;
    say_to_all({.kind = wire(Kind::end)});
  });
}

// All of what follows runs on the loop's thread.

void Coordinator::meet(std::unique_ptr<transport::Connection> connection) {
  const transport::Hello who = connection->peer();
  if (who.role == static_cast<std::uint8_t>(Role::worker)) return meet_worker(std::move(connection));
  if (who.role != static_cast<std::uint8_t>(Role::server) || who.id >= servers_.size())
    return refusals_.add(connection->address(), fmt::format("role {}, number {}", who.role, who.id),
                         now_seconds());
  Seat& server = servers_[who.id];
  server.announced = false;
  server.peer = std::make_unique<Peer>(
      std::move(connection),
      [this, &server](const Frame& frame, std::span<const std::byte> payload) {
        heard(server, frame, payload);
      },
      [this, &server](const std::string& reason) { lost(server, reason); });
}

void Coordinator::meet_worker(std::unique_ptr<transport::Connection> connection) {
  const auto number = ++workers_met_;
  askers_[number].peer = std::make_unique<Peer>(
      std::move(connection),
      [this, number](const Frame& frame, std::span<const std::byte>) {
        if (static_cast<Kind>(frame.kind) != Kind::where) return;
        askers_[number].asked = true;
        if (ready_) answer(number);
      },
      [this, number](const std::string&) { loop_.post([this, number] { askers_.erase(number); }); });
}

void Coordinator::answer(std::uint64_t number) {
  if (!askers_[number].asked) return;  // it will
  askers_[number].peer->say({.kind = wire(Kind::peers)}, peers());
  askers_[number].peer->connection().close("it knows", true);
}

Bytes Coordinator::peers() const {
  std::string text;
  for (const Seat& server : servers_) text += server.address.to_string() + "\n";
  const std::span<const std::byte> words = bytes_of(text);
  return {words.begin(), words.end()};
}

std::size_t Coordinator::number_of(const Seat& server) const {
  return static_cast<std::size_t>(&server - servers_.data());
}

void Coordinator::heard(Seat& server, const Frame& frame, std::span<const std::byte> payload) {
  switch (static_cast<Kind>(frame.kind)) {
    case Kind::announce:
      return announced(server, (frame.flags & kBegun) != 0, text_of(payload));
    case Kind::begun:
      return has_begun(server);
    case Kind::noted: {
      News news{.kind = News::Kind::noted};
      news.noted = decode_noted(payload, news.note);
      return tell(std::move(news));
    }
    case Kind::finished:
      return tell({.kind = News::Kind::finished,
                   .updates = static_cast<std::int64_t>(frame.clock),
                   .words = text_of(payload)});
    case Kind::snapshot:
      if (frame.epoch == request_) put_numbers(frame, payload, server.arrays);
      return;
    case Kind::snapshot_end:
      if (frame.epoch != request_) return;
      server.updates = static_cast<std::int64_t>(frame.clock);
      if (number_of(server) == 0) snapshot_start_ = decode_start(payload);
      return put_snapshot_together();
    case Kind::counts:
      server.counts = decode_counts(payload);
      return tell_counts();
    default:
      return;
  }
}

void Coordinator::announced(Seat& server, bool begun, const std::string& address) {
  const std::size_t number = number_of(server);
  server.address = transport::Address::parse(address);
  server.announced = true;
  log_(fmt::format("server {} is at {}{}", number, address, begun ? ", with its numbers" : ""));
  if (ended_) return server.peer->say({.kind = wire(Kind::end)});
  if (server.begun && !begun)
    return tell({.kind = News::Kind::failed,
                 .words = fmt::format("server {} came without the numbers that it had", number)});
  if (begun) has_begun(server);
  if (!ready_) return begin_when_complete();
  tell_all(server);
  if (wanted_snapshot_) ask_for_snapshot(*wanted_snapshot_);
  if (wants_counts_) server.peer->say({.kind = wire(Kind::counts_wanted)});
}

// Sends a server all that it must know when it connects, for the first time or again.
void Coordinator::tell_all(Seat& server) {
  if (!server.begun) say_beginning(server);
  server.peer->say({.kind = wire(Kind::peers)}, peers());
  if (number_of(server) == 0 && halted_) server.peer->say({.kind = wire(Kind::halt)});
}

void Coordinator::say_beginning(Seat& server) {
  for (std::size_t array = 0; array < beginning_->arrays.size(); ++array)
    say_numbers(*server.peer, Kind::begin, static_cast<std::uint32_t>(array),
                part_of(beginning_->arrays[array], options_.keys, static_cast<int>(number_of(server))));
  server.peer->say({.kind = wire(Kind::begun)}, encode(beginning_->start));
}

// The numbers are kept until all servers have theirs: one may be killed before.
void Coordinator::has_begun(Seat& server) {
  server.begun = true;
  const bool all = std::all_of(servers_.begin(), servers_.end(), [](const Seat& s) { return s.begun; });
  if (all && ready_) beginning_.reset();
}

void Coordinator::begin_when_complete() {
  const bool complete =
      std::all_of(servers_.begin(), servers_.end(), [](const Seat& server) { return server.announced; });
  if (!complete || !beginning_ || ready_) return;
  arrays_ = beginning_->arrays.size();
  ready_ = true;
  for (Seat& server : servers_) tell_all(server);
  for (const auto& [number, asker] : askers_) answer(number);
  if (wanted_snapshot_) ask_for_snapshot(*wanted_snapshot_);
  tell({.kind = News::Kind::ready});
}

void Coordinator::ask_for_snapshot(std::int64_t updates) {
  wanted_snapshot_ = updates;
  if (!ready_ || std::any_of(servers_.begin(), servers_.end(),
                             [](const Seat& server) { return server.peer == nullptr || !server.announced; }))
    return;
  ++request_;
  for (Seat& server : servers_) {
    const auto elements =
        part_of(std::vector<float>(elements_of_all()), options_.keys, static_cast<int>(number_of(server)))
            .size();
    server.arrays.assign(arrays_, std::vector<float>(elements));
    server.updates.reset();
    server.peer->say({.kind = wire(Kind::snapshot_wanted),
                      .epoch = request_,
                      .clock = static_cast<std::uint64_t>(updates)});
  }
}

std::size_t Coordinator::elements_of_all() const {
  return options_.keys.empty() ? 0 : static_cast<std::size_t>(options_.keys.back().end());
}

void Coordinator::put_snapshot_together() {
  std::int64_t newest = 0;
  bool same = true;
  for (const Seat& server : servers_) {
    if (!server.updates) return;
    same = same && *server.updates == *servers_[0].updates;
    newest = std::max(newest, *server.updates);
  }
  // The request came too late for that moment, so a later one is chosen.
  if (!same) {
    late_ = std::min<std::int64_t>(2 * late_, 1000);
    return ask_for_snapshot(newest + late_);
  }
  late_ = 1;
  wanted_snapshot_.reset();
  News news{.kind = News::Kind::snapshot, .updates = newest};
  news.state.start = snapshot_start_;
  news.state.arrays.assign(arrays_, std::vector<float>(elements_of_all()));
  for (Seat& server : servers_) {
    for (std::size_t array = 0; array < arrays_; ++array)
      put_part(server.arrays[array], options_.keys, static_cast<int>(number_of(server)),
               news.state.arrays[array]);
    server.arrays.clear();
  }
  tell(std::move(news));
}

void Coordinator::tell_counts() {
  News news{.kind = News::Kind::counts};
  for (const Seat& server : servers_) {
    if (!server.counts) return;
    news.counts.push_back(*server.counts);
  }
  wants_counts_ = false;
  tell(std::move(news));
}

void Coordinator::lost(Seat& server, const std::string& reason) {
  server.announced = false;
  if (ended_) return;
  tell({.kind = News::Kind::lost, .words = fmt::format("server {}: {}", number_of(server), reason)});
}

void Coordinator::say_to_all(const Frame& frame) {
  for (Seat& server : servers_)
    if (server.peer != nullptr) server.peer->say(frame);
}

void Coordinator::tell(News news) {
  {
    const MutexLock lock(mutex_);
    news_.push_back(std::move(news));
  }
  changed_.notify_all();
}

std::vector<transport::Address> find_servers(const transport::Address& coordinator, int worker,
                                             const transport::JobKey& key, double seconds) {
  transport::Loop loop;
  std::unique_ptr<transport::Call> call;
  std::unique_ptr<transport::Loop::Timer> retry;
  std::unique_ptr<Peer> peer;
  std::vector<transport::Address> servers;
  std::string failure = "no answer";
  const std::function<void()> ask = [&] {
    call = transport::call(
        loop, coordinator, &key,
        {.role = static_cast<std::uint8_t>(Role::worker), .id = static_cast<std::uint32_t>(worker)}, {},
        [&](std::unique_ptr<transport::Connection> connection) {
          peer = std::make_unique<Peer>(
              std::move(connection),
              [&](const Frame& frame, std::span<const std::byte> payload) {
                if (static_cast<Kind>(frame.kind) != Kind::peers) return;
                servers = addresses_of(payload);
                loop.stop();
              },
              [&](const std::string& reason) {
                failure = reason;
                retry = loop.after(0.1, ask);
              });
          peer->say({.kind = wire(Kind::where)});
        },
        [&](const std::string& reason) {
          failure = reason;
          retry = loop.after(0.1, ask);
        });
  };
  ask();
  const auto deadline = loop.after(seconds, [&] { loop.stop(); });
  loop.run();
  if (servers.empty()) fail(ErrorKind::peer, "worker {}: no servers to be found: {}", worker, failure);
  return servers;
}

}  // namespace trainyard::ps
