// Commands that use a known amount of something, and print what it was as one JSON object:
//   duty PERIODS CPU_SECONDS      busy for so much CPU time, then asleep for as long as that took, so many
//   times children COUNT CPU_SECONDS    so many children, one after the other, each busy for so long orphan
//   CPU_SECONDS            leaves a process of another session behind that is busy for so long loopback BYTES
//   sends them to itself through TCP write FILE BYTES              to a disk memory BYTES SECONDS touches
//   them, and waits wait [ignore]                 until SIGINT, or for a minute alone COMMAND... runs it with
//   a network of its own

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

namespace {

double seconds_by(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void be_busy(double cpu_seconds) {
  const double until = seconds_by(CLOCK_PROCESS_CPUTIME_ID) + cpu_seconds;
  while (seconds_by(CLOCK_PROCESS_CPUTIME_ID) < until) {
  }
}

int duty(int periods, double cpu_seconds) {
  // If permitted, this keeps other processes from stretching the busy part: the kernel shares CPUs among
  // sessions first.
  setsid();
  std::ofstream("/proc/self/autogroup") << "-20";
  setpriority(PRIO_PROCESS, 0, -20);
  const double begin = seconds_by(CLOCK_MONOTONIC);
  double busy = 0;
  for (int i = 0; i < periods; ++i) {
    const double from = seconds_by(CLOCK_MONOTONIC);
    be_busy(cpu_seconds);
    const double took = seconds_by(CLOCK_MONOTONIC) - from;
    busy += took;
    usleep(static_cast<useconds_t>(took * 1e6));
  }
  fmt::print("{{\"busy_seconds\":{},\"seconds\":{},\"cpu_seconds\":{}}}\n", busy,
             seconds_by(CLOCK_MONOTONIC) - begin, seconds_by(CLOCK_PROCESS_CPUTIME_ID));
  return 0;
}

int children(int count, double cpu_seconds) {
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      be_busy(cpu_seconds);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
  }
  return 0;
}

int orphan(double cpu_seconds) {
  if (fork() != 0) return 0;
  setsid();
  usleep(100'000);  // until its parent has gone
  be_busy(cpu_seconds);
  return 0;
}

int loopback(std::size_t bytes) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const int listener = socket(AF_INET, SOCK_STREAM, 0), sender = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(listener, 1) != 0 ||
      getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length) != 0 ||
      connect(sender, reinterpret_cast<sockaddr*>(&address), length) != 0)
    return 1;
  const int receiver = accept(listener, nullptr, nullptr);
  std::thread sending([&] {
    const std::vector<char> block(1 << 16, 'x');
    for (std::size_t left = bytes; left > 0;) {
      const ssize_t sent = write(sender, block.data(), std::min(left, block.size()));
      if (sent <= 0) _exit(1);
      left -= static_cast<std::size_t>(sent);
    }
    close(sender);
  });
  std::vector<char> block(1 << 20);
  std::size_t received = 0;
  for (ssize_t got = 0; (got = read(receiver, block.data(), block.size())) > 0;)
    received += static_cast<std::size_t>(got);
  sending.join();
  return received == bytes ? 0 : 1;
}

int write_file(const char* path, std::size_t bytes) {
  std::FILE* const file = std::fopen(path, "wb");
  const std::vector<char> block(1 << 20, 'x');
  for (std::size_t written = 0; written < bytes; written += block.size())
    if (std::fwrite(block.data(), 1, block.size(), file) != block.size()) return 1;
  return std::fflush(file) == 0 && fsync(fileno(file)) == 0 && std::fclose(file) == 0 ? 0 : 1;
}

int memory(std::size_t bytes, double seconds) {
  const std::vector<char> touched(bytes, 'x');
  usleep(static_cast<useconds_t>(seconds * 1e6));
  return touched.back() == 'x' ? 0 : 1;
}

volatile std::sig_atomic_t asked_to_end = 0;

int wait_for_signal(bool ignore) {
  std::signal(
      SIGINT, ignore ? SIG_IGN : [](int) { asked_to_end = 1; });
  fmt::print(stderr, "waiting\n");
  for (int i = 0; i < 600 && asked_to_end == 0; ++i) usleep(100'000);
  return 0;
}

int alone(char** command) {
  if (unshare(CLONE_NEWNET) != 0) return 77;
  ifreq loop{};
  std::snprintf(loop.ifr_name, sizeof loop.ifr_name, "lo");
  loop.ifr_flags = IFF_UP | IFF_RUNNING;
  if (ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &loop) != 0) return 77;
  execvp(command[0], command);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return i < argc ? std::atof(argv[i]) : 0; };
  if (what == "duty") return duty(static_cast<int>(number(2)), number(3));
  if (what == "children") return children(static_cast<int>(number(2)), number(3));
  if (what == "orphan") return orphan(number(2));
  if (what == "loopback") return loopback(static_cast<std::size_t>(number(2)));
  if (what == "write" && argc > 2) return write_file(argv[2], static_cast<std::size_t>(number(3)));
  if (what == "memory") return memory(static_cast<std::size_t>(number(2)), number(3));
  if (what == "wait") return wait_for_signal(argc > 2);
  if (what == "alone" && argc > 2) return alone(argv + 2);
  fmt::print(stderr, "profile_load: unknown load '{}'\n", what);
  return 1;
}
