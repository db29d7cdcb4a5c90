// The page of `kspec explore`: the scenes of scene.js, each step chosen by hand. The server has the
// model; this page asks it (protocol.py), and keeps the states that it was told of.

let about = null; // the model, as the server describes it
const nodes = []; // by number, the states visited
const chosen = new Map(); // by number of a node, the child last shown
let at = 0; // the number of the node that is shown
let seen = null; // what the rules can do there
let looks = 0; // how often a state was asked for: only the last answer is shown

// -- asking the server ---------------------------------------------------------------------

async function ask(request) {
  let answer;
  try {
    const response = await fetch(location.pathname, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ...request, known: nodes.length }),
    });
    answer = await response.json();
  } catch {
    answer = { error: "kspec does not answer: has it ended?" };
  }
  if (answer.error) {
    say(answer.error, true);
    throw new Error(answer.error);
  }
  for (const node of answer.nodes ?? []) nodes[node.id] = node;
  return answer;
}

function say(text, isError = false) {
  const message = byId("message");
  message.hidden = !text;
  message.textContent = text;
  message.classList.toggle("error", isError);
}

// Run what a button does; an error was shown where it arose.
const doing = (action) => (event) => {
  event?.preventDefault();
  say("");
  action(event).catch((error) => byId("message").hidden && say(`${error}`, true));
};

// -- the tree ------------------------------------------------------------------------------

const parentOf = (id) => nodes[id].parent;
const isEnd = (id) => !nodes.some((node) => node.parent === id);
const numberOf = (id) => nodes[id].scene.number;

// The ways from the initial state: to a node, and on to the end of the branch last shown.
function pathTo(id) {
  const path = [];
  for (let node = id; node !== null; node = parentOf(node)) path.unshift(node);
  return path;
}

function branchOf(id) {
  const path = pathTo(id);
  while (chosen.has(path.at(-1))) path.push(chosen.get(path.at(-1)));
  return path;
}

function asStory(path) {
  const failing = path.map((id) => nodes[id]).filter((node) => node.failing.length);
  return {
    ...{ scenes: path.map((id) => nodes[id].scene), words: about.words, colour: about.colour },
    ...{ loop: null, violated: false, verdict: "", property: "" },
    failing: failing.map((node) => node.scene.number),
  };
}

// -- showing a state -----------------------------------------------------------------------

async function go(id, remember = true) {
  const look = ++looks;
  const answer = await ask({ do: "look", node: id });
  if (look !== looks) return;
  const path = pathTo(id);
  path.slice(1).forEach((child, index) => chosen.set(path[index], child));
  document.body.classList.toggle("moving", parentOf(id) === at);
  at = id;
  seen = answer;
  if (remember && location.hash !== `#${id}`) history.pushState(null, "", `#${id}`);
  draw();
  if (remember) bringIntoView();
}

// Where the rules are below the scene, it may be out of sight.
function bringIntoView() {
  const { top } = byId("scene").getBoundingClientRect();
  const isBelow = matchMedia("(max-width: 76rem)").matches;
  if (isBelow && (top < 0 || top > innerHeight / 2)) byId("scene").scrollIntoView();
}

function draw() {
  const path = branchOf(at);
  tell(asStory(path));
  const scene = nodes[at].scene;
  const lanes = drawLanes(scene);
  const logs = [...byId("drawing").querySelectorAll(".log")];
  const scrolled = new Map(logs.map((log) => [log.ariaLabel, log.scrollLeft]));
  byId("drawing").replaceChildren(drawTelling(scene), drawFindings(), lanes);
  for (const log of lanes.querySelectorAll(".log"))
    showWhatMatters(log, scrolled.get(log.ariaLabel) ?? 0);
  drawArrows(lanes, scene);
  drawSteps(path);
  drawMoves();
  drawBranches();
  drawOthers();
  byId("variant").value = nodes[at].variant;
  byId("counter").value = `${scene.number} / ${path.length}`;
  byId("first").disabled = byId("back").disabled = parentOf(at) === null;
  byId("last").disabled = byId("forward").disabled = at === path.at(-1);
  byId("said").textContent = said(scene);
  drawLegend(KEYS_SAID, "The address of this page ends in the number of the state.");
}

function drawFindings() {
  const failing = seen.failing.map((found) =>
    make("p.fails", {}, make("b", {}, `✗ ${found.says} `), found.promise)
  );
  return make("div.outcome", {}, failing, seen.nothing ? make("p", {}, seen.nothing) : "");
}

function drawSteps(path) {
  const items = path.map((id) => {
    const { scene, failing } = nodes[id];
    const detail = [actor(scene), ...otherChoices(scene).map((pair) => pair.join(" "))];
    const link = make(
      "a",
      { href: `#${id}`, title: scene.rule, "aria-current": id === at ? "step" : null },
      make("span.number", { "aria-hidden": "true" }, failing.length ? "✗" : `${scene.number}`),
      make(
        "span.summary",
        {},
        unseen(`Step ${scene.number}: `),
        make("span.rule", {}, readable(scene)),
        make("span.detail", {}, detail.filter(Boolean).join(" · ")),
        failing.length ? make("span.fails", {}, `${failing.join(", ")} fails`) : ""
      )
    );
    const item = make("li", {}, link);
    item.classList.toggle("failing", failing.length > 0);
    item.classList.toggle("later", scene.number > numberOf(at));
    return item;
  });
  byId("steps").querySelector("ol").replaceChildren(...items);
  const list = byId("steps");
  const current = list.querySelector("[aria-current]").getBoundingClientRect();
  list.scrollTop += current.top - list.getBoundingClientRect().top - list.clientHeight / 2;
}

// -- the rules -----------------------------------------------------------------------------

const choicesText = (move) =>
  Object.entries(move.choices).map((pair) => pair.join(" ")).join(", ");

function drawMoves() {
  const enabled = seen.rules.filter((rule) => rule.moves.some((move) => !move.blocked));
  const blocked = seen.rules.filter((rule) => !enabled.includes(rule));
  const count = enabled.flatMap((rule) => rule.moves).filter((move) => !move.blocked).length;
  const details = make(
    "details",
    { id: "blocked" },
    make("summary", {}, `Blocked rules (${blocked.length})`),
    blocked.map(drawRule)
  );
  details.open = byId("blocked")?.open ?? !count;
  const heading = make("h2", {}, `Enabled (${count})`);
  byId("moves").replaceChildren(heading, ...enabled.map(drawRule), blocked.length ? details : "");
  const buttons = byId("moves").querySelectorAll("button");
  [...buttons].slice(0, 9).forEach((button, index) => {
    button.prepend(make("kbd", { "aria-hidden": "true" }, `${index + 1}`));
  });
}

function drawRule(rule) {
  const taking = rule.moves.flatMap((move, index) =>
    move.blocked
      ? []
      : make(
          "button",
          { type: "button", "data-rule": rule.name, "data-choice": index },
          choicesText(move) || "take",
          move.known === null ? "" : make("span.known", { title: "visited before" }, "✓")
        )
  );
  return make(
    "article.rule-card",
    { "aria-label": rule.name, "data-rule": rule.name },
    make("h3", { title: rule.summary }, inWords(rule.name)),
    make("p.rule-by", {}, `by ${rule.by} · `, make("code", {}, rule.name)),
    taking.length ? make("p.taking", {}, taking) : "",
    drawBlocked(rule)
  );
}

// The guards that block a rule, each with the choices that it blocks.
function drawBlocked(rule) {
  const guards = new Map();
  for (const move of rule.moves.filter((each) => each.blocked)) {
    const found = guards.get(move.blocked) ?? { limit: move.limit, texts: [] };
    found.texts.push(choicesText(move));
    guards.set(move.blocked, found);
  }
  if (!rule.moves.length) return make("p.blocked", {}, "there is nothing to choose from");
  return [...guards].map(([guard, { limit, texts }]) =>
    make(
      "p.blocked",
      {},
      "blocked by ",
      make("b", {}, guard),
      limit ? " (a limit of the bounds)" : "",
      texts.some(Boolean) ? `: ${texts.join("; ")}` : ""
    )
  );
}

async function take(rule, choice) {
  const answer = await ask({ do: "take", node: at, rule, choice });
  await go(answer.at);
}

// -- search, walk, what if -----------------------------------------------------------------

const inAWhile = () => new Promise((done) => setTimeout(done, 250));

async function search() {
  await ask({ do: "seek", node: at, goal: byId("goal").value });
  byId("stop").hidden = false;
  let answer;
  try {
    for (;;) {
      answer = await ask({ do: "progress" });
      if (!answer.running) break;
      const { level, distinct } = answer;
      const counts = level ? `, ${distinct.toLocaleString("en")} states, level ${level}` : "";
      byId("progress").textContent = `Searching${counts} …`;
      await inAWhile();
    }
  } finally {
    byId("stop").hidden = true;
    byId("progress").textContent = "";
  }
  await go(answer.at);
  say(answer.says);
}

async function walk() {
  const [steps, seed] = ["walk-steps", "walk-seed"].map((id) => Number(byId(id).value));
  const answer = await ask({ do: "walk", node: at, steps, seed });
  byId("walk-seed").value = seed + 1;
  await go(answer.at);
}

function drawOthers() {
  const before = byId("other").value;
  const options = seen.what_if.map((name) => make("option", {}, name));
  byId("other").replaceChildren(...options);
  if (seen.what_if.includes(before)) byId("other").value = before;
  tellOther();
}

function tellOther() {
  const other = about.variants.find((variant) => variant.name === byId("other").value);
  byId("other-why").textContent = other?.why ?? "";
}

async function whatIf() {
  const before = at;
  const answer = await ask({ do: "what-if", node: before, variant: byId("other").value });
  await compare(before, answer.at, answer.parts_at ?? numberOf(answer.at) + (answer.blocked ? 1 : 0));
  say(answer.says);
}

// -- files ---------------------------------------------------------------------------------

async function save(kind) {
  const file = await ask({ do: "save", node: at, as: kind });
  const type = kind === "itf" ? "application/json" : "text/html";
  const address = URL.createObjectURL(new Blob([file.text], { type }));
  make("a", { href: address, download: file.name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

async function load() {
  const [file] = byId("load").files;
  if (!file) return;
  byId("load").disabled = true; // until it is read
  try {
    const answer = await ask({ do: "load", name: file.name, text: await file.text() });
    await go(answer.at);
  } finally {
    byId("load").value = "";
    byId("load").disabled = false;
  }
}

// -- keys, links, the address --------------------------------------------------------------

const KEYS_SAID = [
  ["1", "9", "take a rule"],
  ["←", "→", "step"],
  ["Home", "End", "first, last"],
];
const KEYS = {
  ArrowLeft: "back", k: "back", ArrowRight: "forward", j: "forward", Home: "first", End: "last",
};
const ACTIONS = {
  first: () => go(pathTo(at)[0]),
  back: () => go(parentOf(at) ?? at),
  forward: () => go(chosen.get(at) ?? at),
  last: () => go(branchOf(at).at(-1)),
};

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || pair) return;
  if (event.target.closest?.("input, select, .log[tabindex]")) return;
  const number = /^[1-9]$/.test(event.key) ? Number(event.key) : 0;
  const button = number && byId("moves").querySelectorAll("button")[number - 1];
  const action = button ? () => takeButton(button) : ACTIONS[KEYS[event.key]];
  if (action) doing(action)(event);
}

const takeButton = (button) => take(button.dataset.rule, Number(button.dataset.choice));

const idInAddress = () => {
  const found = /^#(\d+)$/.exec(location.hash);
  return found && nodes[Number(found[1])] ? Number(found[1]) : null;
};

function onClick(event) {
  const link = event.target.closest("a[href^='#']");
  const id = link && /^#(\d+)$/.exec(link.hash)?.[1];
  if (!id) return;
  doing(() => (pair ? closeComparison(Number(id)) : go(Number(id))))(event);
}

async function start() {
  about = await ask({ do: "describe" });
  byId("model").textContent = about.model;
  byId("doc").textContent = about.doc;
  const bounds = Object.entries(about.bounds).map((bound) => bound.join(" "));
  byId("bounds").textContent = bounds.join(", ");
  byId("variant").append(...about.variants.map(({ name }) => make("option", {}, name)));
  byId("goals").append(...about.goals.map((goal) => make("option", { value: goal })));
  document.querySelector(".example").textContent = about.goals[0];
  for (const [id, action] of Object.entries(ACTIONS)) byId(id).addEventListener("click", doing(action));
  const on = (id, event, action) => byId(id).addEventListener(event, doing(action));
  on("variant", "change", async () =>
    go((await ask({ do: "begin", variant: byId("variant").value })).at)
  );
  byId("moves").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) doing(() => takeButton(button))(event);
  });
  byId("branches").addEventListener("click", (event) => {
    const { compare: other } = event.target.dataset;
    if (other) doing(() => compare(branchOf(at).at(-1), Number(other)))(event);
  });
  on("search", "submit", search);
  on("stop", "click", () => ask({ do: "stop" }));
  on("walk", "submit", walk);
  byId("other").addEventListener("change", tellOther);
  on("what-if", "submit", whatIf);
  for (const button of document.querySelectorAll("[data-save]"))
    button.addEventListener("click", doing(() => save(button.dataset.save)));
  on("load", "change", load);
  const shown = () => Number(byId("both-slider").value);
  on("both-back", "click", () => showBoth(shown() - 1));
  on("both-forward", "click", () => showBoth(shown() + 1));
  on("both-slider", "input", () => showBoth(shown()));
  on("close", "click", () => closeComparison());
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  addEventListener("popstate", doing(async () => {
    const id = idInAddress();
    if (id !== null && id !== at) await (pair ? closeComparison(id) : go(id, false));
  }));
  addEventListener("resize", () => {
    const lanes = byId("drawing").querySelector(".lanes");
    if (lanes && !pair) drawArrows(lanes, nodes[at].scene, true);
  });
  await go(idInAddress() ?? about.at, false);
}

doing(start)();
