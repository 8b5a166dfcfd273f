// The map of the network: subnets in each other, and in them hosts with their ranks.

import { listAt, make, numberAt, shown } from "./dom.js";

const MOST_HOSTS = 256;

/** Returns a rate in words. */
function rate(bytes) {
  return bytes >= 1e9 ? `${shown(bytes / 1e9, 1)} GB/s` : `${shown(bytes / 1e6, 0)} MB/s`;
}

function hostsOf(hosts) {
  const items = hosts.slice(0, MOST_HOSTS).map((host) => {
    const ranks = numberAt(host, "ranks") ?? 0, first = numberAt(host, "first_rank");
    const words = ranks === 1 ? `rank ${first}` : `${ranks} ranks from ${first}`;
    return make("li", {}, make("b", {}, String(host.name)), ` ${words}`);
  });
  if (hosts.length > MOST_HOSTS) items.push(make("li", {}, `and ${hosts.length - MOST_HOSTS} more`));
  return make("ul", { class: "hosts" }, ...items);
}

function linkOf(subnet, what) {
  const latency = numberAt(subnet, "latency_seconds"), bandwidth = numberAt(subnet, "bytes_per_second");
  const medium = { bus: " by a bus", fabric: " by a switch" }[subnet.medium] ?? "";
  const figures = latency !== null && bandwidth !== null ? `, ${shown(latency * 1e6, 1)} µs, ${rate(bandwidth)}` : "";
  return `${what}${medium}${figures}`;
}

/** Returns the map of a network of status.json. */
export function networkMap(network) {
  const hosts = listAt(network, "hosts"), subnets = listAt(network, "subnets");
  let colour = 0;
  const build = (number, depth) => {
    const parts = subnets.map((one, i) => (one.parent === number && depth < 20 ? build(i, depth + 1) : null)).filter(Boolean);
    const own = hosts.filter((host) => host.subnet === number);
    if (parts.length + own.length === 0) return null;
    const what = parts.length > 0 ? `${parts.length} subnets` : own.length === 1 ? "1 host" : `${own.length} hosts`;
    const inner = [make("p", {}, linkOf(subnets[number], what))];
    if (own.length > 0) inner.push(hostsOf(own));
    if (parts.length > 0) inner.push(make("ul", {}, ...parts.map((part) => make("li", {}, part))));
    return make("div", { class: `subnet colour-${parts.length > 0 ? 5 : colour++ % 5}` }, ...inner);
  };
  const roots = subnets.map((one, i) => (one.parent === -1 ? build(i, 0) : null)).filter(Boolean);
  return roots.length > 0 ? roots : [hostsOf(hosts)];
}
