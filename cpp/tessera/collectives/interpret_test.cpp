// Checks that the interpreter notices every way in which a plan can be wrong; the tests of the entries rely on that.
#include "tessera/collectives/interpret.h"

#include <gtest/gtest.h>

#include "tessera/collectives/registry.h"

namespace tessera::collectives {
namespace {

machine::Wires one_switch(int n_ranks) {
  std::vector<machine::Host> hosts(static_cast<std::size_t>(n_ranks));
  std::vector<int> host_of_rank;
  for (int rank = 0; rank < n_ranks; ++rank) {
    hosts[static_cast<std::size_t>(rank)].name = "n" + std::to_string(rank);
    host_of_rank.push_back(rank);
  }
  return {machine::one_switch(hosts, {1e-5, 1e9}), host_of_rank};
}

CollectiveProblem problem_of(Operation operation, bool commutative = true) {
  CollectiveProblem problem{operation, 6, 2, {4}, 8, commutative};
  if (operation == Operation::all_gather || operation == Operation::reduce_scatter) problem.blocks = {3, 1, 2, 0, 1, 2};
  return problem;
}

MessagePlan plan_of(const char* name, const CollectiveProblem& problem) {
  Parameters parameters;
  parameters.segment = 16;
  return entry(name).plan(problem, one_switch(problem.n_ranks), parameters);
}

std::string result(const MessagePlan& plan, const CollectiveProblem& problem) {
  return check_result(problem, interpret(plan, problem));
}

bool is_about(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

struct Case {
  const char* entry;
  CollectiveProblem problem;
};

std::vector<Case> cases() {
  return {{"binomial", problem_of(Operation::all_reduce)},
          {"binomial", problem_of(Operation::barrier)},
          {"bruck", problem_of(Operation::barrier)},
          {"bruck", problem_of(Operation::all_gather)},
          {"bruck", problem_of(Operation::all_to_all)},
          {"ring", problem_of(Operation::reduce_scatter)},
          {"ring", problem_of(Operation::broadcast)},
          {"pairwise", problem_of(Operation::all_to_all)},
          {"recursive_doubling", problem_of(Operation::exscan)},
          {"recursive_halving", problem_of(Operation::all_reduce)}};
}

TEST(Interpret, NoticesEveryMissingMessage) {
  for (const auto& [name, problem] : cases()) {
    const auto plan = plan_of(name, problem);
    ASSERT_EQ(result(plan, problem), "") << plan.entry;
    ASSERT_FALSE(plan.messages.empty());
    for (std::size_t i = 0; i < plan.messages.size(); ++i) {
      auto damaged = plan;
      damaged.messages.erase(damaged.messages.begin() + static_cast<std::ptrdiff_t>(i));
      EXPECT_NE(result(damaged, problem), "") << plan.entry << ' ' << name_of(problem.operation) << " without " << i;
    }
  }
}

TEST(Interpret, NoticesWhatIsInTheWrongPlace) {
  for (const auto& [name, problem] : cases()) {
    if (problem.operation == Operation::barrier) continue;
    const auto plan = plan_of(name, problem);
    for (std::size_t i = 0; i < plan.messages.size(); ++i) {
      auto damaged = plan;
      damaged.messages[i].length -= 1;
      EXPECT_NE(result(damaged, problem), "") << plan.entry << ": one element less in " << i;
    }
  }
  const auto problem = problem_of(Operation::all_to_all);
  auto plan = plan_of("pairwise", problem);
  plan.messages[3].begin += 4;
  EXPECT_TRUE(is_about(result(plan, problem), "misplaced")) << result(plan, problem);
}

TEST(Interpret, SaysHowContributionsAreWrong) {
  const auto problem = problem_of(Operation::reduce);
  const auto plan = plan_of("star", problem);
  auto damaged = plan;
  damaged.messages.push_back(plan.messages.front());
  EXPECT_TRUE(is_about(result(damaged, problem), "doubled")) << result(damaged, problem);
  damaged = plan;
  damaged.messages.pop_back();
  EXPECT_EQ(result(damaged, problem),
            "rank 2, element 2: missing contributions: 1:2 0:2 2:2 3:2 4:2, expected 0:2 1:2 "
            "2:2 3:2 4:2 5:2");
  damaged = plan;
  damaged.messages.back().effect = Effect::replace;
  EXPECT_TRUE(is_about(result(damaged, problem), "missing")) << result(damaged, problem);
}

TEST(Interpret, HeedsTheOrderOfOperands) {
  const auto ordered = problem_of(Operation::reduce, false);
  for (const char* name : {"star", "binomial", "k_ary", "ring", "recursive_halving"}) {
    const auto plan = plan_of(name, ordered);
    EXPECT_EQ(result(plan, ordered), "") << plan.entry;
    for (std::size_t i = 0; i < plan.messages.size(); ++i) {
      auto damaged = plan;
      auto& effect = damaged.messages[i].effect;
      if (effect == Effect::replace) continue;
      effect = effect == Effect::combine_left ? Effect::combine_right : Effect::combine_left;
      EXPECT_TRUE(is_about(result(damaged, ordered), "misordered")) << plan.entry << ' ' << i;
      EXPECT_EQ(result(damaged, problem_of(Operation::reduce)), "") << plan.entry << ' ' << i;
    }
  }
}

TEST(Interpret, NoticesReadingWhatWasNeverWritten) {
  const CollectiveProblem problem{Operation::broadcast, 2, 0, {2}, 8, true};
  MessagePlan plan{"made up", {}, 2};
  plan.messages = {{.from = 0, .to = 1, .length = 2}};
  EXPECT_EQ(result(plan, problem), "");
  plan.messages = {{.from = 0, .to = 1, .source = Buffer::scratch, .length = 2}};
  EXPECT_TRUE(is_about(result(plan, problem), "never written")) << result(plan, problem);
  plan.messages = {{.from = 0, .to = 1, .effect = Effect::combine_left, .length = 2}};
  EXPECT_TRUE(is_about(result(plan, problem), "never written")) << result(plan, problem);
  plan.messages = {{.from = 0, .to = 1, .begin = 1, .length = 2}};
  EXPECT_TRUE(is_about(result(plan, problem), "not there")) << result(plan, problem);
  plan.messages = {{.from = 0, .to = 2, .length = 2}};
  EXPECT_TRUE(is_about(result(plan, problem), "not there")) << result(plan, problem);
}

TEST(Interpret, RandomOrderNeedsEveryKindOfDependency) {
  int n_found = 0, n_tried = 0;
  for (const auto& [name, problem] : cases()) {
    const auto plan = plan_of(name, problem);
    std::vector<std::vector<Action>> actions;
    for (int rank = 0; rank < problem.n_ranks; ++rank) actions.push_back(actions_of(plan, rank));
    auto careless = actions;
    for (auto& own : careless)
      for (auto& action : own) action.depends_on.clear();
    bool is_wrong = false;
    for (unsigned seed = 0; seed < 20; ++seed) {
      std::mt19937_64 random(seed), same(seed);
      EXPECT_EQ(check_result(problem, interpret_at_random(actions, plan.scratch, problem, random)), "") << plan.entry;
      is_wrong |= !check_result(problem, interpret_at_random(careless, plan.scratch, problem, same)).empty();
    }
    const bool needs_none = std::string_view(name) == "pairwise";
    EXPECT_EQ(is_wrong, !needs_none) << plan.entry << ' ' << name_of(problem.operation);
    ++n_tried;
    n_found += is_wrong ? 1 : 0;
  }
  EXPECT_EQ(n_found, n_tried - 1);
}

TEST(Interpret, NoticesMessagesThatNeverMeet) {
  const auto problem = problem_of(Operation::broadcast);
  const auto plan = plan_of("binomial", problem);
  std::vector<std::vector<Action>> actions;
  for (int rank = 0; rank < problem.n_ranks; ++rank) actions.push_back(actions_of(plan, rank));
  actions[static_cast<std::size_t>(problem.root)].front().tag = 7;
  std::mt19937_64 random(1);
  const auto contents = interpret_at_random(actions, plan.scratch, problem, random);
  EXPECT_TRUE(is_about(check_result(problem, contents), "wait for ever")) << check_result(problem, contents);
}

}  // namespace
}  // namespace tessera::collectives
