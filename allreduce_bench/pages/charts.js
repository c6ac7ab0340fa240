// A row a rank, a column a block: how much of its sum each block holds, in words where there is room.
class Holdings {
  constructor(number, data) {
    this.root = document.getElementById(`holdings-${number}`); this.data = data;
  }

  show(played) {
    const { ranks, short } = this.data, left = NARROW.matches ? 74 : 60;
    const wide = (640 - left) / Math.max(played.blocks, 1);
    const inWords = wide > (ranks > 2 ? 9 : 6) * letterWidth(), tall = inWords ? (NARROW.matches ? 34 : 26) : NARROW.matches ? 22 : 16;
    this.played = played; this.state = null; this.wide = wide; this.cells = [];
    this.root.setAttribute("viewBox", `0 0 640 ${ranks * tall}`);
    this.root.replaceChildren();
    for (let rank = 0; rank < ranks; rank++) {
      const y = rank * tall, name = svg("text", { x: 0, y: y + (inWords ? tall - 9 : tall - 4) }, this.root);
      name.textContent = short[rank];
      for (let block = 0; block < played.blocks; block++) {
        const x = left + block * wide, width = wide - Math.min(2, wide / 6);
        svg("rect", { class: "cell", x, y, width, height: tall - 2 }, this.root);
        const bar = svg("rect", { x, y: inWords ? y + tall - 7 : y, height: inWords ? 5 : tall - 2, fill: played.colours[block] }, this.root);
        const text = inWords ? svg("text", { x: x + 3, y: y + tall - 11 }, this.root) : null;
        this.cells.push({ bar, text, width, block });
      }
    }
  }

  draw(state) {
    if (state === this.state) return;
    this.cells.forEach(({ bar, text, width, block }, index) => {
      if (this.state && this.state[index] === state[index]) return;
      bar.setAttribute("width", width * ranksIn(state[index]) / this.data.ranks);
      const room = Math.floor((width - 4) / (letterWidth() * 1.05));
      const forms = [...words(state[index], block, this.data.letters), `${ranksIn(state[index])}/${this.data.ranks}`];
      if (text) text.textContent = fitting(forms, room);
    });
    this.state = state;
  }
}

// A row a rank, a column a round: the upper half of a cell is filled where the rank sends, the lower where it receives.
class Usage {
  constructor(number, data, jump) {
    this.root = document.getElementById(`usage-${number}`); this.data = data;
    this.cursor = this.root.nextElementSibling;
    this.busy = document.getElementById(`busy-${number}`);
    this.root.addEventListener("click", (event) => {
      const box = this.root.getBoundingClientRect(), x = (event.clientX - box.left) / box.width * 640;
      if (x > this.left) jump(Math.ceil((x - this.left) / this.wide));
    });
  }

  show(played) {
    const { ranks, short } = this.data, rounds = played.rounds.length;
    this.left = NARROW.matches ? 74 : 60;
    this.wide = (640 - this.left) / Math.max(rounds, 1);
    const tall = NARROW.matches || ranks <= 8 ? 22 : 16, gap = Math.min(2, this.wide / 6);
    this.root.setAttribute("viewBox", `0 0 640 ${ranks * tall}`);
    this.root.replaceChildren();
    const cells = { cell: "", sends: "", receives: "" };
    const add = (kind, rank, round, from, height) => {
      cells[kind] += `M${(this.left + round * this.wide).toFixed(1)} ${rank * tall + from}h${(this.wide - gap).toFixed(1)}v${height}h-${(this.wide - gap).toFixed(1)}z`;
    };
    for (let rank = 0; rank < ranks; rank++) {
      svg("text", { x: 0, y: rank * tall + tall / 2 + 4 }, this.root).textContent = short[rank];
      for (let round = 0; round < rounds; round++) add("cell", rank, round, 0, tall - 3);
    }
    played.rounds.forEach((messages, round) => messages.forEach(({ source, dest }) => {
      add("sends", source, round, 0, tall / 2 - 2);
      add("receives", dest, round, tall / 2 - 1, tall / 2 - 2);
    }));
    for (const [kind, d] of Object.entries(cells)) svg("path", { class: kind, d }, this.root);
    this.tell(played);
  }

  // In words: how busy the ranks are, who is idle most.
  tell(played) {
    const { ranks, names } = this.data, rounds = played.rounds.length;
    const busy = names.map((_, rank) => played.rounds.filter((messages) => messages.some((m) => m.source === rank || m.dest === rank)).length);
    const halves = played.rounds.reduce((sum, messages) => sum + 2 * messages.length, 0);
    const links = new Set(played.rounds.flat().map((m) => m.source * ranks + m.dest)).size, least = Math.min(...busy);
    const idle = rounds - least, who = busy.flatMap((n, rank) => (n === least ? [rank] : []));
    const named = who.length > 3 ? `${who.length} ranks are` : `${who.map((rank) => names[rank]).join(", ")} ${who.length > 1 ? "are" : "is"}`;
    const share = rounds ? Math.round(100 * halves / (2 * ranks * rounds)) : 0;
    const legend = (kind, text) => {
      const mark = document.createElement("span");
      mark.className = `legend ${kind}-legend`;
      return [mark, ` ${text}   `];
    };
    this.busy.replaceChildren(...legend("sends", "sends"), ...legend("receives", "receives"), document.createElement("br"),
      `The ranks use ${share} % of what they could send and receive, over ${links} directed links. ` +
      (idle ? `${named} idle in ${idle} of ${rounds} rounds.` : "No rank is idle in any round."));
  }

  draw(position) { this.cursor.style.transform = `translateX(${(this.left + position * this.wide) / 6.4}%)`; }
}

// The time axis: each round as wide as its part of the longest chain, alpha and beta apart.
class Axis {
  constructor(number) {
    this.root = document.getElementById(`axis-${number}`);
    this.cursor = this.root.nextElementSibling;
  }

  show(priced, alpha, beta, longest) {
    const width = this.root.clientWidth || 640, scale = width / (longest || 1);
    this.root.setAttribute("viewBox", `0 0 ${width} 62`);
    this.root.replaceChildren();
    let x = 0, lastNumber = -99;
    priced.parts.forEach((elements, round) => {
      if (elements === null) return;
      const widths = [alpha * scale, beta * elements * scale], whole = widths[0] + widths[1];
      svg("rect", { class: "alpha-part", x, y: 18, width: widths[0], height: 22 }, this.root);
      svg("rect", { class: "beta-part", x: x + widths[0], y: 18, width: widths[1], height: 22 }, this.root);
      svg("path", { class: "grid", d: `M${x} 14V44` }, this.root);
      if (x + whole / 2 - lastNumber > 3 * letterWidth() && whole > letterWidth()) {
        lastNumber = x + whole / 2;
        svg("text", { x: lastNumber, y: 13, "text-anchor": "middle" }, this.root).textContent = round + 1;
      }
      x += whole;
    });
    svg("text", { x: 0, y: 60 }, this.root).textContent = "0";
    const end = svg("text", { x: Math.max(x, 60), y: 60, "text-anchor": "end" }, this.root);
    end.textContent = formatTime(priced.total);
    this.longest = longest;
  }

  draw(elapsed) { this.cursor.style.transform = `translateX(${100 * elapsed / (this.longest || 1)}%)`; }
}
