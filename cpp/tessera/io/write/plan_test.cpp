#include "tessera/io/write/plan.h"

#include <gtest/gtest.h>

#include "tessera/base/error.h"
#include "tessera/base/test_support/messages.h"
#include "tessera/io/write/choose.h"
#include "tessera/io/write/method.h"

namespace tessera::io::write {
namespace {

/// Returns ranks on hosts of `per_host`, which own `each` atoms, every third one more.
WriteProblem problem(int n_ranks, int per_host, std::int64_t each) {
  WriteProblem found;
  for (int rank = 0; rank < n_ranks; ++rank) {
    found.hosts.push_back(rank / per_host);
    found.owned.push_back(each + (rank % 3 == 0 ? 1 : 0));
  }
  found.header_bytes = 365;
  found.atom_bytes = 146;
  return found;
}

/// Checks that every byte of every file is written once.
void check_covers(const WriteProblem& problem, const WritePlan& plan) {
  std::int64_t place = 0;
  int rank = -1;
  std::vector<std::int64_t> ends(static_cast<std::size_t>(plan.n_files), 0);
  ends[0] = problem.header_bytes;
  for (const auto& part : plan.parts) {
    ASSERT_GT(part.rank, rank);
    rank = part.rank;
    ASSERT_EQ(part.first, place);
    place = part.end();
    auto& end = ends[static_cast<std::size_t>(part.file)];
    ASSERT_EQ(part.offset, end);
    end += part.n_atoms * problem.atom_bytes;
    ASSERT_LE(part.n_atoms, plan.n_rounds * plan.batch);
  }
  ASSERT_LT(rank, problem.n_ranks());
  ASSERT_EQ(place, problem.n_atoms());
}

/// A method of a file for each rank, and one of a file for each host, as a bench has them.
const Method file_per_rank{"file-per-rank", "", any_format,
                           [](const WriteProblem& problem, const WriteOptions& options) {
                             return divide(problem, options, spread(problem.n_ranks(), problem.n_ranks()), true);
                           },
                           nullptr};
const Method segments{"segments", "", any_format,
                      [](const WriteProblem& problem, const WriteOptions& options) {
                        return divide(problem, options, one_of_each_host(problem), true);
                      },
                      nullptr};
const std::vector<Method> with_folders = {segments, pdaw, file_per_rank, sdaw};

TEST(WritePlans, OfAllMethodsCoverTheFileFor65536Ranks) {
  for (const auto& [n_ranks, each] : {std::pair{1, 10}, {7, 0}, {65'536, 15'000}, {65'536, 0}}) {
    const auto of = problem(n_ranks, 128, each);
    for (const auto& method : {pdaw, mpiw_collective, sdaw, segments, file_per_rank})
      for (const auto order : {Order::sorted, Order::owned})
        for (const int writers : {0, 1, 8, 1000}) {
          const WriteOptions options{.order = order, .writers = writers, .batch = 50'000};
          const auto plan = method.plan(of, options);
          check_covers(of, plan);
          if (HasFatalFailure()) FAIL() << method.name << " on " << n_ranks << " ranks, writers " << writers;
        }
  }
}

TEST(WritePlans, HaveTheWritersThatTheirMethodsName) {
  const auto of = problem(65'536, 128, 15'000);
  WriteOptions options;
  EXPECT_EQ(sdaw.plan(of, options).parts.size(), 1U);
  EXPECT_EQ(pdaw.plan(of, options).parts.size(), 65'536U);
  EXPECT_EQ(file_per_rank.plan(of, options).n_files, 65'536);
  const auto plan = segments.plan(of, options);
  ASSERT_EQ(plan.n_files, 512);
  EXPECT_EQ(plan.parts[3].rank, 3 * 128);
  const auto eight = pdaw.plan(of, {.writers = 8, .batch = 50'000});  // as DL_POLY_4 has it
  ASSERT_EQ(eight.parts.size(), 8U);
  EXPECT_EQ(eight.parts[1].rank, 8192);
  EXPECT_EQ(eight.batch, 50'000);
}

TEST(WritePlans, AsOwnedLeaveAtomsWhereTheyAreIfAllRanksWrite) {
  const auto of = problem(6, 2, 10);
  WriteOptions options;
  options.order = Order::owned;
  const auto plan = pdaw.plan(of, options);
  for (std::size_t rank = 0; rank < 6; ++rank) EXPECT_EQ(plan.parts[rank].n_atoms, of.owned[rank]);
}

TEST(WritePlans, FindThePartOfAPlace) {
  const auto plan = pdaw.plan(problem(5, 5, 7), {});
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    EXPECT_EQ(plan.part_of(plan.parts[i].first), i);
    EXPECT_EQ(plan.part_of(plan.parts[i].end() - 1), i);
    EXPECT_EQ(plan.of(static_cast<int>(i)), &plan.parts[i]);
  }
  EXPECT_EQ(sdaw.plan(problem(5, 5, 7), {}).of(3), nullptr);
}

TEST(WriteRegistry, SuggestsTheNearestName) {
  EXPECT_EQ(std::string(method("mpiw-collective").name), "mpiw-collective");
  EXPECT_EQ(test::message_of<InputError>([] { method("pdwa"); }),
            "no write method is called \"pdwa\"; did you mean \"pdaw\"?");
  EXPECT_THROW(format("xml"), InputError);
}

machine::FileSystem measured() {
  machine::FileSystem system{"/scratch", "ext4", 1e9, 1e-3, 16, {}};
  const auto add = [&](const char* name, const char* of, int ranks, int writers, int files, double seconds) {
    system.trials.push_back({name, of, "sorted", ranks, 1, writers, files, 50'000, 1 << 20, 1'000'000'000, seconds});
  };
  add("pdaw", "text", 8, 4, 1, 2.0);
  add("sdaw", "text", 8, 1, 1, 5.0);
  add("segments", "text", 8, 2, 2, 1.5);
  add("file-per-rank", "text", 8, 8, 8, 1.0);
  add("pdaw", "xdr", 1, 1, 1, 1.0);
  return system;
}

TEST(WriteChoice, FollowsTheMap) {
  const auto system = measured();
  const auto at = [&](int ranks, const char* name, bool one_file = false) {
    return choose(one_file ? methods() : with_folders, problem(ranks, 4, 1000), format(name), Order::sorted, &system);
  };
  EXPECT_STREQ(at(8, "text").method->name, "file-per-rank");
  // A file a rank would be more files than the file system was measured to bear.
  const auto more = at(32, "text");
  EXPECT_STREQ(more.method->name, "segments");
  EXPECT_EQ(more.options.writers, 8);
  EXPECT_EQ(more.options.batch, 50'000);
  EXPECT_EQ(more.options.buffer, 1 << 20);
  EXPECT_EQ(more.options.most_files, 16);
  EXPECT_STREQ(at(8, "text", true).method->name, "pdaw");
  // A HISTORY has the records of a CONFIG.
  EXPECT_STREQ(at(8, "history", true).method->name, "pdaw");
  EXPECT_EQ(at(8, "history-velocities", true).options.writers, 4);
  // Nothing was measured with binary, nor with so many ranks.
  test::expect_says(at(8, "binary").reason, "predicted");
  test::expect_says(at(1000, "text").reason, "predicted");
  EXPECT_STRNE(at(1000, "text").method->name, "file-per-rank");
}

TEST(WriteChoice, WritersOfSegmentsAreThoseThatWereFastest) {
  auto system = measured();
  EXPECT_EQ(writers_of_segments(system, 8), 2);
  EXPECT_EQ(writers_of_segments(system, 16), 4);
  EXPECT_EQ(writers_of_segments(system, 2), 1);
  EXPECT_EQ(writers_of_segments(system, 1000), 16);  // nothing like that was measured: what the file system bears
  system.trials.push_back({"segments", "text", "sorted", 8, 1, 6, 6, 0, 0, 1'000'000'000, 1.0});
  EXPECT_EQ(writers_of_segments(system, 8), 6);
}

TEST(WriteChoice, WithoutAMapIsTheFirst) {
  EXPECT_STREQ(choose(methods(), problem(8, 4, 10), format("text"), Order::sorted, nullptr).method->name, "pdaw");
}

TEST(WriteChoice, FindsTheFileSystemOfAPath) {
  std::vector<machine::FileSystem> systems(3);
  systems[0].folder = "/";
  systems[1].folder = "/scratch";
  systems[2].folder = "/scratch/fast";
  EXPECT_EQ(file_system_of(systems, "/scratch/fast/run/CONFIG"), &systems[2]);
  EXPECT_EQ(file_system_of(systems, "/scratch/faster/CONFIG"), &systems[1]);
  EXPECT_EQ(file_system_of(systems, "/home/CONFIG"), &systems[0]);
  EXPECT_EQ(file_system_of(std::span(systems).subspan(1), "/home/CONFIG"), nullptr);
}

}  // namespace
}  // namespace tessera::io::write
