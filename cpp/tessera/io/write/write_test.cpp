// Every method with every format on several ranks: the same bytes, and what is read back is what was written.
#include "tessera/io/write/write.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tessera/base/error.h"
#include "tessera/base/files/atomic_file.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/comm/threaded/run_ranks.h"
#include "tessera/io/text/config.h"

namespace tessera::io::write {
namespace {

namespace fs = std::filesystem;

std::string bytes_of_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Frame frame() {
  Frame found;
  found.title = "a test";
  found.periodicity = 2;
  found.moment = {12, 0.001, 0.012};
  found.cell = {50, 0, 0, 0, 60, 0, 0, 0, 70};
  found.species = {{text::name_of("Na+"), 22.9898, 1}, {text::name_of("Cl-"), 35.453, -1}};
  return found;
}

/// Returns the atoms 1 to n in a random order.
std::vector<Atom> all_atoms(std::int64_t n) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> x(-30, 30);
  std::vector<Atom> atoms;
  for (std::int64_t id = 1; id <= n; ++id) atoms.push_back({id, id % 2, {x(random), x(random), x(random) * 0.01}});
  std::ranges::shuffle(atoms, random);
  return atoms;
}

/// Returns the share of a rank: unequal, and none for the second of four or more.
std::span<const Atom> share(const std::vector<Atom>& atoms, int rank, int n_ranks) {
  const auto bound = [&](int r) {
    if (n_ranks >= 4 && r == 2) r = 1;
    return atoms.size() * static_cast<std::size_t>(r * r) / static_cast<std::size_t>(n_ranks * n_ranks);
  };
  return std::span(atoms).subspan(bound(rank), bound(rank + 1) - bound(rank));
}

std::string expected(const Format& format, const std::vector<Atom>& atoms) {
  auto text = format.header(frame(), std::ssize(atoms));
  const auto at = text.size();
  text.resize(at + atoms.size() * static_cast<std::size_t>(format.atom_bytes));
  format.encode(frame(), atoms, text.data() + at);
  return text;
}

class Writing : public testing::Test {
 protected:
  // Puts files in memory, if there is such a folder, where bringing files to the disk takes no time.
  Writing()
      : folder_(fs::path(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : testing::TempDir()) /
                ("tessera_write_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~Writing() override { fs::remove_all(folder_); }

  /// Checks that the folder holds nothing but these names.
  void check_only(const std::vector<std::string>& names) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder_)) found.push_back(entry.path().filename());
    std::ranges::sort(found);
    EXPECT_EQ(found, names);
  }

  fs::path folder_;
};

std::vector<std::string> hosts(int n) {
  std::vector<std::string> names;
  for (int rank = 0; rank < n; ++rank) names.push_back(rank < n / 2 ? "one" : "two");
  return names;
}

TEST_F(Writing, GivesTheSameBytesByEveryMethodOnAnyRanks) {
  const std::vector<std::pair<std::int64_t, std::vector<int>>> cases{
      {0, {1, 4}}, {5, {3, 8}}, {1000, {1, 2, 3, 4, 6, 8}}};
  for (const auto& [n, counts] : cases) {
    const auto atoms = all_atoms(n);
    auto sorted = atoms;
    std::ranges::sort(sorted, {}, &Atom::id);
    for (const int n_ranks : counts)
      for (const auto order : {Order::sorted, Order::owned})
        for (const auto& format : formats()) {
          if (format.level > 0 || (!format.has_numbers && (order == Order::owned || n == 0))) continue;
          const auto wanted = expected(format, order == Order::sorted ? sorted : atoms);
          for (const auto& method : methods()) {
            for (const int writers : n_ranks < 6 ? std::vector{0} : std::vector{0, 3}) {
              const auto path = folder_ / method.name;
              WriteOptions options;
              options.order = order;
              options.writers = writers;
              options.batch = 70;
              options.buffer = 1000;
              comm::run_ranks(hosts(n_ranks), [&](const comm::Communicator& comm) {
                const auto report =
                    write_frame(comm, path, frame(), share(atoms, comm.rank(), n_ranks), format, method, options);
                ASSERT_EQ(report.bytes, std::ssize(wanted));
              });
              ASSERT_TRUE(bytes_of_file(path) == wanted) << method.name << " " << format.name << " on " << n_ranks
                                                         << " ranks, " << n << " atoms, writers " << writers;
            }
          }
        }
  }
  std::vector<std::string> names;
  for (const auto& method : methods()) names.emplace_back(method.name);
  std::ranges::sort(names);
  check_only(names);
}

TEST_F(Writing, IsReadBackAsItWasWritten) {
  auto atoms = all_atoms(333);
  const auto path = (folder_ / "file").string();
  comm::run_ranks(3, [&](const comm::Communicator& comm) {
    write_frame(comm, path, frame(), share(atoms, comm.rank(), 3), format("text"), pdaw, {});
  });
  const auto config = text::read_config(path);
  EXPECT_EQ(config.title, "a test");
  EXPECT_EQ(config.moment->step, 12);
  for (const auto& atom : atoms) {
    const auto i = static_cast<std::size_t>(atom.id - 1);
    EXPECT_EQ(config.ids[i], atom.id);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(config.values[3 * i + k], atom.position[k], 5e-9);
  }
}

TEST_F(Writing, OfXdrHasTheMostSignificantByteFirst) {
  const auto bytes = expected(format("xdr"), {{258, 0, {1, -2, 0}}});
  EXPECT_EQ(bytes.substr(bytes.size() - 40),
            std::string("\0\0\0\0\0\0\1\2Na+     \x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0"
                        "\0\0\0\0\0\0\0\0",
                        40));
}

TEST_F(Writing, RefusesOwnedOrderWhereAtomsHaveNoNumbers) {
  const auto atoms = all_atoms(10);
  comm::run_ranks(2, [&](const comm::Communicator& comm) {
    WriteOptions options;
    options.order = Order::owned;
    EXPECT_THROW(
        write_frame(comm, folder_ / "file", frame(), share(atoms, comm.rank(), 2), format("netcdf"), pdaw, options),
        InputError);
  });
  comm::run_ranks(2, [&](const comm::Communicator& comm) {
    EXPECT_THROW(write_frame(comm, folder_ / "file", frame(), share(atoms, comm.rank(), 2), format("netcdf-velocities"),
                             pdaw, {}),
                 InputError);
  });
  check_only({});
}

/// Returns the message that every rank gets; all must get the same.
template <class Error>
std::string message(int n_ranks, const std::function<void(const comm::Communicator&)>& work) {
  std::vector<std::string> messages(static_cast<std::size_t>(n_ranks));
  comm::run_ranks(n_ranks, [&](const comm::Communicator& comm) {
    messages[static_cast<std::size_t>(comm.rank())] = test::message_of<Error>([&] { work(comm); });
  });
  for (const auto& one : messages) EXPECT_EQ(one, messages[0]);
  return messages[0];
}

TEST_F(Writing, RefusesAtomsThatAreNotNumberedOnceEach) {
  auto atoms = all_atoms(100);
  const auto write = [&](const Method& method) {
    return message<InputError>(4, [&](const comm::Communicator& comm) {
      write_frame(comm, folder_ / "file", frame(), share(atoms, comm.rank(), 4), format("text"), method, {});
    });
  };
  atoms[20].id = atoms[90].id = 7;
  for (const auto& method : methods())
    EXPECT_EQ(write(method), "two atoms have the number 7; atoms that are sorted are numbered 1, 2, … once each");
  atoms[3].id = 101;
  EXPECT_EQ(write(sdaw), "an atom has the number 101; 100 atoms that are sorted have the numbers from 1 to 100");
  atoms[3] = {1, 9, {}};
  EXPECT_EQ(write(sdaw), "atom 1 is of species 9, but there are 2");
  check_only({});
}

TEST_F(Writing, OnAFullDiskLeavesWhatWasThere) {
  const auto atoms = all_atoms(3000);
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  for (const auto& method : methods()) {
    const auto path = folder_ / "old";
    const auto write = [&](const comm::Communicator& comm) {
      WriteOptions options;
      options.batch = 100;
      options.buffer = 5000;
      write_frame(comm, path, frame(), share(atoms, comm.rank(), 3), format("text"), method, options);
    };
    comm::run_ranks(3, write);
    const auto old = bytes_of_file(path);
    const rlimit limit{60'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto text = message<RunError>(3, write);
    setrlimit(RLIMIT_FSIZE, &before);
    test::expect_says(text, "the file system or `ulimit -f` allows no larger file");
    EXPECT_TRUE(bytes_of_file(path) == old) << method.name;
    check_only({"old"});
    fs::remove_all(path);
  }
}

TEST_F(Writing, RefusesPlacesThatCantBeWritten) {
  const auto atoms = all_atoms(10);
  const auto write = [&](const Method& method, const fs::path& path) {
    return message<InputError>(2, [&](const comm::Communicator& comm) {
      write_frame(comm, path, frame(), share(atoms, comm.rank(), 2), format("xdr"), method, {});
    });
  };
  fs::create_directories(folder_ / "folder" / "inner");
  write_atomically((folder_ / "taken").string(), std::string_view("text"));
  for (const auto& method : methods()) {
    const auto missing = folder_ / "missing" / "file";
    EXPECT_EQ(write(method, missing), missing.string() + ": there is no folder " + missing.parent_path().string() +
                                          "; make it, or choose another place");
    EXPECT_NE(write(method, folder_ / "folder"), "") << method.name;
  }
  EXPECT_EQ(bytes_of_file(folder_ / "taken"), "text");
  EXPECT_TRUE(fs::exists(folder_ / "folder" / "inner"));
  check_only({"folder", "taken"});
}

}  // namespace
}  // namespace tessera::io::write
