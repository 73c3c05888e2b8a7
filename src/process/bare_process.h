#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/standard.h"

// These functions serve a forked copy of this process that gives back the memory it was copied with.
// Afterwards only its code, its stack and the kept bytes are left, so it may call only functions of this
// file: libraries have lost their data. Every function here is inline and makes system calls directly.
namespace trainyard::process::bare {

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kCanDropMemory = true;

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  long result = 0;
  asm volatile("movq %5, %%r10\n\tsyscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(d)
               : "rcx", "r10", "r11", "memory");
  return result;  // -errno when it failed
}

inline const void* thread_pointer() {
  const void* pointer = nullptr;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}
#else
// Sanitizers call into their libraries everywhere, and other processors have other system call conventions.
inline constexpr bool kCanDropMemory = false;

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0) {
  const long result = ::syscall(number, a, b, c, d);
  return result == -1 ? -static_cast<long>(errno) : result;
}

inline const void* thread_pointer() { return nullptr; }
#endif

inline long address(const void* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

inline int open_file(const char* path, int flags) {
  return static_cast<int>(call(SYS_openat, AT_FDCWD, address(path), flags));
}
inline long read_some(int file, void* to, long bytes) { return call(SYS_read, file, address(to), bytes); }
inline long write_some(int file, const void* from, long bytes) {
  return call(SYS_write, file, address(from), bytes);
}
inline void close_file(int file) { call(SYS_close, file); }
[[noreturn]] inline void leave(int code) {
  for (;;) call(SYS_exit_group, code);
}

// The lines of /proc/self/maps begin "7f0a1000-7f0a2000 rw-p"; `visit` gets each range as it comes.
template <typename Visit>
void for_each_mapping(const Visit& visit) {
  char text[4096];
  const int file = open_file("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  std::uintptr_t range[2] = {0, 0};
  int field = 0;
  for (long count; (count = read_some(file, text, sizeof text)) > 0;) {
    for (long i = 0; i < count; ++i) {
      const char c = text[i];
      if (c == '\n') {
        field = 0;
        range[0] = range[1] = 0;
      } else if (field < 2 && (c == '-' || c == ' ')) {
        if (++field == 2) visit(range[0], range[1]);
      } else if (field < 2) {
        range[field] = range[field] * 16 + static_cast<std::uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      }
    }
  }
  close_file(file);
}

struct Range {
  std::uintptr_t begin, end;
};

inline Range pages_around(const void* pointer, std::uintptr_t before, std::uintptr_t after) {
  constexpr std::uintptr_t kPage = 4096;
  const auto place = reinterpret_cast<std::uintptr_t>(pointer);
  return {(place - before) / kPage * kPage, (place + after + kPage - 1) / kPage * kPage};
}

// Gives back all memory except the end of the stack, the thread's own data (the kernel writes there) and the
// kept bytes. It also makes the kernel forget the former peak: getrusage reports the peak of a process over
// all programs that it ran, which includes the memory that the fork copied.
inline void drop_memory(const void* kept, std::size_t kept_bytes) {
  if constexpr (kCanDropMemory) {
    const char here = 0;
    const Range needed[] = {pages_around(&here, 1 << 16, 1 << 16),
                            pages_around(thread_pointer(), 1 << 12, 1 << 13),
                            pages_around(kept, 0, kept_bytes)};
    for_each_mapping([&](std::uintptr_t begin, std::uintptr_t end) {
      while (begin < end) {
        std::uintptr_t next = end, resume = 0;
        for (const Range& range : needed) {
          if (range.end <= begin) continue;
          if (range.begin <= begin) resume = range.end;
          if (range.begin > begin && range.begin < next) next = range.begin;
        }
        if (resume == 0)
          call(SYS_madvise, static_cast<long>(begin), static_cast<long>(next - begin), MADV_DONTNEED);
        begin = resume == 0 ? next : resume;
      }
    });
    constexpr const char* kForgetPeak = "5";
    const int file = open_file("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (file >= 0) write_some(file, kForgetPeak, 1);
  }
}

}  // namespace trainyard::process::bare
