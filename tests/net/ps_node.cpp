// A server or a worker of a fault run, as a process that can be killed:
//   ps_node server NAME=VALUE...
//   ps_node worker NAME=VALUE...
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/philox.h"
#include "net/ps_problem.h"
#include "ps/client/client.h"
#include "ps/server/coordinator.h"
#include "ps/server/serve.h"
#include "ps/server/test_adder.h"

namespace trainyard::net_test {
namespace {

namespace transport = comm::transport;

class Settings {
 public:
  Settings(int count, char** arguments) {
    for (int i = 2; i < count; ++i) {
      const std::string text = arguments[i];
      values_[text.substr(0, text.find('='))] = text.substr(text.find('=') + 1);
    }
  }
  const std::string& text(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) fail(ErrorKind::usage, "{}=VALUE is missing", name);
    return found->second;
  }
  int whole(const std::string& name) const { return std::stoi(text(name)); }
  double number(const std::string& name) const { return std::stod(text(name)); }

 private:
  std::map<std::string, std::string> values_;
};

ps::Server::Log log_since(double began) {
  return [began](const std::string& line) {
    fmt::print("{:.3f} s: {}\n", now_seconds() - began, line);
    std::fflush(stdout);
  };
}

void serve(const Settings& settings) {
  const transport::JobKey key = transport::JobKey::read(settings.text("key"));
  ps::Adder adder(1);
  ps::serve({.server = {.server = settings.whole("number"),
                        .servers = settings.whole("servers"),
                        .workers = settings.whole("workers"),
                        .least_workers = settings.whole("least_workers"),
                        .patience_seconds = settings.number("patience"),
                        .batches = settings.whole("batches"),
                        .mode = ps::ModeName::parse(settings.text("mode")),
                        .lease_seconds = settings.number("lease"),
                        .state = settings.text("state"),
                        .run = 7},
             .listen = transport::Address::parse(settings.text("listen")),
             .advertise = settings.text("advertise"),
             .coordinator = transport::Address::parse(settings.text("coordinator"))},
            problem_keys(settings.whole("servers")), adder, key, log_since(settings.number("began")));
}

// Holds the batches that the servers have acknowledged, one line each. A line is whole or absent, however
// this process ends.
class Journal {
 public:
  explicit Journal(const std::string& file)
      : descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~Journal() { ::close(descriptor_); }
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  void add(std::int64_t batch) const {
    const std::string line = fmt::format("{}\n", batch);
    TRAINYARD_CHECK(::write(descriptor_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  }

 private:
  int descriptor_;
};

class Worker {
 public:
  explicit Worker(const Settings& settings)
      : number_(settings.whole("number")),
        servers_(settings.whole("servers")),
        mode_(ps::ModeName::parse(settings.text("mode"))),
        random_(static_cast<std::uint64_t>(settings.whole("seed")), stream_of("worker")),
        key_(transport::JobKey::read(settings.text("key"))),
        keys_(problem_keys(servers_)),
        journal_(settings.text("journal")),
        seen_(static_cast<std::size_t>(servers_), 0) {
    // Also who knows where they are asks: they are there when it is answered.
    std::vector<transport::Address> servers = ps::find_servers(
        transport::Address::parse(settings.text("coordinator")), number_, key_, settings.number("give_up"));
    std::istringstream relays(settings.text("relays"));
    if (!settings.text("relays").empty()) servers.clear();
    for (std::string word; relays >> word;) servers.push_back(transport::Address::parse(word));
    const double lease = settings.number("lease");
    client_ = std::make_unique<ps::Client>(ps::ClientOptions{.worker = number_,
                                                             .servers = std::move(servers),
                                                             .heartbeat_seconds = lease / 4,
                                                             .lease_seconds = lease,
                                                             .stall_seconds = 1,
                                                             .give_up_seconds = settings.number("give_up")},
                                           keys_, &key_, parameters_, gradients_,
                                           log_since(settings.number("began")));
  }

  void work() {
    std::optional<std::int64_t> last;
    while (true) {
      const ps::Client::Weights weights = client_->wait_for_weights();
      if (weights.done) return;
      if (last && weights.counted) journal_.add(*last);
      look_at(weights.updates);
      make_gradient(weights.batch);
      last = weights.batch;
    }
  }

 private:
  void look_at(std::int64_t updates) {
    if (mode_.row->sharing == ps::Sharing::racing) return;
    const std::vector<std::int64_t> counts = gradients_in(parameters_, keys_, servers_);
    for (std::size_t server = 0; server < counts.size(); ++server) {
      if (counts[server] < seen_[server])
        fail(ErrorKind::internal, "server {} has lost gradients: {} are in its weights, {} were", server,
             counts[server], seen_[server]);
      if (mode_.in_rounds() && counts[server] != counts[0])
        fail(ErrorKind::internal, "server {} has {} gradients in its weights, server 0 {}", server,
             counts[server], counts[0]);
    }
    if (!mode_.in_rounds() && counts[0] != updates)
      fail(ErrorKind::internal, "{} gradients are in the weights of {} updates", counts[0], updates);
    seen_ = counts;
  }

  // In pieces, from the end to the front, as a backward pass does.
  void make_gradient(std::int64_t batch) {
    const Philox::Block draw = random_.block(static_cast<std::uint64_t>(batch));
    const std::int64_t pieces = 1 + draw[0] % 8;
    const double seconds = 0.001 + 0.019 * to_unit_float(draw[1]);
    for (std::int64_t piece = pieces; piece-- > 0;) {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds / static_cast<double>(pieces)));
      const std::int64_t first = kElements * piece / pieces, end = kElements * (piece + 1) / pieces;
      for (std::int64_t i = first; i < end; ++i)
        gradients_[static_cast<std::size_t>(i)] = gradient_of(batch, i);
      client_->ready(first, end - first);
    }
  }

  int number_, servers_;
  ps::ModeName mode_;
  Philox random_;
  transport::JobKey key_;
  std::vector<ps::Key> keys_;
  Journal journal_;
  std::vector<std::int64_t> seen_;  // gradients in the weights, by server
  std::vector<float> parameters_ = std::vector<float>(kElements), gradients_ = parameters_;
  std::unique_ptr<ps::Client> client_;
};

int run(int count, char** arguments) {
  const std::string role = count > 1 ? arguments[1] : "";
  try {
    const Settings settings(count, arguments);
    if (role == "server")
      serve(settings);
    else if (role == "worker")
      Worker(settings).work();
    else
      fail(ErrorKind::usage, "ps_node: '{}' is neither server nor worker", role);
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace trainyard::net_test

int main(int count, char** arguments) { return trainyard::net_test::run(count, arguments); }
