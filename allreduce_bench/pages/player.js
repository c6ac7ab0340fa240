// The player: one moment, one set of prices, one or two algorithms in step.
//
// What a reader sees can be read from attributes: <html data-ready data-position data-playing data-clock data-alpha-s
// data-beta-s-per-byte data-size_bytes>, and on each section.panel data-round (rounds that are done), data-rounds, data-blocks,
// data-complete, data-total-s, data-elapsed-s, data-messages, data-elements, data-count.
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const page = document.documentElement.dataset;
const AT_REST = 0.4;  // of their way: where messages are read, those that go both ways beside each other
const state = { position: 0, clock: data.panels.length > 1 ? "time" : "round", alpha: data.alphaS, beta: data.betaSPerByte, size_bytes: data.size_bytes, speed: 1 };
let playing = false, lastFrame = null;

const panels = data.panels.map((panel, number) => ({
  ...panel, number, cut: panel.shown, played: [],
  said: 0, section: byId(`panel-${number}`), picture: new Picture(panel, data, number), holdings: new Holdings(number, data),
  usage: new Usage(number, data, (round) => jump(stopOfRound(number, round))), axis: new Axis(number),
}));

function showCut(panel) {
  panel.played[panel.cut] = panel.played[panel.cut] || replay(panel.cuts[panel.cut], data.ranks);
  panel.now = panel.played[panel.cut];
  panel.picture.show(panel.now); panel.holdings.show(panel.now); panel.usage.show(panel.now);
}

// Price everything again; the moment stays.
function showPrices() {
  for (const panel of panels) panel.priced = price(panel.now, data.ranks, state.alpha, state.beta * state.size_bytes / panel.now.count);
  const longest = Math.max(...panels.map((panel) => panel.priced.total));
  for (const panel of panels) {
    const { priced, now, number, section, axis } = panel, row = byId(`totals-${number}`);
    const perElement = state.size_bytes / now.count, tell = (name, text) => { row.querySelector(name).textContent = text; };
    axis.show(priced, state.alpha, state.beta * perElement, longest);
    tell(".total", formatTime(priced.total)); tell(".messages", priced.messages);
    tell(".alpha", formatTime(state.alpha * priced.messages)); tell(".beta", formatTime(state.beta * perElement * priced.elements));
    tell(".bytes", `${formatBytes(perElement * priced.elements)} (${Number((priced.elements / now.count).toPrecision(4))} n)`);
    Object.assign(section.dataset, { totalS: priced.total, messages: priced.messages, elements: priced.elements, count: now.count, blocks: now.blocks, rounds: now.rounds.length });
  }
  Object.assign(page, { alphaS: state.alpha, betaSPerByte: state.beta, size_bytes: state.size_bytes });
  const set = (id, value, text) => { byId(id).value = value; byId(id).setAttribute("aria-valuetext", text); byId(`${id}-value`).textContent = text; };
  set("alpha", Math.round(10 * Math.log10(state.alpha / 1e-7)), formatTime(state.alpha));
  set("bandwidth", Math.round(10 * Math.log10(1 / state.beta / 1.25e6)), formatRate(1 / state.beta));
  set("size_bytes", Math.round(Math.log2(state.size_bytes)), formatBytes(state.size_bytes));
  for (const { number, cut, now, cuts } of panels) if (cuts.length > 1) set(`blocks-${number}`, cut, String(now.blocks));
  setStops();
}

// The moments at which something ends: rounds, or with the clock on time the ends of rounds in seconds.
let stops = [0];
function setStops() {
  const ends = state.clock === "time" ? panels.flatMap((panel) => panel.priced.ends) : panels.flatMap((panel) => panel.now.states.map((_, round) => round));
  stops = [...new Set(ends)].sort((a, b) => a - b);
  byId("moment").max = stops.length - 1;
}
function stopOfRound(number, round) { return state.clock === "time" ? panels[number].priced.ends[round] : round; }
const lastStop = () => stops[stops.length - 1];

// Where a panel is: rounds that are done, with the share of the next one, and the time that has passed.
function placeOf(panel, position) {
  const { ends } = panel.priced, rounds = panel.now.rounds.length;
  if (state.clock === "time") {
    let done = 0;
    while (done < rounds && ends[done + 1] <= position * (1 + 1e-12)) done++;
    const length = done < rounds ? ends[done + 1] - ends[done] : 0;
    return { done, share: length ? (position - ends[done]) / length : 0, elapsed: Math.min(position, ends[rounds]) };
  }
  const done = Math.min(Math.floor(position), rounds), share = done < rounds ? position - done : 0;
  return { done, share, elapsed: ends[done] + (share ? share * (ends[done + 1] - ends[done]) : 0) };
}

function draw() {
  const places = panels.map((panel) => placeOf(panel, state.position)), now = performance.now();
  panels.forEach((panel, i) => {
    const { done, share, elapsed } = places[i];
    if (share) panel.picture.draw(done, done + 1, STILL.matches ? AT_REST : share);
    else panel.picture.draw(done, done, AT_REST);  // the round that is done is shown
    const state_ = panel.now.states[done];
    panel.holdings.draw(state_); panel.usage.draw(done + share); panel.axis.draw(elapsed);
    const running = `round ${done} of ${panel.now.rounds.length}; ${formatTime(elapsed)} of ${formatTime(panel.priced.total)}`;
    if (!playing || now - panel.said > 100) {  // words that change in every frame are not read
      byId(`running-${panel.number}`).textContent = running;
      panel.said = now;
    }
    const complete = done === panel.now.rounds.length;
    Object.assign(panel.section.dataset, { round: done, complete, elapsedS: elapsed });
    tellMessages(panel, share ? done + 1 : done);
  });
  Object.assign(page, { position: state.position, playing, clock: state.clock });
  const moment = byId("moment"), at = stops.findLastIndex((stop) => stop <= state.position);
  if (Number(moment.value) !== at) moment.value = at;
  moment.setAttribute("aria-valuetext", panels.map((panel, i) => `${panel.name}: ${places[i].done} rounds done`).join("; "));
  if (!playing) byId("status").textContent = statusOf(places);
}

const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

function statusOf(places) {
  return panels.map((panel, i) => {
    const { done } = places[i], rounds = panel.now.rounds.length, prefix = panels.length > 1 ? `${panel.name}: ` : "";
    if (!done) return `${prefix}start; ${counted(rounds, "round")} to come`;
    const messages = panel.now.rounds[done - 1], busy = new Set(messages.flatMap((m) => [m.source, m.dest])).size;
    const ends = done === rounds ? "; all ranks hold all sums" : "";
    return `${prefix}round ${done} of ${rounds}: ${counted(messages.length, "message")}, ${counted(data.ranks - busy, "rank")} idle${ends}`;
  }).join(". ");
}

// The messages of the round in words, beside the picture.
function tellMessages(panel, round) {
  if (panel.told === round) return;
  panel.told = round;
  const messages = round ? panel.now.rounds[round - 1] : [], most = 16, list = byId(`now-${panel.number}`);
  const sentences = messages.slice(0, most).map((message) => {
    const content = fitting(labels(message, data.letters), 16);
    return `${data.names[message.source]} → ${data.names[message.dest]}: ${content} ${message.reduce ? "added" : "kept"}`;
  });
  if (messages.length > most) sentences.push(`and ${messages.length - most} more`);
  byId(`now-title-${panel.number}`).textContent = round ? `The messages of round ${round}` : "No message was sent yet";
  list.replaceChildren(...sentences.map((sentence) => Object.assign(document.createElement("li"), { textContent: sentence })));
  panel.tallest = Math.max(panel.tallest || 0, list.offsetHeight);
  list.style.minHeight = `${panel.tallest}px`;  // so that what follows stays where it is
}

function jump(position, keepsPlaying = false) {
  if (!keepsPlaying) setPlaying(false);
  state.position = Math.max(0, Math.min(position, lastStop()));
  draw();
  if (!playing) writeFragment();
}
const stepForward = () => jump(stops.find((stop) => stop > state.position + 1e-15) ?? lastStop());
const stepBack = () => jump(stops.findLast((stop) => stop < state.position - 1e-15) ?? 0);

function setPlaying(on) {
  if (playing === on) return;
  if (on && state.position >= lastStop()) state.position = 0;
  playing = on; lastFrame = null;
  byId("play").textContent = on ? "❚❚ Pause" : "▶ Play";
  byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
  if (on) requestAnimationFrame(frame);
  draw();
  if (!on) writeFragment();
}

// All rounds take half a minute at most; a single one about a second.
function frame(now) {
  if (!playing) return;
  const perRound = Math.min(1.3, 40 / Math.max(stops.length - 1, 1)), whole = lastStop() * (state.clock === "time" ? perRound * (stops.length - 1) / (lastStop() || 1) : perRound);
  const elapsed = lastFrame === null ? 0 : Math.min((now - lastFrame) / 1000, 0.25);
  lastFrame = now;
  const next = state.position + elapsed * state.speed * lastStop() / (whole || 1);
  if (next >= lastStop()) return jump(lastStop());
  jump(next, true);
  requestAnimationFrame(frame);
}

// The address holds the moment and the prices, so that both can be cited.
function writeFragment() {
  const values = { [state.clock]: state.position, alpha: state.alpha, beta: state.beta, bytes: state.size_bytes, blocks: panels.map((panel) => panel.now.blocks).join() };
  const fragment = `#${Object.entries(values).map((pair) => pair.join("=")).join("&")}`;
  if (fragment !== location.hash) history.replaceState(null, "", fragment);
}

function readFragment() {
  const said = new URLSearchParams(location.hash.slice(1));
  const number = (name, least, most) => (said.has(name) && Number(said.get(name)) >= least && Number(said.get(name)) <= most ? Number(said.get(name)) : null);
  state.alpha = number("alpha", 1e-9, 1) ?? state.alpha;
  state.beta = number("beta", 1e-15, 1) ?? state.beta;
  state.size_bytes = number("bytes", 1, 2 ** 50) ?? state.size_bytes;
  const blocks = (said.get("blocks") || "").split(",").map(Number);
  panels.forEach((panel, i) => {
    const cut = panel.cuts.findIndex((each) => each.blocks === blocks[i]);
    if (cut >= 0 && (cut !== panel.cut || !panel.now)) { panel.cut = cut; showCut(panel); }
    if (!panel.now) showCut(panel);
    panel.told = null;
  });
  state.clock = ["time", "round"].find((name) => said.has(name)) || (panels.length > 1 ? "time" : "round");
  byId("clock").value = state.clock;
  showPrices();
  jump(number(state.clock, 0, Infinity) ?? 0);
}

function listen() {
  const on = (id, event, act) => byId(id).addEventListener(event, () => act(byId(id).value));
  on("first", "click", () => jump(0)); on("last", "click", () => jump(lastStop()));
  on("back", "click", stepBack); on("forward", "click", stepForward);
  on("play", "click", () => setPlaying(!playing));
  on("moment", "input", (value) => jump(stops[value]));
  on("speed", "change", (value) => { state.speed = Number(value); });
  on("clock", "change", (value) => {
    const { done, share } = placeOf(panels[0], state.position);
    state.clock = value; setStops(); jump(stopOfRound(0, share ? done + 1 : done));
  });
  const again = () => { showPrices(); panels.forEach((panel) => { panel.told = null; }); jump(state.position, playing); };
  const digits = (value) => Number(value.toPrecision(2));
  on("alpha", "input", (value) => { state.alpha = digits(1e-7 * 10 ** (value / 10)); again(); });
  on("bandwidth", "input", (value) => { state.beta = 1 / (1.25e6 * digits(10 ** (value / 10))); again(); });
  on("size_bytes", "input", (value) => { state.size_bytes = 2 ** value; again(); });
  for (const panel of panels) if (panel.cuts.length > 1) {
    on(`blocks-${panel.number}`, "input", (value) => {
      const share = state.position / (lastStop() || 1);
      panel.cut = Number(value); showCut(panel); again();
      jump(stops[Math.round(share * (stops.length - 1))]);
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.target.closest("input, select, button, summary, a") || event.ctrlKey || event.altKey || event.metaKey) return;
    const act = { " ": () => setPlaying(!playing), ArrowRight: stepForward, ArrowLeft: stepBack, Home: () => jump(0), End: () => jump(lastStop()) }[event.key];
    if (act) { event.preventDefault(); act(); }
  });
  addEventListener("hashchange", readFragment);
  NARROW.addEventListener("change", () => { panels.forEach(showCut); again(); });
}

for (const element of document.querySelectorAll("#player, #prices, .drawn")) element.hidden = false;
byId("static-prices").hidden = true;
listen();
readFragment();
page.ready = true;
