#include "backend/cuda/rnn/rnn_kernels.h"
#include "backend/cuda/runtime/launch.cuh"

// The gradient of a table, each row of d_dst read once. Tiles of ids are sorted by id, stably, so that each
// id has one run of places in a tile. A warp adds the occurrences of a row; where they are many, their places
// are added in windows first, as many warps as there are windows, and the warp adds what the windows left.
namespace trainyard::backend::cuda::device {
namespace {

constexpr int kTile = 1024, kWindow = 64, kSortThreads = kTile / 2;
constexpr int kTilesAtOnce = 32;                               // one for each lane
constexpr int kMostListed = kTilesAtOnce * (kTile / kWindow);  // of a row, in the tiles at once
constexpr std::uint32_t kMostOfAWarp = 128;                    // occurrences that need no windows
constexpr std::uint32_t kNoRow = 0xFFFFFFFFu, kAllLanes = 0xFFFFFFFFu;
constexpr int kRowsPerBlock = kThreads / 32;
static_assert(kMostOfAWarp <= kMostListed);

std::int64_t tiles_of(const EmbeddingSizes& sizes) { return (sizes.ids + kTile - 1) / kTile; }

// A place is an index into the sorted tiles, one behind the other.
struct SortedIds {
  std::int64_t tiles;
  std::uint32_t* counts;  // for each row of the table; zero before
  std::uint32_t* runs;    // for each row and tile: first place in the tile << 16 | length; zero before
  std::int32_t *ids, *positions;  // for each place: -1 where no row is meant
  float* sums;                    // a row for each place: of the occurrences in its window from there on

  __host__ __device__ std::int64_t places() const { return tiles * kTile; }
};

std::int64_t zeroed_words(const EmbeddingSizes& sizes) {
  return (sizes.vocabulary * (1 + tiles_of(sizes)) + 15) / 16 * 16;
}

SortedIds sorted_in(const EmbeddingSizes& sizes, std::byte* workspace) {
  auto* words = reinterpret_cast<std::uint32_t*>(workspace);
  SortedIds sorted{.tiles = tiles_of(sizes), .counts = words, .runs = words + sizes.vocabulary};
  words += zeroed_words(sizes);
  sorted.ids = reinterpret_cast<std::int32_t*>(words);
  sorted.positions = sorted.ids + sorted.places();
  sorted.sums = reinterpret_cast<float*>(sorted.positions + sorted.places());
  return sorted;
}

// Sorts the keys of a tile, all of them different, by a bitonic network: a thread compares two in each step.
__device__ void sort_keys(std::uint64_t (&keys)[kTile]) {
  const int thread = static_cast<int>(threadIdx.x);
  for (int size = 2; size <= kTile; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      // From a stride of 32 on, a warp keeps to 64 keys of its own.
      if (stride > 32 || (stride == 32 && size > 64))
        __syncthreads();
      else
        __syncwarp();
      const int low = 2 * thread - (thread & (stride - 1)), high = low + stride;
      const std::uint64_t a = keys[low], b = keys[high];
      if ((a > b) == ((low & size) == 0)) {
        keys[low] = b;
        keys[high] = a;
      }
    }
  __syncthreads();
}

__device__ std::uint32_t row_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }

__device__ int end_of_run(const std::uint64_t (&keys)[kTile], int begin) {
  int low = begin + 1, high = kTile;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (row_of(keys[middle]) > row_of(keys[begin]))
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

__global__ void __launch_bounds__(kSortThreads)
    sort_tiles(EmbeddingSizes sizes, const std::int32_t* __restrict__ ids, SortedIds sorted) {
  __shared__ std::uint64_t keys[kTile];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile;
  for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kSortThreads) {
    const std::int32_t id = first + i < sizes.ids ? ids[first + i] : -1;
    const std::uint32_t row = id >= 0 && id < sizes.vocabulary ? static_cast<std::uint32_t>(id) : kNoRow;
    // With the position below the id no two are the same, and the order of positions stays.
    keys[i] = static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint32_t>(i);
  }
  __syncthreads();
  sort_keys(keys);
  for (int i = static_cast<int>(threadIdx.x); i < kTile; i += kSortThreads) {
    const std::uint32_t row = row_of(keys[i]);
    sorted.ids[first + i] = static_cast<std::int32_t>(row);
    sorted.positions[first + i] = static_cast<std::int32_t>(first + static_cast<std::uint32_t>(keys[i]));
    if (row == kNoRow || (i > 0 && row_of(keys[i - 1]) == row)) continue;
    const auto length = static_cast<std::uint32_t>(end_of_run(keys, i) - i);
    sorted.runs[row * sorted.tiles + blockIdx.x] = static_cast<std::uint32_t>(i) << 16 | length;
    atomicAdd(&sorted.counts[row], length);
  }
}

// Adds some columns of the rows listed to `sum`, in this order, with kAtOnce loads in flight.
template <int kAtOnce, int kWidth, typename From>
__device__ void add_listed(const From* from, std::int64_t width, const std::int32_t* list, int listed,
                           float (&sum)[kWidth]) {
#pragma unroll 1  // more would take the registers of other warps
  for (int i = 0; i < listed; i += kAtOnce) {
    Vector<From, kWidth> loaded[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (i + u < listed)
        loaded[u] = *reinterpret_cast<const Vector<From, kWidth>*>(from + list[i + u] * width);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (i + u < listed)
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[j] += to_float(loaded[u].at[j]);
  }
}

// One warp a window and a slice of columns: the sum of each part of a run in it whose row has many
// occurrences.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads)
    add_windows(EmbeddingSizes sizes, SortedIds sorted, int slices, const T* __restrict__ d_dst) {
  static_assert(kWindow == 64);
  const std::int64_t warp = static_cast<std::int64_t>(thread_index()) / 32, first = warp / slices * kWindow;
  if (first >= sorted.places()) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  std::uint64_t heads = 0, wanted = 0;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int at = half * 32 + lane;
    const std::int32_t id = sorted.ids[first + at];
    const bool head = at == 0 || sorted.ids[first + at - 1] != id;
    const bool many = head && id >= 0 && sorted.counts[id] > kMostOfAWarp;
    heads |= static_cast<std::uint64_t>(__ballot_sync(kAllLanes, head)) << (32 * half);
    wanted |= static_cast<std::uint64_t>(__ballot_sync(kAllLanes, many)) << (32 * half);
  }
  const std::int64_t column = (warp % slices * 32 + lane) * kWidth;
  if (column >= sizes.width) return;
  for (; wanted != 0; wanted &= wanted - 1) {
    const int begin = __ffsll(static_cast<long long>(wanted)) - 1;
    const std::uint64_t behind = heads >> begin >> 1;
    const int end = behind == 0 ? kWindow : begin + __ffsll(static_cast<long long>(behind));
    float sum[kWidth] = {};
    add_listed<8>(d_dst + column, sizes.width, sorted.positions + first + begin, end - begin, sum);
    Vector<float, kWidth> made;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) made.at[j] = sum[j];
    *reinterpret_cast<Vector<float, kWidth>*>(sorted.sums + (first + begin) * sizes.width + column) = made;
  }
}

// Lists what the tiles from `first` on have of a row: the positions of its occurrences or, where they are
// many, the places of the sums of windows. Returns how many; by a whole warp.
__device__ int list_row(const SortedIds& sorted, std::int64_t row, bool many, std::int64_t first,
                        std::int32_t* list) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t tile = first + lane;
  const std::uint32_t run = tile < sorted.tiles ? sorted.runs[row * sorted.tiles + tile] : 0;
  const int begin = static_cast<int>(run >> 16), length = static_cast<int>(run & 0xFFFFu);
  const int windows = length == 0 ? 0 : (begin + length - 1) / kWindow - begin / kWindow + 1;
  const int own = many ? windows : length;
  int end = own;
#pragma unroll
  for (int offset = 1; offset < 32; offset *= 2) {
    const int before = __shfl_up_sync(kAllLanes, end, offset);
    if (lane >= offset) end += before;
  }
  const auto place = static_cast<std::int32_t>(tile * kTile + begin);
  __syncwarp();  // the list before was read
#pragma unroll 4
  for (int i = 0; i < own; ++i)
    list[end - own + i] = !many    ? sorted.positions[place + i]
                          : i == 0 ? place
                                   : (place / kWindow + i) * kWindow;
  __syncwarp();
  return __shfl_sync(kAllLanes, end, 31);
}

// One warp a row of the table, and all of its slices of columns or some. Most rows have few occurrences or
// none: many warps, each with few loads in flight.
template <typename T, int kWidth>
__global__ void __launch_bounds__(kThreads, 3)
    finish_rows(EmbeddingSizes sizes, SortedIds sorted, const T* __restrict__ d_dst,
                T* __restrict__ d_table) {
  __shared__ std::int32_t lists[kRowsPerBlock][kMostListed];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRowsPerBlock + warp;
  if (row >= sizes.vocabulary) return;
  const std::uint32_t count = sorted.counts[row];
  const bool many = count > kMostOfAWarp;
  const std::int64_t tiles = count == 0 ? 0 : sorted.tiles;
  for (std::int64_t slice = blockIdx.y; slice * 32 * kWidth < sizes.width; slice += gridDim.y) {
    const std::int64_t column = (slice * 32 + lane) * kWidth;
    float sum[kWidth] = {};
    for (std::int64_t first = 0; first < tiles; first += kTilesAtOnce) {
      const int listed = list_row(sorted, row, many, first, lists[warp]);
      if (column >= sizes.width) continue;
      if (many)
        add_listed<2>(sorted.sums + column, sizes.width, lists[warp], listed, sum);
      else
        add_listed<4>(d_dst + column, sizes.width, lists[warp], listed, sum);
    }
    if (column >= sizes.width) continue;
    Vector<T, kWidth> made;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) made.at[j] = from_float<T>(sum[j]);
    *reinterpret_cast<Vector<T, kWidth>*>(d_table + row * sizes.width + column) = made;
  }
}

template <typename T, int kWidth>
void add_sorted(cudaStream_t stream, const EmbeddingSizes& sizes, const SortedIds& sorted, const T* d_dst,
                T* d_table) {
  const std::int64_t slices = (sizes.width + 32 * kWidth - 1) / (32 * kWidth);
  if (sizes.ids > kMostOfAWarp) {
    const std::int64_t warps = sorted.places() / kWindow * slices;
    add_windows<T, kWidth>
        <<<static_cast<unsigned>((warps + kRowsPerBlock - 1) / kRowsPerBlock), kThreads, 0, stream>>>(
            sizes, sorted, static_cast<int>(slices), d_dst);
    check_launch("embedding_d_table_sorted");
  }
  // Few rows: a warp for each slice fills the GPU better.
  const std::int64_t blocks = (sizes.vocabulary + kRowsPerBlock - 1) / kRowsPerBlock;
  const bool few = blocks < static_cast<std::int64_t>(kMaxBlocks);
  const dim3 grid(static_cast<unsigned>(blocks),
                  few ? static_cast<unsigned>(std::min<std::int64_t>(slices, 65535)) : 1);
  finish_rows<T, kWidth><<<grid, kThreads, 0, stream>>>(sizes, sorted, d_dst, d_table);
  check_launch("embedding_d_table_sorted");
}

}  // namespace

std::int64_t embedding_sorted_bytes(const EmbeddingSizes& sizes) {
  const std::int64_t places = tiles_of(sizes) * kTile;
  const std::int64_t sums = sizes.ids > kMostOfAWarp ? places * sizes.width : 0;
  return (zeroed_words(sizes) + 2 * places + sums) * static_cast<std::int64_t>(sizeof(float));
}

template <typename T>
void embedding_d_table_sorted(cudaStream_t stream, const EmbeddingSizes& sizes, const T* d_dst,
                              const std::int32_t* ids, T* d_table, std::byte* workspace) {
  const SortedIds sorted = sorted_in(sizes, workspace);
  const auto zeroed = static_cast<std::size_t>(zeroed_words(sizes)) * sizeof(std::uint32_t);
  check(cudaMemsetAsync(workspace, 0, zeroed, stream), "embedding_d_table_sorted");
  sort_tiles<<<static_cast<unsigned>(sorted.tiles), kSortThreads, 0, stream>>>(sizes, ids, sorted);
  check_launch("embedding_d_table_sorted");
  constexpr int kWide = 16 / sizeof(T);
  if (sizes.width % kWide == 0)
    add_sorted<T, kWide>(stream, sizes, sorted, d_dst, d_table);
  else
    add_sorted<T, 1>(stream, sizes, sorted, d_dst, d_table);
}

template void embedding_d_table_sorted(cudaStream_t, const EmbeddingSizes&, const float*, const std::int32_t*,
                                       float*, std::byte*);
template void embedding_d_table_sorted(cudaStream_t, const EmbeddingSizes&, const bf16*, const std::int32_t*,
                                       bf16*, std::byte*);

}  // namespace trainyard::backend::cuda::device
