#include "ps/client/client.h"

namespace trainyard::ps {

namespace transport = comm::transport;
using Stage = Progress::Stage;

Client::Client(const ClientOptions& options, const std::vector<Key>& keys, const transport::JobKey* key,
               std::span<float> parameters, std::span<const float> gradients, Log log)
    : options_(options),
      keys_(keys),
      key_(key != nullptr ? *key : transport::JobKey()),
      parameters_(parameters),
      gradients_(gradients),
      log_(std::move(log)),
      links_(options.servers.size()),
      calls_(options.servers.size()),
      rounded_(options.bf16 ? gradients.size() : 0),
      looked_(now_seconds()) {
  TRAINYARD_CHECK(parameters.size() == gradients.size() && !links_.empty());
  for (std::size_t server = 0; server < links_.size(); ++server) call_server(server);
  send_heartbeats();
  thread_ = std::thread([this] { talk(); });
}

Client::~Client() {
  loop_.post([this] { leave(); });
  thread_.join();
}

Client::Weights Client::wait_for_weights() {
  MutexLock lock(mutex_);
  loop_.post([this, taken = progress_.taken()] {
    bool call = false;
    change([&](Progress& progress) { call = progress.waits(taken); });
    if (call) call_again("it was lost while this worker computed");
  });
  const double began = now_seconds();
  double reported = began;
  while (!progress_.is_settled()) {
    if (options_.stop != nullptr && options_.stop()) return {.done = true};
    changed_.wait_for(lock, 0.1);
    if (progress_.is_settled() || now_seconds() - reported < options_.stall_seconds) continue;
    reported = now_seconds();
    loop_.post([this, seconds = reported - began] { report_stall(seconds); });
  }
  if (progress_.stage() == Stage::failed)
    fail(ErrorKind::peer, "worker {}: {}", options_.worker, progress_.failure());
  if (progress_.stage() == Stage::done) {
    progress_.take_end();
    return {.done = true};
  }
  const Progress::Taken taken = progress_.take();
  Weights weights = newest_;
  weights.batch = taken.batch;
  weights.counted = taken.counted;
  return weights;
}

std::optional<std::int64_t> Client::next_batch() const {
  const MutexLock lock(mutex_);
  return progress_.next_batch();
}

void Client::note(std::span<const std::byte> bytes) {
  loop_.post([this, note = Bytes(bytes.begin(), bytes.end())]() mutable {
    note_ = std::move(note);
    if (stage() == Stage::computing) links_[0]->send(Kind::note, clock(), 0, 0, note_);
  });
}

void Client::ready(std::int64_t first, std::int64_t elements) {
  loop_.post([this, first, elements] { mark_ready(first, first + elements); });
}

ClientCounts Client::counts() const {
  const MutexLock lock(mutex_);
  ClientCounts counts = progress_.counts();
  counts.bytes_sent = bytes_sent_;
  counts.bytes_received = bytes_received_;
  return counts;
}

template <typename Change>
void Client::change(const Change& change_progress) {
  {
    const MutexLock lock(mutex_);
    change_progress(progress_);
  }
  changed_.notify_all();
}

Progress::Stage Client::stage() const {
  const MutexLock lock(mutex_);
  return progress_.stage();
}

std::uint64_t Client::clock() const {
  const MutexLock lock(mutex_);
  return progress_.clock();
}

// All of what follows runs on the loop's thread.

void Client::talk() {
  try {
    loop_.run();
  } catch (const Error& error) {
    change([&](Progress& progress) { progress.fail(error.what()); });
  }
}

void Client::call_server(std::size_t server) {
  calls_[server] = transport::call(
      loop_, options_.servers[server], &key_,
      {.role = static_cast<std::uint8_t>(Role::worker), .id = static_cast<std::uint32_t>(options_.worker)},
      {},
      [this, server](std::unique_ptr<transport::Connection> peer) {
        links_[server] = std::make_unique<Link>(static_cast<Link::Owner&>(*this), static_cast<int>(server),
                                                keys_, parameters_, std::move(peer));
        links_[server]->send(Kind::join, clock());
      },
      [this](const std::string& reason) { call_again(reason); });
}

void Client::call_again(const std::string& reason) {
  if (stage() != Stage::joining) return;
  if (lost_since_ == 0) lost_since_ = now_seconds();
  if (now_seconds() - lost_since_ > options_.give_up_seconds)
    return change([&](Progress& progress) {
      progress.fail(fmt::format("no server for {} s: {}", options_.give_up_seconds, reason));
    });
  retry_ = loop_.after(0.1, [this] {
    for (std::size_t server = 0; server < links_.size(); ++server)
      if (links_[server] == nullptr) call_server(server);
  });
}

bool Client::is_current(const Link& link) const {
  return links_[static_cast<std::size_t>(link.server())].get() == &link;
}

template <typename Condition>
bool Client::all_links(const Condition& condition) const {
  return std::all_of(links_.begin(), links_.end(),
                     [&](const std::unique_ptr<Link>& link) { return link != nullptr && condition(*link); });
}

void Client::welcomed(Link&) {
  if (!all_links([](const Link& link) { return link.is_welcome(); })) return;
  lost_since_ = 0;
  change([this](Progress& progress) { progress.welcomed(links_[0]->clock()); });
}

void Client::lent(Link& link, std::int64_t batch) {
  if (is_current(link)) change([batch](Progress& progress) { progress.lent(batch); });
}

void Client::all_done(Link&) {
  change([](Progress& progress) { progress.finish(); });
}

void Client::weights_are_here(Link&) {
  if (!all_links([](const Link& link) { return link.is_welcome() && link.has_weights(); })) return;
  for (const auto& link : links_) link->take_weights();
  remaining_.clear();
  for (const Key& key : keys_) remaining_.push_back(key.elements);
  unsent_ = keys_.size();
  const double now = now_seconds();
  double first_came = now;
  for (const auto& link : links_) first_came = std::min(first_came, link->first_came_at());
  {
    const MutexLock lock(mutex_);
    newest_.updates = links_[0]->updates();
    newest_.first_came = first_came;
    newest_.came = now;
    progress_.weights_came();
  }
  changed_.notify_all();
}

void Client::lost(Link& link, const std::string& reason, bool final) {
  if (!is_current(link)) return;
  const auto server = static_cast<std::size_t>(link.server());
  if (stage() == Stage::ending) {
    add_traffic(link);
    // Not from within the link's own call.
    return loop_.post([this, server] {
      links_[server].reset();
      stop_when_closed();
    });
  }
  log_(fmt::format("server {} ({}) is lost: {}", server, options_.servers[server].to_string(), reason));
  drop_links();
  bool call = false;
  change([&](Progress& progress) {
    if (final) progress.fail(fmt::format("server {}: {}", server, reason));
    call = progress.lost();
  });
  if (call) call_again(reason);
}

// All servers drop the work in progress alike, so what the others still send is of no use. The links go
// later: one of them may be calling.
void Client::drop_links() {
  for (auto& link : links_) {
    if (link == nullptr) continue;
    add_traffic(*link);
    dropped_.push_back(std::move(link));
  }
  loop_.post([this] {
    dropped_.clear();
    if (stage() == Stage::ending) stop_when_closed();
  });
}

void Client::mark_ready(std::int64_t first, std::int64_t end) {
  // A gradient of weights that are not valid any more is not sent.
  if (stage() != Stage::computing) return;
  const std::uint64_t now = clock();
  auto key = std::partition_point(keys_.begin(), keys_.end(), [&](const Key& k) { return k.end() <= first; });
  for (; key != keys_.end() && key->first < end; ++key) {
    const auto number = static_cast<std::size_t>(key - keys_.begin());
    remaining_[number] -= std::min(end, key->end()) - std::max(first, key->first);
    TRAINYARD_CHECK(remaining_[number] >= 0);
    if (remaining_[number] == 0) push(number, now);
  }
}

void Client::push(std::size_t number, std::uint64_t clock) {
  const Key& key = keys_[number];
  const auto at = static_cast<std::size_t>(key.first), count = static_cast<std::size_t>(key.elements);
  std::span<const std::byte> payload = std::as_bytes(gradients_.subspan(at, count));
  if (options_.bf16) {
    const auto rounded = std::span(rounded_).subspan(at, count);
    round_numbers(gradients_.subspan(at, count), rounded);
    payload = std::as_bytes(rounded);
  }
  std::function<void()> sent;
  if (--unsent_ == 0)
    sent = [this] {
      const MutexLock lock(mutex_);
      newest_.pushed = now_seconds();
    };
  links_[static_cast<std::size_t>(key.server)]->send(Kind::push, clock, static_cast<std::uint32_t>(number),
                                                     options_.bf16 ? kBf16 : std::uint16_t{0}, payload,
                                                     std::move(sent));
  if (unsent_ == 0) change([](Progress& progress) { progress.all_sent(); });
}

void Client::send_heartbeats() {
  // A process that was suspended itself has not listened, so it must not blame the servers' silence.
  const double looked = std::exchange(looked_, now_seconds());
  const bool listened = looked_ - looked < options_.heartbeat_seconds + options_.lease_seconds / 4;
  for (const auto& link : links_) {
    if (link == nullptr) continue;
    link->send(Kind::heartbeat, clock());
    if (listened && link->connection().seconds_since_heard() > options_.lease_seconds)
      link->connection().close(fmt::format("it said nothing for {} s", options_.lease_seconds));
  }
  heartbeat_ = loop_.after(options_.heartbeat_seconds, [this] { send_heartbeats(); });
}

void Client::report_stall(double seconds) {
  std::string missing;
  for (std::size_t server = 0; server < links_.size(); ++server)
    if (links_[server] == nullptr || !links_[server]->has_weights())
      missing += fmt::format("{}server {} ({}{})", missing.empty() ? "" : ", ", server,
                             options_.servers[server].to_string(),
                             links_[server] == nullptr ? ", not connected" : "");
  log_(fmt::format("step {}: no weights for {:.1f} s from {}", clock(), seconds, missing));
}

void Client::leave() {
  change([](Progress& progress) { progress.end(); });
  heartbeat_.reset();
  retry_.reset();
  for (auto& call : calls_) call.reset();
  for (const auto& link : links_)
    if (link != nullptr) {
      if (link->is_welcome()) link->send(Kind::leave, clock());
      link->connection().close("this worker ends", true);
    }
  // A server that takes nothing any more must not hold it up.
  last_resort_ = loop_.after(1, [this] { loop_.stop(); });
  stop_when_closed();
}

void Client::stop_when_closed() {
  if (dropped_.empty() && std::all_of(links_.begin(), links_.end(), [](const auto& link) { return !link; }))
    loop_.stop();
}

void Client::add_traffic(Link& link) {
  const MutexLock lock(mutex_);
  bytes_sent_ += link.connection().traffic().bytes_sent;
  bytes_received_ += link.connection().traffic().bytes_received;
}

}  // namespace trainyard::ps
