// POSIX shared memory is used rather than MPI's windows: each rank may then free its own at any time, and a system with
// too little of it says so instead of ending the job at the first access.
#include "tessera/comm/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tessera/comm/mpi/communicator.h"

namespace tessera::comm {

/// Memory that is mapped into this process; nullptr where that failed.
class Mapping {
 public:
  Mapping() = default;
  Mapping(int descriptor, std::size_t size, int protection, int flags) : size_(size) {
    void* p = mmap(nullptr, size, protection, flags, descriptor, 0);
    if (p != MAP_FAILED) begin_ = static_cast<std::byte*>(p);
  }
  Mapping(Mapping&& other) noexcept : begin_(std::exchange(other.begin_, nullptr)), size_(other.size_) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Mapping() {
    if (begin_ != nullptr) munmap(begin_, size_);
  }
  std::byte* begin() const { return begin_; }

 private:
  std::byte* begin_ = nullptr;
  std::size_t size_ = 0;
};

namespace {

constexpr std::size_t page = 4096;

/// A rank's memory as other ranks find it. The name is random, so that ranks which do not share a file system, as in
/// containers, never take another's memory for it.
struct Segment {
  std::array<std::uint64_t, 2> key{};
  std::uint64_t size = 0;

  std::string name() const { return fmt::format("/tessera-{:016x}{:016x}", key[0], key[1]); }
};

Segment make_segment(std::size_t bytes) {
  std::random_device random;
  Segment segment;
  for (auto& word : segment.key) word = (std::uint64_t{random()} << 32) | random();
  segment.size = std::max<std::size_t>(1, (bytes + page - 1) / page) * page;
  return segment;
}

/// Makes a new segment and reserves its memory.
Mapping create(const Segment& segment) {
  const int file = shm_open(segment.name().c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
  if (file < 0) return {};
  Mapping mapping;
  if (posix_fallocate(file, 0, static_cast<off_t>(segment.size)) == 0)
    mapping = Mapping(file, segment.size, PROT_READ | PROT_WRITE, MAP_SHARED);
  close(file);
  return mapping;
}

Mapping open_to_read(const Segment& segment) {
  const int file = shm_open(segment.name().c_str(), O_RDONLY, 0);
  if (file < 0) return {};
  Mapping mapping(file, segment.size, PROT_READ, MAP_SHARED);
  close(file);
  return mapping;
}

}  // namespace

struct SharedMemory::Implementation {
  std::shared_ptr<const HostCommunicator> host;
  Mapping mine;
  std::vector<Mapping> others;
  std::vector<const std::byte*> of;  // by rank of the whole communicator
};

SharedMemory::SharedMemory(const Communicator& comm, std::size_t bytes, bool is_alone)
    : implementation_(new Implementation) {
  auto& memory = *implementation_;
  const auto& all = *comm.implementation_;
  if (!all.host) all.host = std::make_shared<const HostCommunicator>(all.comm, all.rank);
  memory.host = all.host;
  const auto& [host, rank, size] = *memory.host;

  const Segment segment = make_segment(bytes);
  std::vector<Segment> segments(static_cast<std::size_t>(size));
  memory.mine = create(segment);
  MPI_Allgather(&segment, sizeof segment, MPI_BYTE, segments.data(), sizeof segment, MPI_BYTE, host);
  int have_all = memory.mine.begin() != nullptr && !is_alone;
  for (int other = 0; other < size; ++other) {
    memory.others.push_back(other == rank ? Mapping() : open_to_read(segments[static_cast<std::size_t>(other)]));
    if (other != rank && memory.others.back().begin() == nullptr) have_all = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &have_all, 1, MPI_INT, MPI_MIN, host);
  shm_unlink(segment.name().c_str());

  memory.of.assign(static_cast<std::size_t>(all.size), nullptr);
  if (!have_all) {
    memory.others.clear();
    memory.mine = Mapping(-1, segment.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    if (memory.mine.begin() == nullptr) throw std::bad_alloc();
  }
  memory.of[static_cast<std::size_t>(all.rank)] = memory.mine.begin();
  MPI_Group everybody, here;
  MPI_Comm_group(all.comm, &everybody);
  MPI_Comm_group(host, &here);
  for (int other = 0; other < static_cast<int>(memory.others.size()); ++other) {
    int global = 0;
    MPI_Group_translate_ranks(here, 1, &other, everybody, &global);
    if (other != rank)
      memory.of[static_cast<std::size_t>(global)] = memory.others[static_cast<std::size_t>(other)].begin();
  }
  MPI_Group_free(&everybody);
  MPI_Group_free(&here);
}
SharedMemory::SharedMemory(SharedMemory&&) noexcept = default;
SharedMemory::~SharedMemory() = default;

std::byte* SharedMemory::mine() const { return implementation_->mine.begin(); }
const std::byte* SharedMemory::of(int rank) const { return implementation_->of[static_cast<std::size_t>(rank)]; }

void SharedMemory::synchronise() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  MPI_Barrier(implementation_->host->comm);
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace tessera::comm
