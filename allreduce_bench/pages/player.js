// The player: one moment and one set of prices, for one or two algorithms in step.
//
// What a reader sees can be read from attributes: <html data-ready data-position data-playing data-alpha-s
// data-beta-s-per-byte data-size-bytes>, and on each section.panel data-round (rounds that are done), data-rounds,
// data-complete, data-total-s, data-elapsed-s, data-messages, data-elements.
const SVG = "http://www.w3.org/2000/svg";
const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const page = document.documentElement.dataset;
const state = { position: 0, alpha: data.alphaS, beta: data.betaSPerByte, sizeBytes: data.sizeBytes };
const panels = data.panels.map((panel, number) => {
  const section = byId(`panel-${number}`), axis = byId(`axis-${number}`);
  const moments = [...section.querySelectorAll(".moment")].map((root) => ({ root, pills: [...root.querySelectorAll(".pill")].map(pillOf) }));
  return { ...panel, section, axis, row: byId(`totals-${number}`), moments };
});
let stops = [0], playing = false, lastFrame = null;  // stops: the times, of all panels, at which a round ends

function pillOf(root) {
  const [from, to] = [root.dataset.from, root.dataset.to].map((words) => words.split(" ").map(Number));
  return { root, from, to };
}

// Price everything again; the moment stays.
function showPrices() {
  for (const panel of panels) panel.priced = price(panel.rounds, data.ranks, state.alpha, state.beta * state.sizeBytes / panel.count);
  stops = [...new Set(panels.flatMap((panel) => panel.priced.ends))].sort((a, b) => a - b);
  byId("moment").max = stops.length - 1;
  for (const panel of panels) {
    const { priced, section, count } = panel, bytes = state.sizeBytes / count * priced.elements;
    const tell = (name, text) => { panel.row.querySelector(name).textContent = text; };
    drawAxis(panel, stops[stops.length - 1]);
    tell(".total", formatTime(priced.total));
    tell(".messages", `${priced.messages}: ${formatTime(state.alpha * priced.messages)}`);
    tell(".bytes", `${formatBytes(bytes)}: ${formatTime(state.beta * bytes)}`);
    Object.assign(section.dataset, { totalS: priced.total, messages: priced.messages, elements: priced.elements, rounds: panel.rounds.length });
  }
  Object.assign(page, { alphaS: state.alpha, betaSPerByte: state.beta, sizeBytes: state.sizeBytes });
  const set = (id, value, text) => { byId(id).value = value; byId(id).setAttribute("aria-valuetext", text); byId(`${id}-value`).textContent = text; };
  set("alpha", Math.round(10 * Math.log10(state.alpha / 1e-7)), formatTime(state.alpha));
  set("bandwidth", Math.round(10 * Math.log10(1 / state.beta / 1.25e6)), formatRate(1 / state.beta));
  set("size_bytes", Math.round(Math.log2(state.sizeBytes)), formatBytes(state.sizeBytes));
}

function svg(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent.append(element);
  return element;
}

// The time axis: each round as wide as its part of the longest chain, alpha and beta apart.
function drawAxis({ axis, priced, count }, longest) {
  const width = axis.clientWidth || 500, scale = width / (longest || 1), beta = state.beta * state.sizeBytes / count;
  const write = (x, y, words, anchor = "start") => { svg("text", { x, y, "text-anchor": anchor }, axis).textContent = words; };
  axis.setAttribute("viewBox", `0 0 ${width} 76`);
  axis.replaceChildren();
  write(0, 12, "round");
  let x = 0, last = -99;
  priced.parts.forEach((elements, round) => {
    if (elements === null) return;
    const widths = [state.alpha * scale, beta * elements * scale], whole = widths[0] + widths[1];
    svg("rect", { class: "alpha-part", x, y: 32, width: widths[0], height: 22 }, axis);
    svg("rect", { class: "beta-part", x: x + widths[0], y: 32, width: widths[1], height: 22 }, axis);
    if (x + whole / 2 - last > 20) { last = x + whole / 2; write(last, 28, round + 1, "middle"); }
    x += whole;
  });
  write(0, 72, "0");
  write(Math.max(x, 110), 72, `time: ${formatTime(priced.total)}`, "end");
}

// The time at a position: a stop's number, and between stops a share of the way.
function timeAt(position) {
  const stop = Math.min(Math.floor(position), stops.length - 1), after = stops[stop + 1] ?? stops[stop];
  return stops[stop] + (position - stop) * (after - stops[stop]);
}

// Where a panel is at a time: rounds that are done, and the share of the next one.
function placeOf({ priced: { ends } }, time) {
  const done = ends.findLastIndex((end) => end <= time * (1 + 1e-12)), length = ends[done + 1] - ends[done];
  return { done, share: length ? Math.max(0, time - ends[done]) / length : 0 };
}

function draw() {
  const time = timeAt(state.position), sentences = [];
  for (const panel of panels) {
    const { done, share } = placeOf(panel, time), { priced, rounds } = panel, moment = panel.moments[done];
    if (panel.now !== moment) {
      panel.moments.forEach(({ root }) => root.classList.toggle("now", root === moment.root));
      panel.now = moment;
    }
    for (const { root, from, to } of moment.pills) {
      const eased = share * share * (3 - 2 * share), at = from.map((start, i) => start + (to[i] - start) * eased);
      if (share > 1e-9 && !STILL.matches) root.setAttribute("transform", `translate(${at.map((value) => value.toFixed(1)).join(",")})`);
      else root.removeAttribute("transform");  // at rest its label is read
    }
    panel.axis.nextElementSibling.style.transform = `translateX(${100 * Math.min(time, priced.total) / (stops[stops.length - 1] || 1)}%)`;
    const complete = done === rounds.length, name = panels.length > 1 ? `${panel.name}: ` : "";
    const until = complete ? "" : ` to ${formatTime(priced.ends[done + 1])}`;
    sentences.push(`${name}${complete ? "end" : `round ${done + 1} of ${rounds.length}`}, ${done ? formatTime(priced.ends[done]) : 0}${until} of ${formatTime(priced.total)}`);
    Object.assign(panel.section.dataset, { round: done, complete, elapsedS: Math.min(time, priced.total) });
  }
  Object.assign(page, { position: state.position, playing });
  byId("moment").value = Math.floor(state.position);
  byId("moment").setAttribute("aria-valuetext", sentences.join("; "));
  if (byId("status").textContent !== sentences.join("; ")) byId("status").textContent = sentences.join("; ");
}

function jump(position, keepsPlaying = false) {
  if (!keepsPlaying) setPlaying(false);
  state.position = Math.max(0, Math.min(position, stops.length - 1));
  draw();
  if (!playing) writeFragment();
}

function setPlaying(on) {
  if (playing === on) return;
  if (on && state.position >= stops.length - 1) state.position = 0;
  playing = on; lastFrame = null;
  byId("play").textContent = on ? "❚❚ Pause" : "▶ Play";
  byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
  if (on) requestAnimationFrame(frame);
  draw();
  if (!on) writeFragment();
}

// A round takes about a second, all rounds 40 seconds at most.
function frame(now) {
  if (!playing) return;
  const whole = stops[stops.length - 1], seconds = Math.min(1.2 * (stops.length - 1), 40);
  const passed = lastFrame === null ? 0 : Math.min((now - lastFrame) / 1000, 0.25);
  lastFrame = now;
  const time = timeAt(state.position) + passed * whole / (seconds || 1);
  if (!(time < whole)) return jump(stops.length - 1);
  const stop = stops.findLastIndex((each) => each <= time);
  jump(stop + (time - stops[stop]) / (stops[stop + 1] - stops[stop]), true);
  requestAnimationFrame(frame);
}

// The address holds the moment and the prices, so that both can be cited.
function writeFragment() {
  const fragment = `#round=${state.position}&alpha=${state.alpha}&beta=${state.beta}&bytes=${state.sizeBytes}`;
  if (fragment !== location.hash) history.replaceState(null, "", fragment);
}

function readFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  const number = (name, least, most) => (said.has(name) && Number(said.get(name)) >= least && Number(said.get(name)) <= most ? Number(said.get(name)) : null);
  state.alpha = number("alpha", 1e-9, 1) ?? state.alpha;
  state.beta = number("beta", 1e-15, 1) ?? state.beta;
  state.sizeBytes = number("bytes", 1, 2 ** 50) ?? state.sizeBytes;
  showPrices();
  jump(number("round", 0, Infinity) ?? 0);
}

function listen() {
  const on = (id, event, act) => byId(id).addEventListener(event, () => act(byId(id).value));
  const back = () => jump(Math.ceil(state.position - 1)), forward = () => jump(Math.floor(state.position + 1));
  on("first", "click", () => jump(0)); on("last", "click", () => jump(stops.length - 1));
  on("back", "click", back); on("forward", "click", forward);
  on("play", "click", () => setPlaying(!playing));
  on("moment", "input", (value) => jump(Number(value)));
  const again = () => { showPrices(); jump(state.position, playing); }, digits = (value) => Number(value.toPrecision(2));
  on("alpha", "input", (value) => { state.alpha = digits(1e-7 * 10 ** (value / 10)); again(); });
  on("bandwidth", "input", (value) => { state.beta = 1 / (1.25e6 * digits(10 ** (value / 10))); again(); });
  on("size_bytes", "input", (value) => { state.sizeBytes = 2 ** value; again(); });
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, button, summary, a") || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = { " ": () => setPlaying(!playing), ArrowRight: forward, ArrowLeft: back, Home: () => jump(0), End: () => jump(stops.length - 1) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  addEventListener("hashchange", readFragment);
  addEventListener("resize", () => panels.forEach((panel) => drawAxis(panel, stops[stops.length - 1])));
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((element) => { element.open = true; }));
}

for (const element of document.querySelectorAll("#player, #prices, .drawn")) element.hidden = false;
page.ready = true;
listen();
readFragment();
