"use strict";

// Plays one cut of a schedule: states[k][rank * blocks + block] holds as bits the ranks whose contributions are summed
// up there after round k, rounds[k] the messages of round k + 1.
function replay(cut, ranks) {
  const start = new Uint32Array(ranks * cut.blocks);
  for (let rank = 0; rank < ranks; rank++) start.fill(bit(rank), rank * cut.blocks, (rank + 1) * cut.blocks);
  const states = [start];
  const rounds = cut.rounds.map((rows) => {
    const before = states[states.length - 1];
    const messages = rows.map((row) => messageOf(row, row[4] & 2 ? start : before, cut));
    states.push(stateAfter(before, messages, cut.blocks));
    return messages;
  });
  return { states, rounds, blocks: cut.blocks, count: cut.count, colours: cut.colours, treeOfBlock: cut.treeOfBlock };
}

function bit(rank) { return (1 << rank) >>> 0; }

function messageOf([source, sourceStep, dest, destStep, flags, elements, ...runs], held, cut) {
  const blocks = [];
  for (let i = 0; i < runs.length; i += 2) for (let block = runs[i]; block <= runs[i + 1]; block++) blocks.push(block);
  const contents = blocks.map((block) => held[source * cut.blocks + block]);
  return { source, sourceStep, dest, destStep, reduce: Boolean(flags & 1), elements, blocks, contents };
}

function stateAfter(before, messages, blocks) {
  const after = before.slice();
  for (const { dest, reduce, blocks: moved, contents } of messages) {
    moved.forEach((block, i) => {
      const place = dest * blocks + block;
      after[place] = reduce ? before[place] | contents[i] : contents[i];
    });
  }
  return after;
}

function ranksIn(content) {
  let count = 0;
  for (let rest = content; rest; rest = (rest & (rest - 1)) >>> 0) count++;
  return count;
}

// The ranks of a content in the order in which they are written: a run round the ring begins where it begins.
function inOrder(content, ranks) {
  const all = [...Array(ranks).keys()].filter((rank) => content & bit(rank));
  const begins = all.filter((rank) => !(content & bit((rank + ranks - 1) % ranks)));
  const first = begins.length === 1 ? begins[0] : 0;
  return all.sort((a, b) => (a - first + ranks) % ranks - (b - first + ranks) % ranks);
}

// What a block holds, the longest form first: d4+a4+b4, then d4+…+b4; S4 for the sum over all ranks.
function words(content, block, letters) {
  const ranks = letters.length, own = inOrder(content, ranks), name = (rank) => `${letters[rank]}${block + 1}`;
  if (own.length === ranks && ranks > 1) return [`S${block + 1}`];
  const short = own.length > 2 ? [`${name(own[0])}+…+${name(own[own.length - 1])}`] : [];
  return [own.map(name).join("+"), ...short];
}

// What a message carries, the longest form first, down to the numbers of its blocks.
function labels(message, letters) {
  const { blocks, contents } = message, last = blocks.length - 1;
  const each = blocks.map((block, i) => words(contents[i], block, letters));
  const short = each.map((forms) => forms[forms.length - 1]);
  if (!last) return [...each[0], String(blocks[0] + 1)];
  const ends = `${blocks[0] + 1}–${blocks[last] + 1}`;
  return [each.map((forms) => forms[0]).join(" "), short.join(" "), `${short[0]} … ${short[last]}`, ends];
}

function fitting(forms, letters) { return forms.find((form) => form.length <= letters) || ""; }
