#include "tessera/comm/collectives/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/integer.h"
#include "tessera/comm/collectives/classical/build.h"
#include "tessera/comm/collectives/classical/entries.h"
#include "tessera/comm/collectives/predict.h"
#include "tessera/comm/collectives/subnets.h"

namespace tessera::comm::collectives {

std::string text_of(const NamedEntry& named) {
  auto text = named.name;
  if (!named.parameters) return text;
  const auto& [segment, degree, depth, pattern] = *named.parameters;
  const Parameters unchosen;
  text += fmt::format(":segment={}", segment);
  if (degree != unchosen.degree) text += fmt::format(":degree={}", degree);
  if (depth != unchosen.depth) text += fmt::format(":depth={}", depth);
  auto words = pattern;
  std::replace(words.begin(), words.end(), ',', '+');  // commas stand between entries of a list
  if (!words.empty()) text += ":pattern=" + words;
  return text;
}

NamedEntry named_entry(const std::string& text) {
  NamedEntry named;
  std::istringstream words(text);
  std::getline(words, named.name, ':');
  for (std::string word; std::getline(words, word, ':');) {
    const auto equals = word.find('=');
    const auto key = word.substr(0, equals);
    auto value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (!named.parameters) named.parameters.emplace();
    if (key == "segment") {
      named.parameters->segment = integer_of<std::int64_t>(value, text);
    } else if (key == "degree") {
      named.parameters->degree = integer_of<int>(value, text);
    } else if (key == "depth") {
      named.parameters->depth = integer_of<int>(value, text);
    } else if (key == "pattern") {
      std::replace(value.begin(), value.end(), '+', ',');
      named.parameters->pattern = value;
    } else {
      throw InputError(fmt::format(
          "{}: \"{}\" can't be chosen; there are segment=BYTES, degree=N, depth=N and pattern=NAME", text, key));
    }
  }
  return named;
}

std::span<const Entry> entries() {
  static const std::array all{
      Entry{"subnets", "for every piece a tree along the subnets of the network (paper 002, §4)", can_subnets,
            plan_subnets, candidates_subnets},
      binomial_entry,
      recursive_doubling_entry,
      recursive_halving_entry,
      ring_entry,
      scatter_all_gather_entry,
      bruck_entry,
      pairwise_entry,
      k_ary_entry,
      star_entry,
      spanning_tree_entry,
      linear_scan_entry,
  };
  return all;
}

const Entry& entry(const std::string& name) {
  std::vector<std::string> names;
  for (const auto& known : entries()) {
    if (name == known.name) return known;
    names.emplace_back(known.name);
  }
  throw InputError(fmt::format("no collective algorithm is called \"{}\"; {}", name, suggestion(name, names)));
}

std::vector<int> topology_order(const machine::Wires& wires) {
  // A host, like a subnet, is known by its lowest rank; so where the job numbers its ranks along the network, the order
  // is that of the ranks.
  const auto n_ranks = static_cast<std::size_t>(wires.n_ranks());
  const auto& network = wires.network();
  std::vector<int> lowest_of_subnet(network.subnets.size(), -1), lowest_of_host(network.hosts.size(), -1);
  std::vector<std::vector<int>> place(n_ranks);  // lowest ranks of whole, subnet, … , host; the rank
  const auto note = [](int& lowest, int rank) { lowest = lowest < 0 ? rank : lowest; };
  for (int rank = 0; rank < wires.n_ranks(); ++rank) {
    const auto host = wires.host_of(rank);
    note(lowest_of_host[static_cast<std::size_t>(host)], rank);
    auto& own = place[static_cast<std::size_t>(rank)];
    const auto ancestors = network.ancestors(host);
    for (auto subnet = ancestors.rbegin(); subnet != ancestors.rend(); ++subnet) {
      note(lowest_of_subnet[static_cast<std::size_t>(*subnet)], rank);
      own.push_back(lowest_of_subnet[static_cast<std::size_t>(*subnet)]);
    }
    own.push_back(lowest_of_host[static_cast<std::size_t>(host)]);
    own.push_back(rank);
  }
  auto order = rank_order(wires.n_ranks());
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return place[static_cast<std::size_t>(a)] < place[static_cast<std::size_t>(b)]; });
  return order;
}

std::vector<Candidate> rank_candidates(const Problem& problem, const machine::Wires& wires,
                                       const std::optional<std::string>& only) {
  if (only) (void)entry(*only);  // throws where there is none
  std::vector<Candidate> candidates;
  for (const auto& known : entries()) {
    if ((only && *only != known.name) || !known.can(problem)) continue;
    for (auto& parameters : known.candidates(problem, wires)) {
      try {
        const auto plan = known.plan(problem, wires, parameters);
        if (plan.messages.size() > most_messages) continue;
        candidates.push_back(
            {&known, std::move(parameters), predict(plan, problem, wires).seconds, plan.messages.size()});
      } catch (const TooManyMessages&) {
        continue;
      }
    }
  }
  sort_by_time(candidates);
  return candidates;
}

void sort_by_time(std::vector<Candidate>& candidates) {
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.seconds < b.seconds; });
}

}  // namespace tessera::comm::collectives
