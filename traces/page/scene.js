// Draws a trace, one scene at a time: that of a page (page.js), or the one being explored
// (explore.js). Every string of it is set as text; none is ever parsed as markup.
"use strict";

const byId = (id) => document.getElementById(id);

// -- the trace -----------------------------------------------------------------------------

let story = null;
let scenes = [];
// Names as the lanes spell them: the `hw` in a rule's name is the HW of the lanes.
let spelling = new Map();
let longestText = 0;
let longestLog = 0;

// From now on, scenes are drawn as scenes of this trace.
function tell(told) {
  story = told;
  scenes = told.scenes;
  const lanes = scenes.flatMap((scene) => scene.lanes);
  spelling = new Map(
    lanes.flatMap((lane) =>
      [...lane.facts.map((fact) => fact.name), ...lane.marks.map((mark) => mark.label)].map(
        (name) => [name.toLowerCase(), name]
      )
    )
  );
  longestText = Math.max(0, ...lanes.flatMap((lane) => lane.cells.map((cell) => cell.text.length)));
  longestLog = Math.max(0, ...lanes.map((lane) => lane.cells.length));
}

// -- elements ------------------------------------------------------------------------------

function make(tag, attributes, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== ""));
  return element;
}

function drawn(tag, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

const unseen = (text) => make("span.unseen", {}, text);

// -- words ---------------------------------------------------------------------------------

function readable(scene) {
  if (isInitial(scene)) return "Initial state";
  const text = inWords(scene.rule);
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function inWords(rule) {
  const words = rule.split("_").filter(Boolean);
  return words.map((word) => spelling.get(word) ?? word).join(" ");
}

const isInitial = (scene) => scene.number === 1 && ["initial", "init"].includes(scene.rule);

// The actor: `follower 2`, if the rule is the follower's and the follower is a choice.
function actor(scene) {
  return Object.hasOwn(scene.choices, scene.by)
    ? `${scene.by} ${scene.choices[scene.by]}`
    : scene.by;
}

const otherChoices = (scene) =>
  Object.entries(scene.choices).filter(([name]) => name !== scene.by);

const isLast = (scene) => scene.number === scenes.length;
const isFailing = (scene) => story.failing?.includes(scene.number) ?? (story.violated && isLast(scene));
const statusOf = (cell) =>
  [cell.failing && "fails", cell.change || (cell.failing && !cell.text && "missing")]
    .filter(Boolean)
    .join(", ");

// A scene for a screen reader: the step, and what it changed.
function said(scene) {
  const parts = [`Step ${scene.number} of ${scenes.length}: ${readable(scene)}`];
  if (scene.by) parts.push(`by ${actor(scene)}`);
  for (const [name, value] of otherChoices(scene)) parts.push(`${name} ${value}`);
  for (const lane of scene.lanes) {
    const news = [];
    if (lane.band_before !== null && lane.band) news.push(lane.band.name);
    if (lane.role_before !== null) news.push(lane.role || "no role");
    for (const fact of lane.facts) {
      if (fact.before === null) continue;
      for (const leaf of leaves(fact)) {
        const now = leaf.text || "removed";
        news.push(`${fact.name}${leaf.at} ${now}, was ${leaf.before || "nothing"}`);
      }
      if (leaves(fact).length) continue;
      news.push(`${fact.name} ${fact.value}, was ${fact.before || "nothing"}`);
    }
    for (const cell of lane.cells) {
      if (statusOf(cell)) news.push(`${cell.text || cell.title} ${statusOf(cell)}`);
    }
    if (lane.failing) news.push("fails");
    if (news.length) parts.push(`${lane.name}: ${news.join("; ")}`);
  }
  if (isFailing(scene)) parts.push(story.verdict);
  if (isLast(scene) && story.loop !== null) parts.push(goesRound());
  return parts.join(". ") + ".";
}

const loopStep = () =>
  [inWords(story.loop_rule), ...Object.entries(story.loop_choices).flat()].join(" ");
const loopRule = () => (story.loop_rule ? `${loopStep()}, ` : "");
const stays = () => story.loop === scenes.length;
const goesRound = () =>
  stays()
    ? "From here the behaviour stays in this state forever"
    : `From here the behaviour repeats: ${loopRule()}back to step ${story.loop}`;

// -- a scene -------------------------------------------------------------------------------

function drawTelling(scene) {
  const chips = otherChoices(scene).map(([name, value]) =>
    make("span.choice", {}, make("span", {}, name), " ", make("b", {}, value))
  );
  return make(
    "div.telling",
    {},
    make(
      "p.step",
      {},
      `Step ${scene.number} of ${scenes.length}`,
      scene.by ? [" · by ", make("b", {}, actor(scene))] : ""
    ),
    make("h2", {}, readable(scene)),
    make("p.doc", {}, scene.doc || (isInitial(scene) ? "" : "")),
    make(
      "p.taken",
      {},
      isInitial(scene) ? "" : make("code", { title: "the rule's name" }, scene.rule),
      chips
    )
  );
}

function drawOutcome(scene) {
  const parts = [];
  if (isLast(scene) && story.loop !== null) {
    const link = make("a", { href: `#${story.loop}` }, `step ${story.loop}`);
    const begins = make("b", {}, "↺ From here the behaviour repeats: ");
    const stop = make("b", {}, `↺ ${goesRound()}.`);
    parts.push(make("p.round", {}, stays() ? stop : [begins, loopRule(), "back to ", link, "."]));
  }
  if (isLast(scene) && story.verdict && (story.violated || story.property)) {
    const sign = story.violated ? "✗ Violation: " : "✓ Witness: ";
    parts.push(make(story.violated ? "p.fails" : "p.shown", {}, make("b", {}, sign), story.verdict));
  }
  return make("div.outcome", {}, parts);
}

function drawFact(fact) {
  const changed = fact.before !== null;
  if (fact.pieces.length) return drawPieces(fact);
  const long = fact.value.length > 40 || (fact.before ?? "").length > 40;
  const [head, middle, tail] = changed && long ? difference(fact.before, fact.value) : ["", "", ""];
  const value = changed && long ? [head, make("mark", {}, middle), tail] : [fact.value];
  const meaning = Object.hasOwn(story.words, fact.name) ? story.words[fact.name] : null;
  const element = make(
    "div.fact",
    {},
    make("dt", { title: meaning }, fact.name),
    make(
      "dd",
      {},
      changed && fact.before ? was(fact.before) : "",
      make("span.value", {}, value)
    )
  );
  element.classList.toggle("changed", changed);
  element.classList.toggle("long", long);
  return element;
}

// A fact with parts: each change at its place.
function drawPieces(fact) {
  const parts = fact.pieces.map((piece) =>
    piece.before === null
      ? piece.text
      : make(
          "span.leaf",
          { title: piece.at ? `${fact.name}${piece.at}` : null },
          piece.before ? (piece.text ? was(piece.before) : gone(piece.before)) : "",
          piece.text ? make("mark", {}, piece.text) : ""
        )
  );
  const meaning = Object.hasOwn(story.words, fact.name) ? story.words[fact.name] : null;
  return make(
    "div.fact.changed.long",
    {},
    make("dt", { title: meaning }, fact.name),
    make("dd", {}, make("span.value", {}, parts))
  );
}

const gone = (value) => [unseen("removed "), make("del", {}, value), " "];
const leaves = (fact) => fact.pieces.filter((piece) => piece.before !== null);

const was = (value) => [
  unseen("was "),
  make("del", {}, value),
  make("span.to", { "aria-hidden": "true" }, "→"),
  unseen(", now "),
];

// A text in three parts: the common beginning, the difference, the common end.
function difference(before, after) {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const tail = after.length - end;
  return [after.slice(0, start), after.slice(start, tail), after.slice(tail)];
}

const COLOURS = 6;
const colourOf = (colour) => (colour === null ? null : `${Math.abs(colour) % COLOURS}`);

const withSign = (cell) => `${cell.text}${cell.sign}`; // without a space, to fit on a line

function drawCell(cell, index, numbered) {
  const missing = cell.failing && !cell.text;
  const status = cell.change || (cell.failing && !missing ? "fails" : "");
  const element = make(
    "li.cell",
    { title: cell.title || null, "data-colour": cell.text ? colourOf(cell.colour) : null },
    make("span.index", { "aria-hidden": "true" }, numbered ? `${index}` : ""),
    make("span.status", {}, cell.failing ? `✗ ${status}` : status),
    make(cell.change === "gone" ? "del.text" : "span.text", {}, missing ? "missing" : withSign(cell)),
    cell.text ? "" : unseen(cell.title || "empty"),
    cell.failing ? unseen(", fails here") : ""
  );
  element.classList.toggle("new", cell.change === "new");
  element.classList.toggle("gone", cell.change === "gone");
  element.classList.toggle("failing", cell.failing);
  element.classList.toggle("empty", !cell.text);
  return element;
}

// Marks alternate above and below the cells, so that two at one offset stay apart.
function drawMark(mark, index, before) {
  const element = make(
    "div.mark",
    { "data-mark": `${index % 2}` },
    make("span.label", {}, make("span", {}, `${mark.label} ${mark.at}`))
  );
  element.classList.add(index % 2 ? "below" : "above");
  element.classList.toggle("moved", mark.moved);
  element.style.setProperty("--at", mark.at);
  element.style.setProperty("--was", before?.at ?? mark.at);
  element.style.setProperty("--row", Math.floor(index / 2));
  return element;
}

function drawLog(lane, before) {
  const numbered = lane.marks.length > 0;
  const cells = lane.cells.map((cell, index) => drawCell(cell, index, numbered));
  const marks = lane.marks.map((mark, index) =>
    drawMark(mark, index, before?.marks.find((other) => other.label === mark.label))
  );
  const track = make("div.track", {}, make("ol.cells", {}, cells), marks);
  track.style.setProperty("--widest", Math.max(0, ...lane.marks.map((mark) => mark.at)));
  track.style.setProperty("--above", Math.ceil(marks.length / 2));
  track.style.setProperty("--below", Math.floor(marks.length / 2));
  return make("div.log", { role: "group", "aria-label": `log of ${lane.name}` }, track);
}

function drawMessage(arrow, index) {
  return make(
    "p.message",
    { "data-arrow": index },
    make("span", {}, arrow.label),
    make("span.route", {}, ` from ${arrow.source}`)
  );
}

const drawBand = (band) =>
  make("span.band", { "data-colour": colourOf(band.colour) }, band.name);

function drawLane(lane, scene) {
  const earlier = scenes[scene.number - 2]?.lanes.find((other) => other.name === lane.name);
  const messages = scene.arrows.map((arrow, index) =>
    arrow.target === lane.name ? drawMessage(arrow, index) : ""
  );
  const role = [];
  if (lane.role_before) role.push(unseen("was "), make("del.role", {}, lane.role_before));
  if (lane.role) role.push(make("span.role", { "data-role": lane.role }, lane.role));
  if (lane.role_before !== null) role.forEach((element) => element.classList.add("changed"));
  const band = [];
  if (lane.band_before) band.push(unseen("was "), make("del.band", {}, lane.band_before));
  if (lane.band) band.push(drawBand(lane.band));
  if (lane.band_before !== null) band.forEach((element) => element.classList.add("changed"));
  const meaning = Object.hasOwn(story.words, lane.name) ? story.words[lane.name] : null;
  const fails = lane.failing ? make("span.fails", {}, "✗ fails here") : "";
  const element = make(
    "section.lane",
    { "aria-label": lane.name, "data-lane": lane.name },
    make(
      "div.about",
      {},
      make("div.name", {}, make("h3", { title: meaning }, lane.name), band, role, fails),
      make("dl.facts", {}, lane.facts.map(drawFact)),
      messages
    ),
    lane.cells.length || lane.marks.length ? drawLog(lane, earlier) : ""
  );
  element.classList.toggle("changed", lane.changed);
  element.classList.toggle("failing", lane.failing);
  return element;
}

function drawLanes(scene) {
  const lanes = make("div.lanes", {}, scene.lanes.map((lane) => drawLane(lane, scene)));
  lanes.classList.toggle("stacked", longestLog > 5);
  lanes.classList.toggle("bare", longestLog === 0);
  lanes.classList.toggle("wide", longestText > 9); // more than two lines of a narrow cell
  lanes.classList.toggle("messaged", scenes.some((s) => s.arrows.length));
  return lanes;
}

// Arrows run through the left margin, from the sender's name to its message.
function drawArrows(lanes, scene, again) {
  lanes.querySelector("svg.arrows")?.remove();
  if (!scene.arrows.length) return;
  const frame = lanes.getBoundingClientRect();
  const place = (element) => {
    const box = element.getBoundingClientRect();
    return { x: box.left - frame.left, y: box.top + box.height / 2 - frame.top };
  };
  const svg = drawn("svg", { class: "arrows", "aria-hidden": "true" });
  svg.classList.toggle("running", !again);
  scene.arrows.forEach((arrow, index) => {
    const source = [...lanes.children].find((lane) => lane.dataset.lane === arrow.source);
    const message = lanes.querySelector(`[data-arrow="${index}"]`);
    if (!source || !message) return;
    const edge = place(source).x;
    const from = place(source.querySelector(".name")).y;
    const to = place(message).y;
    const tip = place(message).x - 3;
    const bend = edge - 1.35 * (edge - 8 - (index % 3) * 7);
    svg.append(
      drawn("circle", { cx: edge, cy: from, r: 4.5 }),
      drawn("path", {
        class: "line",
        pathLength: 1,
        d: `M${edge} ${from}C${bend} ${from} ${bend} ${to} ${edge} ${to}L${tip - 7} ${to}`,
      }),
      drawn("path", { class: "head", d: `M${tip} ${to}l-10 -6v12z` })
    );
  });
  lanes.append(svg);
}

// A log too wide for the window can be scrolled, and shows what fails or changed in it.
function showWhatMatters(log, before) {
  if (log.scrollWidth > log.clientWidth) log.tabIndex = 0;
  const cell = log.querySelector(".failing") ?? log.querySelector(".new, .gone");
  log.scrollLeft = cell ? cell.offsetLeft + cell.offsetWidth / 2 - log.clientWidth / 2 : before;
}
