#include "exchange_way.h"

#include "comm/transport/loop.h"
#include "ps/client/client.h"
#include "ps/server/server.h"

namespace trainyard {
namespace {

namespace transport = comm::transport;

class NoUpdate final : public ps::Updater {
 public:
  void apply(const From&, const To&, std::span<const float>, std::int64_t, int) override {}
  float rate(std::int64_t) const override { return 0; }
  int slots() const override { return 0; }
};

class ParameterServer final : public Way {
 public:
  ParameterServer(const std::string& address, std::size_t bytes)
      : keys_(ps::make_keys(static_cast<std::int64_t>(bytes / sizeof(float)), 1)),
        parameters_(bytes / sizeof(float)),
        gradients_(bytes / sizeof(float), 0.001f) {
    int ends[2];
    if (::pipe(ends) != 0) fail(ErrorKind::io, "cannot make a pipe");
    child_ = std::make_unique<Child>([&] { serve(address, ends[1]); });
    ::close(ends[1]);
    char text[256];
    const ssize_t length = ::read(ends[0], text, sizeof text);
    ::close(ends[0]);
    if (length <= 0) fail(ErrorKind::io, "the server did not start");
    client_ = std::make_unique<ps::Client>(
        ps::ClientOptions{.servers = {transport::Address::parse({text, static_cast<std::size_t>(length)})},
                          .heartbeat_seconds = kLeaseSeconds / 4,
                          .lease_seconds = kLeaseSeconds},
        keys_, nullptr, parameters_, gradients_,
        [](const std::string& line) { fmt::print(stderr, "{}\n", line); });
    client_->wait_for_weights();
  }

  void exchange() override {
    client_->ready(0, static_cast<std::int64_t>(gradients_.size()));
    client_->wait_for_weights();
  }

 private:
  static constexpr double kLeaseSeconds = 60;  // so that heartbeats do not come between

  void serve(const std::string& address, int pipe) const {
    const std::filesystem::path state = path_of("state");
    transport::Loop loop;
    NoUpdate update;
    const auto server = ps::make_server(loop,
                                        {.mode = ps::ModeName::parse("asp"),
                                         .lease_seconds = kLeaseSeconds,
                                         .state = "/dev/shm" / state.filename(),
                                         .run = 1},
                                        keys_, update, transport::Address::parse(address), nullptr,
                                        [](const std::string&) {});
    std::filesystem::remove("/dev/shm" / state.filename());  // the mapping stays
    server->begin(std::vector<float>(static_cast<std::size_t>(server->shard().elements())), {}, {});
    server->connect({server->address()});
    const std::string found = server->address().to_string();
    if (::write(pipe, found.data(), found.size()) != static_cast<ssize_t>(found.size())) return;
    loop.run();
  }

  std::vector<ps::Key> keys_;
  std::vector<float> parameters_, gradients_;
  std::unique_ptr<Child> child_;
  std::unique_ptr<ps::Client> client_;
};

}  // namespace

std::unique_ptr<Way> make_parameter_server(const std::string& address, std::size_t bytes) {
  return std::make_unique<ParameterServer>(address, bytes);
}

}  // namespace trainyard
