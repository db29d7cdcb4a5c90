// The page around the scenes (scene.js): its head, the list of steps, stepping.

tell(JSON.parse(byId("story").textContent));

// -- the head of the page ------------------------------------------------------------------

function drawMasthead() {
  const states = scenes.length === 1 ? "1 state" : `${scenes.length} states`;
  const kind = story.violated ? "Counterexample" : story.property ? "Witness" : "Trace";
  document.body.classList.add(kind.toLowerCase());
  byId("masthead").append(
    make("p.kind", {}, `${kind} in ${states}`),
    make("h1", {}, story.title),
    story.why ? make("p.why", {}, story.why) : "",
    story.verdict ? drawVerdict() : "",
    story.subtitle ? make("p.bounds", {}, story.subtitle) : ""
  );
}

function drawVerdict() {
  const sign = story.violated ? "✗" : story.property ? "✓" : "";
  const texts = [make("p", {}, make("strong", {}, story.verdict))];
  if (story.promise) {
    const quoted = story.property ? [make("b", {}, `${story.property}: `)] : [];
    texts.push(make("p.promise", {}, quoted, story.promise));
  }
  const attributes = { role: "note", "aria-label": "Verdict" };
  return make(
    "div.verdict",
    attributes,
    sign && make("span.sign", { "aria-hidden": "true" }, sign),
    make("div", {}, texts)
  );
}

// -- the steps -----------------------------------------------------------------------------

function drawSteps() {
  const list = byId("steps").querySelector("ol");
  for (const scene of scenes) {
    const detail = [actor(scene), ...otherChoices(scene).map((pair) => pair.join(" "))];
    const link = make(
      "a",
      { href: `#${scene.number}`, title: scene.rule },
      make("span.number", { "aria-hidden": "true" }, isFailing(scene) ? "✗" : `${scene.number}`),
      make(
        "span.summary",
        {},
        unseen(`Step ${scene.number}: `),
        make("span.rule", {}, readable(scene)),
        make("span.detail", {}, detail.filter(Boolean).join(" · ")),
        isFailing(scene) && story.loop === null ? make("span.fails", {}, "fails here") : ""
      )
    );
    const item = make("li", {}, link);
    item.classList.toggle("failing", isFailing(scene));
    item.classList.toggle("round", story.loop !== null && scene.number >= story.loop);
    list.append(item);
  }
  if (story.loop !== null) {
    const text = stays() ? "then stays here forever" : `then back to step ${story.loop}`;
    const sign = make("span.number", { "aria-hidden": "true" }, "↺");
    list.append(make("li.round.again", {}, make("a", { href: `#${story.loop}` }, sign, text)));
  }
}

// -- the timeline: the state of each lane over all steps --------------------------------------

// A piece for each run of steps in which a lane stays in one state.
function pieces(name) {
  const found = [];
  for (const scene of scenes) {
    const band = scene.lanes.find((lane) => lane.name === name)?.band;
    if (!band) continue;
    const piece = found.at(-1);
    if (piece && piece.band.name === band.name && piece.to === scene.number) piece.to += 1;
    else found.push({ band, from: scene.number, to: scene.number + 1 });
  }
  return found;
}

function drawTimeline() {
  const names = [...new Set(scenes.flatMap((scene) => scene.lanes.map((lane) => lane.name)))];
  const rows = names.map((name) => [name, pieces(name)]).filter(([, found]) => found.length);
  const strip = byId("timeline");
  strip.hidden = !rows.length;
  strip.style.setProperty("--steps", scenes.length);
  for (const [index, [name, found]] of rows.entries()) {
    const label = make("span.lane-name", {}, name);
    const bands = found.map(({ band, from, to }) => {
      const meaning = Object.hasOwn(story.words, band.name) ? `: ${story.words[band.name]}` : "";
      const element = make(
        "a.band",
        {
          href: `#${from}`,
          tabindex: -1,
          title: `${band.name}${meaning}`,
          "data-colour": colourOf(band.colour),
        },
        band.name
      );
      element.style.gridColumn = `${from + 1} / ${to + 1}`;
      return element;
    });
    for (const element of [label, ...bands]) element.style.gridRow = index + 1;
    strip.append(label, ...bands);
  }
  const now = make("span.now", {});
  now.style.gridRow = `1 / ${rows.length + 1}`;
  strip.append(now);
}

const KEYS_SAID = [
  ["←", "→", "step"],
  ["Home", "End", "first, last"],
  ["space", "play, pause"],
];
const LINKS_SAID = "The address of this page ends in the number of the step, for links to it.";

// -- stepping ------------------------------------------------------------------------------

let current = 0;
let player = 0;

function show(number) {
  const wanted = Math.min(Math.max(Math.round(number) || 1, 1), scenes.length);
  if (location.hash !== `#${wanted}`) history.replaceState(null, "", `#${wanted}`);
  if (wanted === current) return;
  document.body.classList.toggle("moving", current > 0); // the first scene does not move in
  current = wanted;
  const scene = scenes[current - 1];
  const logs = (under) => [...under.querySelectorAll(".log")];
  const scrolled = new Map(logs(byId("drawing")).map((log) => [log.ariaLabel, log.scrollLeft]));
  const lanes = drawLanes(scene);
  byId("drawing").replaceChildren(drawTelling(scene), drawOutcome(scene), lanes);
  for (const log of logs(lanes)) showWhatMatters(log, scrolled.get(log.ariaLabel) ?? 0);
  drawArrows(lanes, scene);
  byId("timeline").querySelector(".now").style.gridColumn = current + 1;
  for (const link of byId("steps").querySelectorAll("li:not(.again) a")) {
    const here = link.hash === `#${current}`;
    here ? link.setAttribute("aria-current", "step") : link.removeAttribute("aria-current");
    if (here) bringIntoList(link);
  }
  const slider = byId("slider");
  slider.value = current;
  slider.setAttribute("aria-valuetext", `step ${current} of ${scenes.length}: ${readable(scene)}`);
  byId("counter").value = `${current} / ${scenes.length}`;
  byId("first").disabled = byId("back").disabled = current === 1;
  byId("last").disabled = isLast(scene);
  byId("forward").disabled = next() === null;
  byId("said").textContent = said(scene);
}

// The next scene; after the last, the one to which a lasso returns.
const next = () => (current < scenes.length ? current + 1 : story.loop);

// Not scrollIntoView, which would scroll the page as well.
function bringIntoList(link) {
  const list = byId("steps");
  const above = link.getBoundingClientRect().top - list.getBoundingClientRect().top;
  if (above < 40) list.scrollTop += above - 40;
  const below = above + link.offsetHeight + 40 - list.clientHeight;
  if (below > 0) list.scrollTop += below;
}

function play(on) {
  clearInterval(player);
  player = on ? setInterval(() => (next() === null ? play(false) : show(next())), 1800) : 0;
  document.body.classList.toggle("playing", on);
  byId("play").setAttribute("aria-label", on ? "Pause" : "Play");
}

function playOrPause() {
  if (!player && next() === null) show(1);
  play(!player);
}

function step(number) {
  play(false);
  if (number !== null) show(number);
}

const ACTIONS = {
  first: () => step(1),
  back: () => step(current - 1),
  play: playOrPause,
  forward: () => step(next()),
  last: () => step(scenes.length),
};
const KEYS = {
  ArrowLeft: "back", k: "back", ArrowRight: "forward", j: "forward",
  Home: "first", End: "last", " ": "play",
};

const KEYS_IN_LIST = { ...KEYS, ArrowUp: "back", ArrowDown: "forward" };

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  const inside = (selector) => event.target.closest?.(selector);
  const moves = event.key.length > 1;
  const itsOwn = event.key === " " ? inside("button") : moves && inside("input, .log[tabindex]");
  const inList = inside("#steps");
  const action = (inList ? KEYS_IN_LIST : KEYS)[event.key];
  if (!action || itsOwn) return;
  event.preventDefault();
  ACTIONS[action]();
  if (inList) byId("steps").querySelector("[aria-current]").focus({ preventScroll: true });
}

const numberInAddress = () => Number(/^#(\d+)$/.exec(location.hash)?.[1] ?? NaN);

// A link is followed here, since browsers forbid that in a frame of a page from a file.
function onStep(event) {
  const link = event.target.closest("a");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.hash !== location.hash) history.pushState(null, "", link.hash);
  step(Number(link.hash.slice(1)));
  bringIntoView();
}

// An address was typed, or the way back taken.
function onAddress() {
  const number = numberInAddress();
  if (!number || number === current) return;
  step(number);
  bringIntoView();
}

// In a narrow window the scene may be out of sight.
function bringIntoView() {
  const { top, bottom } = byId("scene").getBoundingClientRect();
  if (bottom < 100 || top > innerHeight / 2) byId("scene").scrollIntoView();
}

const drawOnPaper = (scene) =>
  make("article", {}, drawTelling(scene), drawOutcome(scene), drawLanes(scene));

function start() {
  drawMasthead();
  drawSteps();
  drawTimeline();
  drawLegend(KEYS_SAID, LINKS_SAID);
  byId("slider").max = scenes.length;
  for (const [id, action] of Object.entries(ACTIONS)) byId(id).addEventListener("click", action);
  byId("slider").addEventListener("input", (event) => step(Number(event.target.value)));
  byId("steps").addEventListener("click", onStep);
  document.addEventListener("keydown", onKey);
  addEventListener("hashchange", onAddress);
  addEventListener("resize", () =>
    drawArrows(byId("drawing").querySelector(".lanes"), scenes[current - 1], true)
  );
  addEventListener("beforeprint", () => byId("print").replaceChildren(...scenes.map(drawOnPaper)));
  addEventListener("afterprint", () => byId("print").replaceChildren());
  const asked = numberInAddress();
  show(asked || 1);
  if (asked) bringIntoView();
}

start();
