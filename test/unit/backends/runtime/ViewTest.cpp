// Stride arithmetic and the placement of buffers.
#include "backends/runtime/View.h"
#include "Catch.h"
#include "backends/runtime/MemoryPlan.h"
#include "backends/runtime/Step.h"
#include "backends/runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <thread>

using namespace qfx;
using namespace qfx::runtime;

namespace {

/// Offsets of all elements in row-major order.
std::vector<int64_t> getOffsets(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides) {
  std::vector<int64_t> offsets = {0};
  for (size_t i = 0; i < sizes.size(); ++i) {
    std::vector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t j = 0; j < sizes[i]; ++j)
        next.push_back(offset + j * strides[i]);
    offsets = std::move(next);
  }
  return offsets;
}

BufferRef makeBuffer(int64_t sizeBytes, int first, int last) {
  auto buffer = std::make_shared<Buffer>();
  buffer->sizeBytes = sizeBytes;
  buffer->firstStep = first;
  buffer->lastStep = last;
  return buffer;
}

} // namespace

TEST_CASE("dense strides", "[runtime][view]") {
  CHECK(getDenseStrides({2, 3, 4, 5}, StorageOrder::RowMajor) == Strides{60, 20, 5, 1});
  CHECK(getDenseStrides({2, 3, 4, 5}, StorageOrder::ChannelsLast) == Strides{60, 1, 15, 3});
  CHECK(getDenseStrides({2, 3}, StorageOrder::ChannelsLast) == Strides{3, 1});
  CHECK(hasOrder({1, 3, 1, 1}, {99, 1, 7, 8}, StorageOrder::RowMajor));
  CHECK(hasOrder({1, 3, 1, 1}, {99, 1, 7, 8}, StorageOrder::ChannelsLast));
  CHECK_FALSE(hasOrder({1, 3, 2, 1}, {6, 1, 3, 1}, StorageOrder::RowMajor));
  CHECK(isDenseStorage({2, 3, 4}, {1, 8, 2}));
  CHECK_FALSE(isDenseStorage({2, 3}, {4, 1}));
  CHECK_FALSE(isDenseStorage({2, 3}, {0, 1}));
}

TEST_CASE("reshaped strides address the same elements in the same order", "[runtime][view]") {
  // channels-last [2, 6, 2, 2]: splitting the channels works, merging channels with positions does not
  Sizes sizes = {2, 6, 2, 2};
  Strides last = getDenseStrides(sizes, StorageOrder::ChannelsLast);
  std::optional<Strides> split = getReshapedStrides(sizes, last, {2, 3, 2, 2, 2});
  REQUIRE(split);
  CHECK(getOffsets({2, 3, 2, 2, 2}, *split) == getOffsets(sizes, last));
  CHECK_FALSE(getReshapedStrides(sizes, last, {2, 24}));
  CHECK(getReshapedStrides({2, 6, 1, 1}, getDenseStrides({2, 6, 1, 1}, StorageOrder::ChannelsLast), {2, 6}));
  // whatever it says, it says the truth
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    Sizes from, to;
    for (int64_t rest = 24; rest > 1;) {
      int64_t factors[] = {1, 2, 3, 4};
      int64_t factor = factors[random() % 4];
      if (rest % factor == 0) {
        from.push_back(factor);
        rest /= factor;
      }
    }
    to.assign(from.rbegin(), from.rend());
    Strides strides = getDenseStrides(from, random() % 2 ? StorageOrder::RowMajor : StorageOrder::ChannelsLast);
    if (std::optional<Strides> result = getReshapedStrides(from, strides, to))
      CHECK(getOffsets(to, *result) == getOffsets(from, strides));
    else
      CHECK_FALSE(hasOrder(from, strides, StorageOrder::RowMajor));
  }
}

TEST_CASE("buffers alive together do not overlap", "[runtime][memory]") {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<BufferRef> buffers;
    for (int i = 0; i < 40; ++i) {
      int first = static_cast<int>(random() % 30);
      buffers.push_back(
          makeBuffer(static_cast<int64_t>(random() % 5000), first, first + static_cast<int>(random() % 4)));
    }
    int64_t total = planArena(buffers);
    for (const BufferRef &a : buffers) {
      CHECK(a->arenaOffset % kArenaAlignment == 0);
      CHECK(a->arenaOffset + a->sizeBytes <= total);
      for (const BufferRef &b : buffers) {
        bool together = a != b && a->firstStep <= b->lastStep && b->firstStep <= a->lastStep;
        bool overlap = a->arenaOffset < b->arenaOffset + b->sizeBytes && b->arenaOffset < a->arenaOffset + a->sizeBytes;
        CHECK_FALSE((together && overlap));
      }
    }
  }
}

TEST_CASE("a chain needs the memory of two neighbours", "[runtime][memory]") {
  std::vector<BufferRef> chain;
  for (int i = 0; i < 10; ++i)
    chain.push_back(makeBuffer(640, i, i + 1));
  CHECK(planArena(chain) == 2 * 640);
  chain[4]->inPlaceOf = chain[3];
  chain[3]->lastStep = chain[4]->lastStep;
  planArena(chain);
  CHECK(chain[4]->arenaOffset == chain[3]->arenaOffset);
}

TEST_CASE("a pool runs each piece of a job once", "[runtime][threads]") {
  for (int size : {1, 2, 5}) {
    ThreadPool pool(size);
    CHECK(pool.size() == size);
    for (int job = 0; job < 400; ++job) {
      std::vector<std::atomic<int>> counts(static_cast<size_t>(job % 23));
      std::atomic<int> strangers{0};
      pool.run(job % 23, [&](int piece, int thread) {
        ++counts[static_cast<size_t>(piece)];
        strangers += thread < 0 || thread >= size;
      });
      for (const std::atomic<int> &count : counts)
        REQUIRE(count == 1);
      REQUIRE(strangers == 0);
    }
  }
}

TEST_CASE("a job of one piece runs on the calling thread", "[runtime][threads]") {
  ThreadPool pool(3);
  for (int job = 0; job < 50; ++job)
    pool.run(1, [caller = std::this_thread::get_id()](int piece, int thread) {
      REQUIRE(piece == 0);
      REQUIRE(thread == 0);
      REQUIRE(std::this_thread::get_id() == caller);
    });
}

TEST_CASE("ranges are as large as the grain and wake nobody below it", "[runtime][threads]") {
  ThreadPool pool(2);
  RunContext run(pool, nullptr, 0);
  for (int64_t units : {0, 1, 7, 99, 100, 199, 200, 1000, 100000}) {
    std::atomic<int64_t> sum{0}, ranges{0}, small{0};
    run.parallelFor(units, 100, [&](int64_t begin, int64_t end, void *) {
      sum += end - begin;
      ++ranges;
      small += end - begin < 100;
    });
    CHECK(sum == units);
    CHECK(ranges == (units == 0 ? 0 : std::clamp<int64_t>(units / 100, 1, 8)));
    CHECK(small == (units > 0 && units < 100 ? 1 : 0));
  }
  CHECK(getProductGrain(kProductGrain / 3) == 3);
  CHECK(getProductGrain(0) == kProductGrain);
  CHECK(getProductGrain(kProductGrain * 5) == 1);
  CHECK(getUsefulThreads(4, kProductGrain * 3 - 1) == 2);
  CHECK(getUsefulThreads(4, 10) == 1);
  CHECK(getUsefulThreads(4, kProductGrain * 100) == 4);
}
