// Asks how the run is each second and shows it.

import { duration, isNumber, listAt, make, numberAt, say, shown, the } from "./dom.js";
import { networkMap } from "./map.js";
import { Plot } from "./plot.js";

const EVERY = 1000, EVERY_AT_END = 10000; // milliseconds
const TILES = [
  ["temperature", "K", 1], ["pressure", "bar", 0], ["density", "g/cm³", 4], ["potential", "kcal/mol", 1],
  ["kinetic", "kcal/mol", 1], ["total", "kcal/mol", 1],
];

/** Returns a column less the mean of its last three quarters. */
function aboutMean(values) {
  if (!values) return [];
  const settled = values.slice(Math.floor(values.length / 4)).filter(isNumber);
  const mean = settled.reduce((sum, value) => sum + value, 0) / (settled.length || 1);
  return values.map((value) => (isNumber(value) ? value - mean : null));
}

let driftLimit = null;
const column = (name) => ({ label: name, of: (data) => data[name] });
const energy = (name) => ({ label: name, of: (data) => aboutMean(data[name]) });
const plots = [
  { title: "Temperature", unit: "K", lines: [column("temperature")] },
  { title: "Pressure", unit: "bar", lines: [column("pressure")] },
  { title: "Density", unit: "g/cm³", lines: [column("density")] },
  { title: "Energies about their means", unit: "kcal/mol", lines: [energy("potential"), energy("kinetic")] },
  { title: "Total and conserved about their means", unit: "kcal/mol", lines: [energy("total"), energy("conserved")] },
  { title: "Drift of the conserved energy", unit: "kT/ns/dof", lines: [column("drift")],
    limits: () => (driftLimit === null ? [] : [driftLimit, -driftLimit]) },
].map((one) => new Plot(the("plots"), one));

function showHead(found) {
  say(the("name"), String(found.name));
  the("state").className = `state ${found.state}`;
  say(the("state"), String(found.state));
  say(the("words"), String(found.words ?? ""));
  the("words").className = found.is_good ? (["stopped", "suspended"].includes(found.state) ? "warn" : "") : "bad";
  const alarms = listAt(found, "alarms").map((alarm) => String(alarm.words));
  if (the("alarms").textContent !== alarms.join(""))
    the("alarms").replaceChildren(...alarms.map((words) => make("p", {}, words)));
}

function factsOf(status) {
  const ranks = numberAt(status, "ranks"), threads = numberAt(status, "threads"), atoms = numberAt(status, "n_atoms");
  const host = status.process?.host, process = status.process?.id;
  return [
    atoms === null ? null : `${shown(atoms)} atoms`,
    ranks === null ? null : `${ranks} rank${ranks === 1 ? "" : "s"} × ${threads ?? 1} thread${threads === 1 ? "" : "s"}`,
    `process ${process} on ${host}`,
  ].filter(Boolean).join(" · ");
}

function showProgress(status, isOver) {
  const step = numberAt(status, "step") ?? 0, last = numberAt(status, "last_step") ?? 0;
  const share = last > 0 ? step / last : 0, speed = numberAt(status, "ns_per_day");
  const left = numberAt(status, "seconds_left"), time = numberAt(status, "time_ps");
  the("progress").hidden = false;
  the("bar").value = Math.min(1, share);
  say(the("step"), `step ${shown(step)} of ${shown(last)} (${shown(100 * share, 1)} %)`);
  const length = time === null ? "" : time < 1000 ? `${shown(time, 2)} ps` : `${shown(time / 1000, 3)} ns`;
  say(the("speed"), [length, speed ? `${Number(speed.toPrecision(3))} ns/day` : ""].filter(Boolean).join(" at "));
  say(the("left"), left === null || isOver ? "" : `${duration(left)} left`);
  document.title = `${Math.floor(100 * share)} % ${the("name").textContent}`;
  showStages(status, isOver);
}

function showStages(status, isOver) {
  const stages = listAt(status, "stages"), now = numberAt(status, "stage", "number");
  const items = stages.map((stage, i) => {
    const isDone = i + 1 < now || (isOver && status.state === "finished");
    const item = make("li", isDone ? { class: "done" } : {}, String(stage.name));
    if (isDone) item.append(make("span", { class: "unseen" }, " (done)"));
    if (i + 1 === now && !isOver) item.setAttribute("aria-current", "step");
    return item;
  });
  const list = make("ol", {}, ...items);
  if (the("stages").innerHTML !== list.innerHTML) the("stages").replaceChildren(...list.childNodes);
}

function tile(name, value, note = "") {
  return make("div", {}, make("dt", {}, name), make("dd", {}, value, " ", make("small", {}, note)));
}

function showNow(status) {
  const tiles = TILES.map(([name, unit, decimals]) => {
    const value = numberAt(status, "energies", name);
    return value === null ? null : tile(name, shown(value, decimals), unit);
  });
  const drift = numberAt(status, "drift", "value"), half = numberAt(status, "drift", "half_width");
  const signed = (value) => `${value < 0 ? "−" : "+"}${Math.abs(value).toPrecision(2)}`;
  if (drift !== null)
    tiles.push(tile("drift", `${signed(drift)}${half === null ? "" : ` ± ${half.toPrecision(1)}`}`,
      half === null ? "kT/ns/dof" : "kT/ns/dof, 95 %"));
  const imbalance = numberAt(status, "imbalance", "last");
  if (imbalance !== null) tiles.push(tile("imbalance", shown(imbalance, 2), "busiest rank / mean"));
  const force = numberAt(status, "minimization", "max_force"), wanted = numberAt(status, "minimization", "wanted_max_force");
  if (force !== null) tiles.push(tile("greatest force", Number(force.toPrecision(4)), `kcal/mol/Å, until ${wanted}`));
  const lowest = numberAt(status, "minimization", "energy");
  if (lowest !== null) tiles.push(tile("energy", shown(lowest, 1), "kcal/mol"));
  const found = tiles.filter(Boolean);
  the("now-section").hidden = found.length === 0;
  the("now").replaceChildren(...found);
}

function showPhases(status) {
  const phases = listAt(status, "phases").filter((one) => isNumber(one.seconds) && one.seconds > 0);
  const whole = phases.reduce((sum, one) => sum + one.seconds, 0);
  the("phases-section").hidden = phases.length === 0;
  const body = the("phases").tBodies[0];
  phases.sort((a, b) => b.seconds - a.seconds).forEach((one, i) => {
    const row = body.rows[i] ?? body.appendChild(make("tr", {}, make("th", { scope: "row" }), make("td", { class: "number" }),
      make("td", { class: "bar" }, make("div", { "aria-hidden": "true" }))));
    say(row.cells[0], String(one.name));
    say(row.cells[1], `${shown((100 * one.seconds) / whole, 1)} %`);
    row.cells[2].firstChild.style.width = `${(100 * one.seconds) / phases[0].seconds}%`;
  });
  while (body.rows.length > phases.length) body.deleteRow(-1);
}

let drawnNetwork = "";
function showNetwork(status) {
  const hosts = listAt(status.network, "hosts"), text = JSON.stringify(status.network ?? null);
  the("network-section").hidden = hosts.length === 0;
  if (text === drawnNetwork || hosts.length === 0) return;
  drawnNetwork = text;
  say(the("network-source"), `As ${status.network.source || "its list of hosts"} says${status.network.is_measured ? ", measured." : "."}`);
  the("network").replaceChildren(...networkMap(status.network));
}

let drawn = "";
async function showSeries(status) {
  const now = `${status.stage?.name ?? ""} ${status.energies?.step} ${status.state}`;
  if (now === drawn) return;
  const data = await ask("series");
  drawn = now;
  the("plots-section").hidden = listAt(data, "time").length < 2;
  for (const plot of plots) plot.show(data);
}

async function ask(path) {
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-store" });
  if (!answer.ok) throw new Error(`${answer.status}: ${await answer.text()}`);
  return answer.json();
}

async function update() {
  let wait = EVERY;
  try {
    const found = await ask("status");
    showHead(found);
    driftLimit = found.drift_limit;
    if (found.status) {
      say(the("facts"), factsOf(found.status));
      showProgress(found.status, found.is_over);
      showNow(found.status);
      showPhases(found.status);
      showNetwork(found.status);
      await showSeries(found.status);
    }
    say(the("age"), found.status && !found.is_over ? `said ${duration(found.age_seconds)} ago` : "");
    if (found.is_over) wait = EVERY_AT_END;
  } catch (error) {
    the("state").className = "state silent";
    say(the("state"), "no news");
    say(the("words"), `tessera watch does not answer any more; this is what it said last (${error.message})`);
    the("words").className = "warn";
  }
  setTimeout(update, wait);
}

update();
