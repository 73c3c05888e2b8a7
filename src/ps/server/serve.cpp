#include "ps/server/serve.h"

#include "ps/wire/peer.h"

namespace trainyard::ps {
namespace {

namespace transport = comm::transport;
using transport::Frame;

constexpr double kFindSeconds = 20;  // the coordinator is there before its servers are

class Life {
 public:
  Life(const ServeOptions& options, const std::vector<Key>& keys, Updater& updater,
       const transport::JobKey& key, const Server::Log& log)
      : options_(options),
        key_(key),
        server_(make_server(loop_, options.server, keys, updater, options.listen, &key, log)),
        arrays_(static_cast<std::size_t>(1 + updater.slots()),
                std::vector<float>(
                    server_->has_begun() ? 0 : static_cast<std::size_t>(server_->shard().elements()))),
        began_(now_seconds()) {
    server_->watch({.noted =
                        [this](const Noted& noted, std::span<const std::byte> note) {
                          say({.kind = wire(Kind::noted)}, encode(noted, note));
                        },
                    .finished =
                        [this](std::int64_t updates, const std::string& failure) {
                          const std::span<const std::byte> words = bytes_of(failure);
                          say({.kind = wire(Kind::finished),
                               .flags = failure.empty() ? std::uint16_t{0} : kBad,
                               .clock = static_cast<std::uint64_t>(updates)},
                              {words.begin(), words.end()});
                        }});
    call_coordinator();
  }

  void run() {
    loop_.run();
    if (!failure_.empty()) fail(ErrorKind::peer, "server {}: {}", options_.server.server, failure_);
  }

 private:
  void call_coordinator() {
    call_ = transport::call(
        loop_, options_.coordinator, &key_,
        {.role = static_cast<std::uint8_t>(Role::server),
         .id = static_cast<std::uint32_t>(options_.server.server)},
        {}, [this](std::unique_ptr<transport::Connection> connection) { meet(std::move(connection)); },
        [this](const std::string& reason) {
          if (now_seconds() - began_ > kFindSeconds) return stop("the coordinator is not there: " + reason);
          retry_ = loop_.after(0.1, [this] { call_coordinator(); });
        });
  }

  void meet(std::unique_ptr<transport::Connection> connection) {
    coordinator_ = std::make_unique<Peer>(
        std::move(connection),
        [this](const Frame& frame, std::span<const std::byte> payload) { heard(frame, payload); },
        [this](const std::string& reason) { stop("the coordinator is gone: " + reason); });
    transport::Address address = server_->address();
    if (!options_.advertise.empty()) address.host = options_.advertise;
    const std::string text = address.to_string();
    const std::span<const std::byte> words = bytes_of(text);
    say({.kind = wire(Kind::announce), .flags = server_->has_begun() ? kBegun : std::uint16_t{0}},
        {words.begin(), words.end()});
    look_alive();
  }

  void heard(const Frame& frame, std::span<const std::byte> payload) {
    switch (static_cast<Kind>(frame.kind)) {
      case Kind::begin:
        return put_numbers(frame, payload, arrays_);
      case Kind::begun:
        return begin(decode_start(payload));
      case Kind::peers:
        return server_->connect(addresses_of(payload));
      case Kind::snapshot_wanted:
        return server_->snapshot(
            static_cast<std::int64_t>(frame.clock),
            [this, request = frame.epoch](const Shard::Copy& copy, const LedgerStart& start) {
              send_snapshot(request, copy, start);
            });
      case Kind::halt:
        return server_->halt();
      case Kind::counts_wanted:
        return say({.kind = wire(Kind::counts)}, encode(server_->counts()));
      case Kind::end:
        return stop("");
      default:
        return;
    }
  }

  void begin(const LedgerStart& start) {
    std::vector<float> slots;
    for (std::size_t i = 1; i < arrays_.size(); ++i)
      slots.insert(slots.end(), arrays_[i].begin(), arrays_[i].end());
    server_->begin(arrays_[0], slots, start);
    arrays_.clear();
    say({.kind = wire(Kind::begun)});
  }

  void send_snapshot(std::uint32_t request, const Shard::Copy& copy, const LedgerStart& start) {
    const auto elements = copy.parameters.size();
    say_numbers(*coordinator_, Kind::snapshot, 0, copy.parameters, request);
    for (std::size_t slot = 0; (slot + 1) * elements <= copy.slots.size() && elements > 0; ++slot)
      say_numbers(*coordinator_, Kind::snapshot, static_cast<std::uint32_t>(slot + 1),
                  std::span(copy.slots).subspan(slot * elements, elements), request);
    say({.kind = wire(Kind::snapshot_end),
         .epoch = request,
         .clock = static_cast<std::uint64_t>(copy.updates)},
        encode(start));
  }

  void look_alive() {
    say({.kind = wire(Kind::heartbeat)});
    heartbeat_ = loop_.after(options_.server.lease_seconds / 4, [this] { look_alive(); });
  }

  void say(const Frame& frame, Bytes payload = {}) {
    if (coordinator_ != nullptr) coordinator_->say(frame, std::move(payload));
  }

  void stop(const std::string& failure) {
    failure_ = failure;
    loop_.stop();
  }

  ServeOptions options_;
  transport::JobKey key_;
  transport::Loop loop_;
  std::unique_ptr<Server> server_;
  std::vector<std::vector<float>> arrays_;  // until it has begun
  double began_;
  std::unique_ptr<transport::Call> call_;
  std::unique_ptr<transport::Loop::Timer> retry_, heartbeat_;
  std::unique_ptr<Peer> coordinator_;
  std::string failure_;
};

}  // namespace

void serve(const ServeOptions& options, const std::vector<Key>& keys, Updater& updater,
           const transport::JobKey& key, const Server::Log& log) {
  Life(options, keys, updater, key, log).run();
}

}  // namespace trainyard::ps
