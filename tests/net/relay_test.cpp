#include "net/relay.h"
#include "net/process.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <thread>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/test_folder.h"
#include "net/inject.h"
#include "net/pipe.h"

namespace trainyard::net_test {
namespace {

using Bytes = std::vector<std::byte>;
using FaultKind = Fault::Kind;

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

// Starts a client, a relay, and a server.
class Relays : public testing::Test {
 protected:
  explicit Relays(const std::string& listen = "tcp:127.0.0.1:0")
      : listener_(listen_at(Address::parse(listen))) {}

  void open(Relay::Options options = {}) {
    options.target = address_of(listener_);
    relay_ = std::make_unique<Relay>(std::move(options));
    connect();
  }
  void connect() {
    caller_ = connect_to(relay_->address());
    target_ = accept_from(listener_);
  }
  static Plan only_to_target(const Script& script) {
    return [script](int, Way way) { return way == Way::to_target ? script : Script(); };
  }
  Bytes at_target(std::size_t count, double seconds = kPatienceSeconds) const {
    Bytes bytes(count);
    bytes.resize(target_.read(bytes, seconds));
    return bytes;
  }
  bool has_event(const std::string& part) const { return relay_->history().find(part) != std::string::npos; }

  const TestFolder folder_;
  Socket listener_;
  std::unique_ptr<Relay> relay_;
  Socket caller_, target_;
};

TEST_F(Relays, BytesComeThroughBothWaysAsTheyWere) {
  constexpr std::size_t kBytes = 50 << 20;
  open({.plan = [](int, Way) { return Script{{.jitter_seconds = 0.0005}, {}}; }});
  const Bytes there = noise(1, kBytes), back = noise(2, kBytes);
  Bytes at_caller(kBytes);
  std::thread writes_there([&] { EXPECT_TRUE(caller_.write(there, 20)); });
  std::thread writes_back([&] { EXPECT_TRUE(target_.write(back, 20)); });
  std::thread reads_back([&] { EXPECT_EQ(caller_.read(at_caller, 20), kBytes); });
  EXPECT_TRUE(at_target(kBytes, 20) == there);
  for (std::thread* thread : {&writes_there, &writes_back, &reads_back}) thread->join();
  EXPECT_TRUE(at_caller == back);

  ::shutdown(caller_.number(), SHUT_WR);
  EXPECT_TRUE(target_.wait_for_end()) << "one way may end before the other";
  EXPECT_TRUE(target_.write(noise(3, 10)));
  EXPECT_EQ(caller_.read(std::span(at_caller).first(10)), 10u);
  target_.close();
  EXPECT_TRUE(caller_.wait_for_end());
  for (int i = 0; i < 20'000 && relay_->open_connections() > 0; ++i) sleep_for(0.001);
  EXPECT_TRUE(has_event("ended by its ends")) << relay_->history();
}

TEST_F(Relays, AWayIsAsSlowAsAsked) {
  open({.plan = only_to_target({{.delay_seconds = 0.08, .jitter_seconds = 0.02}, {}})});
  for (int i = 0; i < 5; ++i) {
    const double began = now_seconds();
    ASSERT_TRUE(caller_.write(noise(1, 10)));
    EXPECT_EQ(at_target(10), noise(1, 10));
    EXPECT_GE(now_seconds() - began, 0.08);
  }
  // The other way is not; the quickest counts, as this machine may have other work.
  double quickest = 1;
  for (int i = 0; i < 5; ++i) {
    Bytes answer(10);
    const double began = now_seconds();
    ASSERT_TRUE(target_.write(answer));
    EXPECT_EQ(caller_.read(answer), 10u);
    quickest = std::min(quickest, now_seconds() - began);
  }
  EXPECT_LT(quickest, 0.08);
}

TEST_F(Relays, AWayIsAsNarrowAsAsked) {
  open();
  for (const double rate : {2e5, 2e6}) {
    relay_->set_conditions({.bytes_per_second = rate});
    const auto count = static_cast<std::size_t>(rate * 0.6);
    const Bytes load = noise(1, count);
    double fastest = 0;  // as this machine may have other work
    for (int time = 0; time < 10 && fastest < 0.85 * rate; ++time) {
      const double began = now_seconds();
      std::thread writer([&] { EXPECT_TRUE(caller_.write(load)); });
      EXPECT_TRUE(at_target(count) == load);
      fastest = std::max(fastest, static_cast<double>(count) / (now_seconds() - began));
      writer.join();
      sleep_for(0.05);
    }
    EXPECT_NEAR(fastest, rate, 0.15 * rate);
  }
}

TEST_F(Relays, WhoDoesNotReadHoldsUpWhoWrites) {
  open();
  const Bytes load = noise(1, 64 << 20);
  EXPECT_FALSE(caller_.write(load, 0.3)) << "somewhere 64 MiB are kept";
  const double before = cpu_seconds();
  sleep_for(0.2);
  EXPECT_LT(cpu_seconds() - before, 0.05) << "the relay spins";
}

TEST_F(Relays, ACutIsSeenByBothEndsBehindExactlySoManyBytes) {
  for (const FaultKind kind : {FaultKind::rst, FaultKind::fin}) {
    SCOPED_TRACE(kind == FaultKind::rst ? "rst" : "fin");
    open({.plan = only_to_target({{}, {{.kind = kind, .at_byte = 12'345}}})});
    ASSERT_TRUE(target_.write(noise(2, 100)));
    Bytes answer(100);
    EXPECT_EQ(caller_.read(answer), 100u);
    ASSERT_TRUE(caller_.write(noise(1, 50'000)));
    const Bytes came = at_target(50'000);
    // The receiver loses the bytes that a reset overtakes, as in a network.
    EXPECT_LE(came.size(), 12'345u);
    EXPECT_TRUE(kind == FaultKind::rst || came.size() == 12'345u);
    EXPECT_TRUE(std::equal(came.begin(), came.end(), noise(1, 50'000).begin()));
    EXPECT_TRUE(target_.wait_for_end());
    EXPECT_TRUE(caller_.wait_for_end());
    EXPECT_TRUE(has_event("12345 bytes went to the target, 100 to the caller: by the plan"))
        << relay_->history();
  }
}

TEST_F(Relays, AreCutWhenTheTestSaysSo) {
  open();
  ASSERT_TRUE(caller_.write(noise(1, 100)));
  EXPECT_EQ(at_target(100).size(), 100u);
  relay_->cut_all(FaultKind::fin);
  EXPECT_TRUE(target_.wait_for_end());
  EXPECT_TRUE(caller_.wait_for_end());
  connect();
  inject(*relay_, {.kind = Injection::Kind::half_frame, .amount = 30}, 1);
  ASSERT_TRUE(caller_.write(noise(1, 100)));
  EXPECT_LE(at_target(100).size(), 30u);
  EXPECT_TRUE(caller_.wait_for_end());
  connect();
  inject(*relay_, {.kind = Injection::Kind::cut}, 1);
  EXPECT_TRUE(caller_.wait_for_end());
  EXPECT_TRUE(target_.wait_for_end());
}

TEST_F(Relays, StandStillForATime) {
  open();
  const double began = now_seconds();
  relay_->stall(1.5);
  ASSERT_TRUE(caller_.write(noise(1, 100)));
  EXPECT_EQ(at_target(100, 0.1).size(), 0u);
  EXPECT_EQ(at_target(100), noise(1, 100));
  EXPECT_GE(now_seconds() - began, 1.5);
  relay_->order({.kind = FaultKind::stall, .at_byte = 10, .seconds = 1.5}, Way::to_target);
  ASSERT_TRUE(caller_.write(noise(1, 100)));
  EXPECT_EQ(at_target(10).size(), 10u);
  EXPECT_EQ(at_target(90, 0.1).size(), 0u);
  EXPECT_EQ(at_target(90).size(), 90u);
}

TEST_F(Relays, GarbageIsWhatWasSaid) {
  open({.plan = only_to_target({{},
                                {{.kind = FaultKind::flip, .at_byte = 1000, .bit = 3},
                                 {.kind = FaultKind::insert, .at_byte = 1000, .seed = 5, .bytes = 77},
                                 {.kind = FaultKind::flip, .at_byte = 4095, .bit = 7}}})});
  Bytes expected = noise(1, 5000);
  ASSERT_TRUE(caller_.write(expected));
  expected[1000] ^= std::byte{1 << 3};
  expected[4095] ^= std::byte{1 << 7};
  const Bytes garbage = noise(5, 77);
  expected.insert(expected.begin() + 1000, garbage.begin(), garbage.end());
  EXPECT_EQ(at_target(5077), expected) << relay_->history();
  inject(*relay_, {.kind = Injection::Kind::garbage, .amount = 9}, 4);
  EXPECT_EQ(at_target(9), noise(4, 9)) << "it does not wait for something to come";
}

TEST_F(Relays, ConditionsPass) {
  open();
  const double began = now_seconds();
  inject(*relay_, {.kind = Injection::Kind::delay, .seconds = 0.2, .amount = 60}, 1);
  ASSERT_TRUE(caller_.write(noise(1, 10)));
  EXPECT_EQ(at_target(10), noise(1, 10));
  EXPECT_GE(now_seconds() - began, 0.2);
  EXPECT_LT(now_seconds() - began, 30) << "a minute was asked for, but only for 0.2 s";
}

TEST_F(Relays, FindATargetThatMovedOrComesLater) {
  relay_ = std::make_unique<Relay>(Relay::Options());
  EXPECT_TRUE(connect_to(relay_->address()).wait_for_end()) << "there is no target yet";
  relay_->set_target(address_of(listener_));
  connect();
  const Socket other = listen_at(Address::parse("unix:" + (folder_.path() / "socket").string()));
  relay_->set_target(address_of(other));
  const Socket second = connect_to(relay_->address());
  const Socket second_target = accept_from(other);
  ASSERT_TRUE(second.write(noise(1, 1000)) && caller_.write(noise(2, 1000)));
  Bytes came(1000);
  EXPECT_EQ(second_target.read(came), 1000u);
  EXPECT_EQ(came, noise(1, 1000));
  EXPECT_EQ(at_target(1000), noise(2, 1000)) << "who was there stays";
  relay_->set_target(Address::parse("tcp:127.0.0.1:1"));
  EXPECT_TRUE(connect_to(relay_->address()).wait_for_end()) << "nobody listens there";
  EXPECT_EQ(relay_->open_connections(), 2);
}

TEST_F(Relays, TurnCallersAwayForATime) {
  open();
  relay_->refuse(0.2);
  EXPECT_TRUE(connect_to(relay_->address()).wait_for_end());
  EXPECT_EQ(relay_->open_connections(), 1);
  sleep_for(0.2);
  connect();
  ASSERT_TRUE(caller_.write(noise(1, 10)));
  EXPECT_EQ(at_target(10), noise(1, 10));
}

TEST_F(Relays, TheSameSeedDoesTheSameAgain) {
  const Hazards hazards{.stall = 0.5,
                        .flip = 0.7,
                        .insert = 0.7,
                        .fin = 0.3,
                        .rst = 0.3,
                        .within_bytes = 20'000,
                        .most_stall_seconds = 0.02};
  const auto campaign = [&](std::uint64_t seed) {
    open({.plan = seeded_plan(seed, hazards)});
    std::vector<std::string> what;
    for (int i = 0; i < 20; ++i) {
      if (i > 0) connect();
      caller_.write(noise(1, 20'000));
      ::shutdown(caller_.number(), SHUT_WR);
      target_.wait_for_end();
      target_.close();
      caller_.close();
    }
    for (const Relay::Event& event : relay_->events())
      if (event.way == Way::to_target) what.push_back(fmt::format("{} {}", event.connection, event.what));
    return what;
  };
  const std::vector<std::string> first = campaign(7);
  EXPECT_GT(first.size(), 10u);
  EXPECT_EQ(first, campaign(7));
  EXPECT_NE(first, campaign(8));
}

TEST(Pipes, HoldOnlySoMuch) {
  Pipe pipe({{.delay_seconds = 1}, {}}, Philox(1, 1), {});
  const Bytes one(1);
  std::size_t count = 0;
  for (; pipe.room() > 0; ++count) pipe.received(one, 0);
  EXPECT_LT(count, 10'000u) << "small pieces cost more than their bytes";
  EXPECT_TRUE(pipe.ready(0.9).empty());
  EXPECT_EQ(pipe.next_time(), 1);
  while (!pipe.ready(1).empty()) pipe.sent(1, 1);
  EXPECT_EQ(pipe.sent_bytes(), count);
  EXPECT_FALSE(pipe.finished(1));
  pipe.ended(5);
  EXPECT_FALSE(pipe.finished(5.5)) << "the end is as late as all that comes before it";
  EXPECT_TRUE(pipe.finished(6));
}

}  // namespace
}  // namespace trainyard::net_test
