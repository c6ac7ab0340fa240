const SVG = "http://www.w3.org/2000/svg";
const NARROW = window.matchMedia("(max-width: 600px)");
const STILL = window.matchMedia("(prefers-reduced-motion: reduce)");

function svg(name, attributes = {}, parent = null) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

const letterWidth = () => (NARROW.matches ? 12.8 : 9);

// The ranks of one algorithm, what they hold, and the messages between them.
class Picture {
  constructor(panel, data, number) {
    this.panel = panel; this.letters = data.letters; this.ranks = data.ranks;
    this.root = document.getElementById(`net-${number}`);
    this.groups = [...this.root.querySelectorAll(".rank")];
    this.pills = this.root.parentElement.querySelector(".pills");
    this.arrows = this.root.querySelector(".arrows");
    this.round = null;
  }

  // Take another cut: each box gets the bars of its blocks.
  show(played) {
    const [width, height] = this.panel.box;
    this.played = played; this.round = null; this.state = null;
    this.bars = [];
    this.groups.forEach((group, place) => {
      const tree = Math.floor(place / this.ranks), rank = place % this.ranks;
      const own = played.colours.map((_, block) => block).filter((block) => played.treeOfBlock[block] === tree);
      const wide = (width - 8) / (own.length || 1), bars = group.querySelector(".bars");
      bars.replaceChildren();
      svg("rect", { class: "cell", x: 4 - width / 2, y: height * 0.08, width: width - 8, height: height * 0.36 }, bars);
      own.forEach((block, i) => {
        const x = 4 - width / 2 + i * wide;
        const bar = svg("rect", { x, width: Math.max(wide - 0.6, wide * 0.8), fill: played.colours[block] }, bars);
        this.bars.push({ bar, index: rank * played.blocks + block, full: height * 0.36, bottom: height * 0.44 });
      });
    });
  }

  // What is held after round `done`, and the messages of `round` on their way: `share` of it, 0 to 1.
  draw(done, round, share) {
    this.fill(this.played.states[done]);
    if (round !== this.round) this.load(round);
    const eased = share * share * (3 - 2 * share);
    for (const { pill, from, to } of this.moving) {
      const x = from[0] + (to[0] - from[0]) * eased, y = from[1] + (to[1] - from[1]) * eased;
      pill.setAttribute("transform", `translate(${x.toFixed(1)},${y.toFixed(1)})`);
    }
  }

  fill(state) {
    if (state === this.state) return;
    for (const { bar, index, full, bottom } of this.bars) {
      if (this.state && this.state[index] === state[index]) continue;
      const height = full * ranksIn(state[index]) / this.ranks;
      bar.setAttribute("height", height); bar.setAttribute("y", bottom - height);
    }
    this.state = state;
    const whole = this.ranks > 1 ? 2 ** this.ranks - 1 : 1, blocks = this.played.blocks;
    this.groups.forEach((group, place) => {
      const rank = place % this.ranks;
      group.classList.toggle("whole", state.subarray(rank * blocks, (rank + 1) * blocks).every((held) => held === whole));
    });
  }

  // Put the messages of a round (from 1; 0: none) into the picture.
  load(round) {
    this.round = round;
    this.arrows.replaceChildren(); this.pills.replaceChildren();
    const messages = round ? this.played.rounds[round - 1] : [];
    this.moving = messages.flatMap((message) => this.bundles(message).map((bundle) => this.pill(bundle)));
  }

  // A message whose blocks belong to two trees is drawn in both.
  bundles(message) {
    const trees = new Set(message.blocks.map((block) => this.played.treeOfBlock[block]));
    return [...trees].map((tree) => ({ ...message, tree }));
  }

  pill(message) {
    const { places, box } = this.panel, colour = this.played.colours[message.blocks[0]];
    const from = places[message.tree][message.source], to = places[message.tree][message.dest];
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]], length = Math.hypot(dx, dy) || 1;
    const aside = Math.min(7, box[0] / 6), offset = [-dy / length * aside, dx / length * aside];
    const [start, end] = [from, to].map((point) => [point[0] + offset[0], point[1] + offset[1]]);
    this.arrow(start, end, [dx / length, dy / length], colour);
    const pill = svg("g", {}, this.pills);
    const room = Math.max(box[0] * 1.2, Math.min(length - box[0] * 0.8, 200));
    const text = fitting(labels(message, this.letters), Math.floor(room / letterWidth()) - 1);
    const height = NARROW.matches ? 26 : 19, width = Math.max(height, (text.length + (text.includes("…") ? 1.9 : 1)) * letterWidth());
    svg("rect", { x: -width / 2, y: -height / 2, width, height, rx: height / 2, fill: colour }, pill);
    svg("text", { y: NARROW.matches ? 7 : 4.5 }, pill).textContent = text;
    return { pill, from: start, to: end };
  }

  // A line between the boxes, with a head where it meets the receiver's.
  arrow(start, end, [ux, uy], colour) {
    const [width, height] = this.panel.box;
    const edge = Math.min(width / 2 / Math.max(Math.abs(ux), 1e-9), height / 2 / Math.max(Math.abs(uy), 1e-9)) + 2;
    const tip = [end[0] - ux * edge, end[1] - uy * edge], from = [start[0] + ux * edge, start[1] + uy * edge];
    const wing = (side) => `${tip[0] - 9 * ux + side * 5 * uy} ${tip[1] - 9 * uy - side * 5 * ux}`;
    const line = `M${from.join(" ")}L${tip.join(" ")}M${wing(1)}L${tip.join(" ")}L${wing(-1)}`;
    svg("path", { d: line, stroke: colour }, this.arrows);
  }
}
