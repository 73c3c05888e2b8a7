#include "allocation/counted_memory.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

namespace trainyard {

bool memory_is_counted() { return false; }
void start_attribution() {}
MemoryCounts stop_attribution() { return {}; }
const char* first_own_caller() { return ""; }

}  // namespace trainyard

#else

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

// The linker sends our own objects' malloc here (--wrap); libraries keep the C library's.
extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes);
}

namespace trainyard {
namespace {

std::atomic<bool> attributing{false};
std::atomic<std::int64_t> own_calls{0}, library_calls{0}, live{0};
std::array<char, 256> first_caller{};
thread_local bool inside = false;  // the walk itself may allocate

bool is_in(const Dl_info& place, const char* library) {
  return place.dli_fname != nullptr && std::strstr(place.dli_fname, library) != nullptr;
}

// The nearest frame that is neither ours in here nor the standard library's.
void attribute() {
  if (!attributing.load(std::memory_order_relaxed) || inside) return;
  inside = true;
  std::array<void*, 16> frames{};
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  Dl_info place{};
  int frame = 2;  // this function, and the allocation function that called it
  while (frame < depth && dladdr(frames[static_cast<std::size_t>(frame)], &place) != 0 &&
         is_in(place, "libstdc++"))
    ++frame;
  if (is_in(place, "libdnnl") || is_in(place, "libgomp")) {
    ++library_calls;
  } else if (++own_calls == 1) {
    const auto at = static_cast<const char*>(frames[static_cast<std::size_t>(frame)]);
    std::snprintf(first_caller.data(), first_caller.size(), "%s+%#lx %s",
                  place.dli_fname == nullptr ? "?" : place.dli_fname,
                  static_cast<unsigned long>(at - static_cast<const char*>(place.dli_fbase)),
                  place.dli_sname == nullptr ? "" : place.dli_sname);
  }
  inside = false;
}

void* grown(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  live += static_cast<std::int64_t>(malloc_usable_size(memory));
  return memory;
}

void shrink(void* memory) {
  if (memory == nullptr) return;
  live -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

bool memory_is_counted() { return true; }

void start_attribution() {
  std::array<void*, 2> frames{};
  backtrace(frames.data(), 2);  // loads what it needs
  own_calls = library_calls = 0;
  first_caller.fill(0);
  attributing = true;
}

MemoryCounts stop_attribution() {
  attributing = false;
  return {own_calls, library_calls, live};
}

const char* first_own_caller() { return first_caller.data(); }

}  // namespace trainyard

extern "C" {
void* __wrap_malloc(std::size_t bytes) {
  trainyard::attribute();
  return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  trainyard::attribute();
  return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* memory, std::size_t bytes) {
  trainyard::attribute();
  return __real_realloc(memory, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  trainyard::attribute();
  return __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  trainyard::attribute();
  return __real_posix_memalign(memory, alignment, bytes);
}
}

// The nothrow and array forms of the standard library end in these.
void* operator new(std::size_t bytes) {
  trainyard::attribute();
  return trainyard::grown(__real_malloc(bytes == 0 ? 1 : bytes));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  trainyard::attribute();
  const auto unit = static_cast<std::size_t>(alignment);
  return trainyard::grown(__real_aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept { trainyard::shrink(memory); }
void operator delete(void* memory, std::size_t) noexcept { trainyard::shrink(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { trainyard::shrink(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { trainyard::shrink(memory); }

#endif
