// Tests how a server handles the messages of one worker, without a network.

#include "ps/server/member.h"

#include <gtest/gtest.h>

namespace trainyard::ps {

namespace {

using comm::transport::Frame;

class Silence final : public comm::transport::Connection {
 public:
  void start(comm::transport::Receiver&) override {}
  void send(Frame, std::span<const std::byte>, std::function<void()>) override {}
  void close(const std::string&, bool) override {}
  const comm::transport::Hello& peer() const override { return peer_; }
  std::string address() const override { return "nowhere"; }
  const comm::transport::Traffic& traffic() const override { return traffic_; }
  double seconds_since_heard() const override { return 0; }

 private:
  comm::transport::Hello peer_{.role = 1, .id = 3};
  comm::transport::Traffic traffic_;
};

class Members : public testing::Test, public Member::Owner {
 protected:
  Members() { member_.admit(5, 0); }
  void wants_to_join(Member&) override {}
  void gradient_is_here(Member&) override { ++gradients_; }
  void gone(Member&, const std::string&, bool) override {}

  Frame push() const {
    Frame frame{.kind = wire(Kind::push), .epoch = 5};
    frame.payload_bytes = 16 * sizeof(float);
    return frame;
  }

  std::shared_ptr<StateMemory> memory_ =
      std::make_shared<StateMemory>("", StateMemory::Sizes{.elements = 16, .gradients = 4});
  Shard shard_{make_keys(16, 1), 0, memory_, Sharing::one_thread};
  BufferPool buffers_{memory_->gradients(), memory_};
  Member member_{*this, shard_, buffers_, std::make_unique<Silence>()};
  int gradients_ = 0;
};

TEST_F(Members, AreHeardWhenTheyWereLetGoOn) {
  member_.released(0);
  member_.arrived(push(), member_.room_for(push()));
  EXPECT_EQ(gradients_, 1);
  EXPECT_TRUE(member_.gradient_complete());
}

// The rest of its gradient was under way when it was put out: kept, it could be taken for the one that it
// makes when it comes again.
TEST_F(Members, AreNotHeardOnceTheyAreOut) {
  member_.released(0);
  const std::span<std::byte> room = member_.room_for(push());
  member_.refuse("a server is missing", true);
  member_.arrived(push(), room);
  EXPECT_EQ(gradients_, 0);
  EXPECT_FALSE(member_.gradient_complete());
}

}  // namespace

}  // namespace trainyard::ps
