"use strict";

// The critical path, as schedule.price walks it: a message takes alpha + beta * elements once both ends are in its step.
// Returns the total, what lies on the path, the path's part in each round, and when the last message of each round ends.
function price(rounds, ranks, alpha, beta) {
  const begin = Array.from({ length: ranks }, () => [START]);
  const reached = (rank, step) => begin[rank][step] || START;
  const ends = [0];
  rounds.forEach((messages, round) => {
    let last = ends[round];
    for (const [source, sourceStep, dest, destStep, elements] of messages) {
      const before = longer(reached(source, sourceStep), reached(dest, destStep));
      const time = before.time + alpha + beta * elements;
      const end = { time, messages: before.messages + 1, elements: before.elements + elements, round, before };
      last = Math.max(last, time);
      extend(begin[source], sourceStep + 1, end);
      extend(begin[dest], destStep + 1, end);
    }
    ends.push(last);
  });
  const path = begin.map((steps) => steps[steps.length - 1]).reduce(longer, START);
  return { total: path.time, messages: path.messages, elements: path.elements, parts: partsOf(path, rounds), ends };
}

const START = { time: 0, messages: 0, elements: 0, round: -1, before: null };

// Of two paths the one that ends later, then that of more messages, then of more elements.
function longer(a, b) {
  if (a.time !== b.time) return a.time > b.time ? a : b;
  if (a.messages !== b.messages) return a.messages > b.messages ? a : b;
  return b.elements > a.elements ? b : a;
}

// A step ends with the later of its two messages.
function extend(steps, index, end) { steps[index] = steps[index] ? longer(steps[index], end) : end; }

// Of each round the elements of the path's message in it, or null where the path waits for no message of that round.
function partsOf(path, rounds) {
  const parts = rounds.map(() => null);
  for (let at = path; at.before; at = at.before) parts[at.round] = at.elements - at.before.elements;
  return parts;
}

function withUnit(value, units, digits = 3) {
  const [factor, unit] = units.find(([least]) => value >= least * 0.9995) || units[units.length - 1];
  const number = value / factor;
  return `${number >= 1000 ? Math.round(number) : Number(number.toPrecision(digits))} ${unit}`;
}
const formatTime = (s) => withUnit(s, [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]]);
const formatBytes = (n) => withUnit(n, [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]], 4);
const formatRate = (bytesPerS) => withUnit(bytesPerS * 8, [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"]]);
