"""The compiled part: paths become decision trees, and states are answered by walking them.

A tree is laid out in one array. A node stands at an address: its component (or, in its place, a
view), its probe among those of the component, how many children there is room for, the probe, and
the children, by the answer. A node with few children for many answers is **sparse** instead: its
room is negative, and behind it stand the number of children, and a hash table of answers and of
children. A child is the address of a node, LEAF - n for leaf n, or UNKNOWN. The answers of all
probes of a component for one value stand side by side in `answers`.
"""

from __future__ import annotations

# mypy: ignore-errors
# Every argument is an array or an index: their types are Numba's, found when it compiles.
from typing import Any, NamedTuple

import numpy as np

from kspec.checkers.engine.packed.intrinsics import pointer_to, prefetch
from kspec.impl import compiled as kept
from kspec.impl.compiled import Words

compiled: Any = kept.compiled

UNKNOWN = -1
LEAF = -2

SHAPE, WHOLE, SIZE, HAS, EQUALS, VIEW = range(6)
"""The questions of a probe: the shape of a value, the value itself, the size of a frozenset,
whether it has a member, whether a value equals another, the answer of a view."""

NOTHING, BLOCKED, STEP, CHOICES, MARK, EACH = range(6)
"""What a leaf says: nothing; a guard blocks; a successor; more instances to ask; a mark; instances
to ask for each element that is present."""

DEADLOCK_BIT = 62
"""Of a mask: no rule is enabled, limits aside, and this is no end."""
FAILED_BIT = 61
"""A rule or a property raised an exception here."""
FINAL_BIT = 59
"""Of a leaf: a behaviour may end here. Properties have the bits below."""

LABEL_BITS = 32
"""Of an origin: the instance that a successor came of."""

BLOCK = 16
"""States that are looked up together, so that memory is asked for before it is needed."""

VIEWS = -2
"""View n stands in place of component VIEWS - n in questions and nodes."""

LEAF_SIZE = 5
NODE_SIZE = 4
"""Before the children of a node: component, probe among its own, room, and probe."""
SPARSE = 16
"""A node with room for this many times as many children as it has becomes sparse."""

MISSED_PATH, MISSED_RECIPE, MISSED_VIEW = 0, 1, 2

AGAIN, GROW, REBUILD, CONFLICT = 1, 2, 3, 4


class KnownAnswers(NamedTuple):
    """What is known of instances."""

    root_at: Words
    tree: Words
    answers: Words
    answers_at: Words
    stride: Words
    leaves: Words
    lists: Words


class Elements(NamedTuple):
    """Views of divided sets, and the instances for their elements (`divided`)."""

    fixed: int
    """The components from here on are elements; their numbers are looked up when asked for."""
    views: Words
    """By view: where its words begin in `words`, and how many; where its answers begin in `known`,
    and for how many there is room; where its components begin in `components`, and how many."""
    words: Words
    """Words of a state, and the bits in them that are elements of the view."""
    known: Words
    """The hash tables of answers: an answer or UNKNOWN, and those bits in each word."""
    components: Words
    choices: Words
    """By choices: a view, where its lists begin in `lists`, and the length of each list."""
    lists: Words
    """By element of the view: where the list of its instances begins."""


class Asked(NamedTuple):
    """The instances of rules, and what they write."""

    groups: Words
    """For each component that instances ask about first: the component, and where they stand in
    `group`."""
    group: Words
    others: Words
    """Instances that are asked one by one."""
    limits_always: Words
    """Instances beyond the limits that block in every state so far."""
    final: int
    writes: Words
    keep: Words
    put: Words
    recipe_at: Words
    recipe_room: Words
    recipe_table: Words


class Shortened(NamedTuple):
    """Lists of instances, by the value of the first component that they ask about."""

    entries: Words
    used: Words
    at: Words
    begin: Words


class Noted(NamedTuple):
    """What is noted of states."""

    misses: Words
    count: Words
    missed: Words
    """The states that miss something."""
    latest: Words
    """By component: the highest number of a value so far."""
    latest_words: Words
    """By component: the words of the first state with that value."""


class Successors(NamedTuple):
    """What expanding writes."""

    words: Words
    origins: Words
    masks: Words
    """Which states have failed, or are deadlocks."""
    fired: Words
    """By rule."""
    blocked: Words
    """By guard of a rule."""
    ends: Words
    """The number of states at the edge of the bounds."""


@compiled
def slot_of(keys, key):
    """Where a key stands in a hash table, or the empty place where it belongs."""
    mask = len(keys) - 1
    h = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    at = np.int64(h >> np.uint64(20)) & mask
    while keys[at] != -1 and keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def answer_number(probe, answer, keys, numbers, counts):
    """The small number of a probe's answer; a new one if it is new."""
    key = (np.int64(probe) << 33) + np.int64(answer) + (np.int64(1) << 32)
    at = slot_of(keys, key)
    if keys[at] == -1:
        keys[at] = key
        numbers[at] = counts[probe]
        counts[probe] += 1
        counts[len(counts) - 1] += 1
    return numbers[at]


@compiled
def rehash(keys, numbers, new_keys, new_numbers):
    """Move to a larger hash table."""
    for i in range(len(keys)):
        if keys[i] != -1:
            at = slot_of(new_keys, keys[i])
            new_keys[at] = keys[i]
            new_numbers[at] = numbers[i]


@compiled
def answer_of(
    number, what, of, steps, begin, end, kinds, shapes, same, part_begin, part_count, parts,
    fields,
):  # fmt: skip
    """What a probe answers for a value of its component: -1 << 31 if there is no such place."""
    missing = -(np.int64(1) << 31)
    for s in range(begin, end):
        kind = kinds[number]
        if steps[s, 0] >= 0:
            if kind != 1:
                return missing
            index = np.int64(fields[-2 - shapes[number], steps[s, 0]])
            if index < 0:
                return missing
        else:
            if kind != 2:
                return missing
            index = steps[s, 1]
            if index < 0 or index >= part_count[number]:
                return missing
        number = np.int64(parts[part_begin[number] + index])
    if what == SHAPE:
        return np.int64(shapes[number])
    if what == WHOLE:
        return np.int64(number)
    if what == SIZE:
        return np.int64(part_count[number]) if kinds[number] == 3 else missing
    if what == EQUALS:
        return np.int64(same[number] == of)
    if kinds[number] != 3:
        return missing
    for p in range(part_begin[number], part_begin[number] + part_count[number]):
        if same[parts[p]] == of:
            return np.int64(1)
    return np.int64(0)


@compiled
def fill_answers(
    probes, steps, filled, local, answers, answers_at, stride, comp_at, comp_count,
    comp_values, kinds, shapes, same, part_begin, part_count, parts, fields, keys, numbers,
    counts, probe_count,
):  # fmt: skip
    """What every probe answers for the values that are new; whether the hash table is too full."""
    missing = -(np.int64(1) << 31)
    for q in range(probe_count):
        k = probes[q, 0]
        if k < 0:
            continue
        for i in range(filled[q], comp_count[k]):
            if counts[len(counts) - 1] * 2 > len(keys):
                return True
            answer = answer_of(
                comp_values[comp_at[k] + i],
                probes[q, 1],
                probes[q, 2],
                steps,
                probes[q, 3],
                probes[q, 4],
                kinds,
                shapes,
                same,
                part_begin,
                part_count,
                parts,
                fields,
            )
            number = -1
            if answer != missing:
                number = answer_number(q, answer, keys, numbers, counts)
            answers[answers_at[k] + i * stride[k] + local[q]] = number
            filled[q] = i + 1
    return False


@compiled
def place_among(tree, node, answer):
    """Where a sparse node has the child for an answer, or the place for it.

    The answer stands before it, as far away as the node has room for children.
    """
    room = -np.int64(tree[node + 2])
    first = node + NODE_SIZE + 1
    at = (answer * 0x9E3779B1 >> 7) & (room - 1)
    while tree[first + at] != UNKNOWN and tree[first + at] != answer:
        at = (at + 1) & (room - 1)
    return first + room + at


@compiled
def place_of_child(tree, node, answer):
    """Where a node with room for it has the child for an answer; a sparse node notes the answer."""
    room = np.int64(tree[node + 2])
    if room > 0:
        return node + NODE_SIZE + answer
    place = place_among(tree, node, answer)
    if tree[place + room] == UNKNOWN:
        tree[place + room] = answer
        tree[node + NODE_SIZE] += 1
    return place


@compiled
def has_room_for(tree, node, answer):
    """Whether a node has a place for the child for an answer."""
    room = np.int64(tree[node + 2])
    if room > 0:
        return answer < room
    place = place_among(tree, node, answer)
    return tree[place + room] == answer or 2 * tree[node + NODE_SIZE] < -room


@compiled
def copy_with_room(tree, node, answer, to):
    """Write a copy of a node, or of none, with room for a child for an answer; where it ends."""
    room = np.int64(0)
    begin = node + NODE_SIZE
    if node >= 0:
        room = np.int64(tree[node + 2])
    if room < 0:
        begin += 1
    used = np.int64(0)
    last = answer
    for y in range(abs(room)):
        if tree[begin + y] != UNKNOWN:
            used += 1
            last = max(last, np.int64(tree[begin + y]) if room < 0 else y)
    size = np.int64(2)
    while size <= last:
        size *= 2
    is_dense = size <= max(SPARSE * (used + 1), np.int64(64))
    if is_dense:
        end = to + NODE_SIZE + size
        tree[to + 2] = size
    else:
        size = np.int64(4)
        while size < 4 * (used + 1):
            size *= 2
        end = to + NODE_SIZE + 1 + 2 * size
        tree[to + 2] = -size
    for y in range(to + NODE_SIZE, end):
        tree[y] = UNKNOWN
    if not is_dense:
        tree[to + NODE_SIZE] = 0
    for y in range(abs(room)):
        if tree[begin + y] != UNKNOWN:
            if room > 0:
                tree[place_of_child(tree, to, y)] = tree[begin + y]
            else:
                of = np.int64(tree[begin + y])
                tree[place_of_child(tree, to, of)] = tree[begin - room + y]
    return end


@compiled
def add_paths(
    runs, reads, first, last, keys, numbers, counts, probes, local, skipped, tree, sizes,
    root_at,
):  # fmt: skip
    """Put paths into their trees: why it stopped, and before which path.

    A probe that has given one answer so far is skipped, except where `skipped` is negative.
    `sizes` says how long the trees are.
    """
    for r in range(first, last):
        if counts[len(counts) - 1] * 2 + 1024 > len(keys):
            return AGAIN, r
        at = root_at[runs[r, 0]]
        for x in range(runs[r, 1], runs[r, 2], 2):
            q = reads[x]
            p = answer_number(q, reads[x + 1], keys, numbers, counts)
            if counts[q] == 1 and skipped[q] >= 0:
                skipped[q] = 1
                continue
            if skipped[q] > 0:
                return REBUILD, r
            node = np.int64(tree[at])
            if node <= LEAF or (node != UNKNOWN and tree[node + 3] != q):
                return CONFLICT, r
            if node == UNKNOWN or not has_room_for(tree, node, np.int64(p)):
                most = np.int64(p)
                if node != UNKNOWN:
                    most = max(most, abs(np.int64(tree[node + 2])))
                if sizes[0] + 16 * most + 64 > len(tree):
                    return GROW, r
                to = sizes[0]
                tree[to] = probes[q, 0]
                tree[to + 1] = local[q]
                tree[to + 3] = q
                sizes[0] = copy_with_room(tree, node, np.int64(p), to)
                tree[at] = to
                node = to
            at = place_of_child(tree, node, np.int64(p))
        if tree[at] == UNKNOWN:
            tree[at] = LEAF - runs[r, 3]
        elif tree[at] != LEAF - runs[r, 3]:
            return CONFLICT, r
    return 0, last


@compiled
def any_skipped_that_tells_apart(skipped, counts, probe_count):
    """Whether a probe that was skipped has another answer by now."""
    found = False
    for q in range(probe_count):
        found |= skipped[q] > 0 and counts[q] > 1
    return found


@compiled
def child_of(tree, node, p):
    """The child of a node for an answer, which is negative if there is none; or UNKNOWN."""
    following = np.int64(UNKNOWN)
    if p >= 0:
        if p < tree[node + 2]:
            following = np.int64(tree[node + NODE_SIZE + p])
        elif tree[node + 2] < 0:
            following = np.int64(tree[place_among(tree, node, p)])
    return following


@compiled
def note_miss(misses, n, what, one, two, three, i):
    """Note what is missing for the state `i`: a path by its instance, node and answer; or a result
    of a recipe.
    """
    misses[n * 5] = what
    misses[n * 5 + 1] = one
    misses[n * 5 + 2] = two
    misses[n * 5 + 3] = three
    misses[n * 5 + 4] = i


@compiled
def hash_of_bits(state, pairs, begin, count):
    """A hash of some bits in the words of a state."""
    h = np.uint64(0)
    for z in range(begin, begin + count):
        h = (h ^ np.uint64(state[pairs[2 * z]] & pairs[2 * z + 1])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return h


@compiled
def answer_of_view(v, state, views, pairs, known):
    """The answer of a view in a state; UNKNOWN if it is not known."""
    begin, count, at, room = views[6 * v], views[6 * v + 1], views[6 * v + 2], views[6 * v + 3]
    h = hash_of_bits(state, pairs, begin, count)
    slot = np.int64(h >> np.uint64(20)) & (room - 1)
    while True:
        entry = at + slot * (1 + count)
        if known[entry] == UNKNOWN:
            return np.int64(UNKNOWN)
        differ = np.int64(0)
        for z in range(count):
            bits = state[pairs[2 * (begin + z)]] & pairs[2 * (begin + z) + 1]
            differ |= known[entry + 1 + z] ^ bits
        if differ == 0:
            return known[entry]
        slot = (slot + 1) & (room - 1)


@compiled
def enter_answers(answers, columns, known, at, room, count):
    """Put the answers of a view into its hash table, given the bits of each in columns."""
    for i in range(len(answers)):
        h = np.uint64(0)
        for z in range(count):
            h = (h ^ np.uint64(columns[z, i])) * np.uint64(0x9E3779B97F4A7C15)
            h ^= h >> np.uint64(29)
        slot = np.int64(h >> np.uint64(20)) & (room - 1)
        while known[at + slot * (1 + count)] != UNKNOWN:
            slot = (slot + 1) & (room - 1)
        known[at + slot * (1 + count)] = answers[i]
        for z in range(count):
            known[at + slot * (1 + count) + 1 + z] = columns[z, i]


@compiled
def numbers_of_answers(q, answers, numbers, keys, small, counts):
    """The small numbers of a probe's answers."""
    for x in range(len(answers)):
        numbers[x] = answer_number(q, answers[x], keys, small, counts)


@compiled
def answer_at(node, rows, tree, answers, state, lazily):
    """The answer to the question of a node; UNKNOWN for a view without an answer.

    `rows` has the place of the answers of each component that is no element; others are looked up.
    """
    k = np.int64(tree[node])
    if lazily is None:
        return np.int64(answers[rows[k] + tree[node + 1]])
    fixed, at_word, at_shift, at_mask, answers_at, stride, views, pairs, known = lazily
    if k < 0:
        return answer_of_view(VIEWS - k, state, views, pairs, known)
    if k < fixed:
        return np.int64(answers[rows[k] + tree[node + 1]])
    number = (state[at_word[k]] >> at_shift[k]) & at_mask[k]
    return np.int64(answers[answers_at[k] + number * stride[k] + tree[node + 1]])


@compiled
def note_lost(instance, node, p, tree, misses, nmiss, i, state, lazily):
    """Note that an instance has no answer at a node."""
    if lazily is not None:
        k = np.int64(tree[node])
        if k < 0 and p == UNKNOWN:
            _, _, _, _, _, _, views, pairs, _ = lazily
            v = VIEWS - k
            h = np.int64(hash_of_bits(state, pairs, views[6 * v], views[6 * v + 1]))
            note_miss(misses, nmiss, MISSED_VIEW, v, h, 0, i)
            return
    note_miss(misses, nmiss, MISSED_PATH, instance, node, p, i)


@compiled
def walk(node, instance, rows, tree, answers, misses, nmiss, i, state, lazily):
    """The leaf that answers an instance, from a node on.

    It is -1 if it is not known, and then a miss is noted.
    """
    node = np.int64(node)
    while node >= 0:
        p = answer_at(node, rows, tree, answers, state, lazily)
        following = child_of(tree, node, p)
        if following == UNKNOWN:
            note_lost(instance, node, p, tree, misses, nmiss, i, state, lazily)
            return np.int64(-1)
        node = following
    if node == UNKNOWN:
        note_miss(misses, nmiss, MISSED_PATH, instance, -1, -1, i)
        return np.int64(-1)
    return LEAF - node


@compiled
def number_at(k, ids, state, lazily):
    """The number of a component's value."""
    if lazily is None:
        return ids[k]
    fixed, at_word, at_shift, at_mask, _, _, _, _, _ = lazily
    if k < fixed:
        return ids[k]
    return (state[at_word[k]] >> at_shift[k]) & at_mask[k]


@compiled
def choose_present(e, state, lazily, chosen_from, lists, chosen):
    """Write the instances for each element of a view that is present; how many there are."""
    if lazily is None:
        return np.int64(0)
    _, at_word, at_shift, at_mask, _, _, views, _, _ = lazily
    components, choices, begins = chosen_from
    v, at, length = choices[3 * e], choices[3 * e + 1], choices[3 * e + 2]
    first, count = views[6 * v + 4], views[6 * v + 5]
    n = 0
    for j in range(count):
        k = components[first + j]
        if (state[at_word[k]] >> at_shift[k]) & at_mask[k] != 0:
            for y in range(begins[at + j], begins[at + j] + length):
                chosen[n] = lists[y]
                n += 1
    return n


@compiled
def shorten(k, row, group, begin, end, root_at, tree, answers, leaves, short, used):
    """What remains to be asked of some instances, given the value of their first component.

    Their trees begin with probes of component `k`, whose answers stand at `row`. Written to
    `short` from `used` on: how many remain, are blocked, and are blocked by a limit; for how
    many states it was used; where each that remains goes on, and its instance; what counts the
    guards that block; what is to be asked beyond the limits. Answers how far it has written.
    """
    remain = 0
    blocks = 0
    limits = 0
    at = used + 4
    for x in range(begin, end):
        node = np.int64(tree[root_at[group[x]]])
        while node >= 0 and tree[node] == k:
            following = child_of(tree, node, np.int64(answers[row + tree[node + 1]]))
            if following == UNKNOWN:
                break
            node = following
        blocked = node <= LEAF and leaves[(LEAF - node) * LEAF_SIZE] == BLOCKED
        if not blocked:
            short[at] = node
            short[at + 1] = group[x]
            at += 2
            remain += 1
        else:
            # aside, behind the room that all would take if none were blocked
            blocks += 1
            short[used + 4 + 2 * (end - begin) + blocks - 1] = leaves[(LEAF - node) * LEAF_SIZE + 1]
            beyond = leaves[(LEAF - node) * LEAF_SIZE + 2]
            if beyond >= 0:
                limits += 1
                short[used + 4 + 3 * (end - begin) + limits - 1] = beyond
    for y in range(blocks):
        short[at + y] = short[used + 4 + 2 * (end - begin) + y]
    at += blocks
    for y in range(limits):
        short[at + y] = short[used + 4 + 3 * (end - begin) + y]
    at += limits
    short[used] = remain
    short[used + 1] = blocks
    short[used + 2] = limits
    short[used + 3] = 0
    return at


@compiled
def count_blocks(short, used, blocked):
    """Count, for every use of what was shortened, the guards that block; and begin anew."""
    at = 0
    while at < used:
        remain, blocks, limits, times = short[at], short[at + 1], short[at + 2], short[at + 3]
        for y in range(at + 4 + 2 * remain, at + 4 + 2 * remain + blocks):
            blocked[short[y]] += times
        short[at + 3] = 0
        at += 4 + 2 * remain + blocks + limits


@compiled
def note_latest(words, i, ids, latest, latest_words):
    """Note a state that has the latest value of a component so far."""
    for k in range(len(latest)):
        if ids[k] > latest[k]:
            latest[k] = ids[k]
            for w in range(words.shape[0]):
                latest_words[w, k] = words[w, i]


@compiled
def mark(words, begin, end, layout, roots, known, elements, masks, noted, most):
    """The mask of what each of a range of states marks; how far it came, and how many it missed.

    A state that is missed has the mask 0.
    """
    at_word, at_shift, at_mask = layout
    root_at, tree_, answers_, answers_at, stride, leaves_, lists_ = known
    misses_, miss_count, missed, latest, latest_words = noted
    if elements is None:
        fixed = np.int64(len(at_word))
        lazily = chosen_from = None
    else:
        fixed = np.int64(elements.fixed)
        lazily = (
            fixed, pointer_to(at_word), pointer_to(at_shift), pointer_to(at_mask),
            pointer_to(answers_at), pointer_to(stride), pointer_to(elements.views),
            pointer_to(elements.words), pointer_to(elements.known),
        )  # fmt: skip
        chosen_from = (
            pointer_to(elements.components), pointer_to(elements.choices),
            pointer_to(elements.lists),
        )  # fmt: skip
    rows_ = np.empty(fixed, np.int64)
    ids_ = np.empty(fixed, np.int64)
    chosen_ = np.empty(most, np.int32)
    state_ = np.empty(words.shape[0], np.int64)
    chosen = pointer_to(chosen_)
    state = pointer_to(state_)
    ids = pointer_to(ids_)
    rows = pointer_to(rows_)
    tree = pointer_to(tree_)
    answers = pointer_to(answers_)
    misses = pointer_to(misses_)
    leaves = pointer_to(leaves_)
    lists = pointer_to(lists_)
    roots_ = pointer_to(root_at)
    nmiss = miss_count[0]
    lost = 0
    stop = end
    for i in range(begin, end):
        if nmiss + most > len(misses_) // 5:
            stop = i
            break
        if elements is not None:
            for w in range(words.shape[0]):
                state[w] = words[w, i]
        is_latest = False
        for k in range(fixed):
            number = (words[at_word[k], i] >> at_shift[k]) & at_mask[k]
            ids[k] = number
            is_latest |= number > latest[k]
            rows[k] = answers_at[k] + number * stride[k]
        if is_latest:
            note_latest(words, i, ids, latest, latest_words)
        before = nmiss
        mask = 0
        for x in range(len(roots)):
            leaf = walk(
                tree[roots_[roots[x]]], roots[x], rows, tree, answers, misses, nmiss, i,
                state, lazily,
            )  # fmt: skip
            if leaf < 0:
                nmiss += 1
                continue
            kind = leaves[leaf * LEAF_SIZE]
            if kind == MARK:
                mask |= np.int64(1) << np.int64(leaves[leaf * LEAF_SIZE + 1])
            elif kind in (CHOICES, EACH):
                source, y, list_end = lists, np.int64(0), np.int64(0)
                if kind == CHOICES:
                    y = np.int64(leaves[leaf * LEAF_SIZE + 1])
                    list_end = np.int64(leaves[leaf * LEAF_SIZE + 2])
                else:
                    source = chosen
                    e = leaves[leaf * LEAF_SIZE + 1]
                    list_end = choose_present(e, state, lazily, chosen_from, lists, chosen)
                while y < list_end:
                    one = walk(
                        tree[roots_[source[y]]], source[y], rows, tree, answers, misses, nmiss, i,
                        state, lazily,
                    )  # fmt: skip
                    if one < 0:
                        nmiss += 1
                    elif leaves[one * LEAF_SIZE] == MARK:
                        mask |= np.int64(1) << np.int64(leaves[one * LEAF_SIZE + 1])
                    y += 1
        if nmiss != before:
            missed[lost] = i
            lost += 1
            mask = 0
        masks[i] = mask
    miss_count[0] = nmiss
    return stop, lost + 0 * (len(rows_) + len(ids_) + len(chosen_) + len(state_))


@compiled
def expand(
    words, begin, end, layout, asked, known, elements, shortened, found, noted, most, most_misses
):  # fmt: skip
    """Write the successors of a range of states, of those of which everything is known.

    Answers how far it came, how many successors there are, and how many states it missed.
    A state has at most `most` instances and `most_misses` misses: there is always room for those
    of a block.
    """
    at_word, at_shift, at_mask = layout
    groups, group, others, limits_always, final = asked[:5]
    writes_, keep_, put_, recipe_at_, recipe_room_, recipe_table_ = asked[5:]
    root_at, tree_, answers_, answers_at, stride, leaves_, lists_ = known
    short_, short_used, short_at, short_begin = shortened
    successors, origins, masks, fired, blocked, ends = found
    misses_, miss_count, missed, latest, latest_words = noted
    leaves_found_ = np.empty(most * BLOCK, np.int64)
    of = np.empty(most * BLOCK, np.int64)
    state_at = np.empty(BLOCK + 1, np.int64)
    edges_ = np.empty(2 * most + len(limits_always), np.int64)
    if elements is None:
        fixed = np.int64(len(at_word))
        lazily = chosen_from = None
    else:
        fixed = np.int64(elements.fixed)
        lazily = (
            fixed, pointer_to(at_word), pointer_to(at_shift), pointer_to(at_mask),
            pointer_to(answers_at), pointer_to(stride), pointer_to(elements.views),
            pointer_to(elements.words), pointer_to(elements.known),
        )  # fmt: skip
        chosen_from = (
            pointer_to(elements.components), pointer_to(elements.choices),
            pointer_to(elements.lists),
        )  # fmt: skip
    chosen_ = np.empty(most, np.int32)
    state_ = np.empty(words.shape[0], np.int64)
    chosen = pointer_to(chosen_)
    state = pointer_to(state_)
    ids_ = np.empty(fixed, np.int64)
    answered = pointer_to(leaves_found_)
    edges = pointer_to(edges_)
    rows_ = np.empty(fixed, np.int64)
    ids = pointer_to(ids_)
    rows = pointer_to(rows_)
    tree = pointer_to(tree_)
    answers = pointer_to(answers_)
    misses = pointer_to(misses_)
    leaves = pointer_to(leaves_)
    lists = pointer_to(lists_)
    writes = pointer_to(writes_)
    keep = pointer_to(keep_)
    put = pointer_to(put_)
    recipe_at = pointer_to(recipe_at_)
    recipe_room = pointer_to(recipe_room_)
    recipe_table = pointer_to(recipe_table_)
    roots_ = pointer_to(root_at)
    short = pointer_to(short_)
    most_short = 16
    for x in range(len(groups)):
        most_short += 8 + 4 * (groups[x, 2] - groups[x, 1])
    width = words.shape[0]
    nmiss = miss_count[0]
    n = 0
    lost = 0
    stop = begin
    while stop < end:
        first_of_block, last_of_block = stop, min(end, stop + BLOCK)
        if n + BLOCK * most > successors.shape[1]:
            last_of_block = min(end, stop + 1)
            if n + most > successors.shape[1]:
                break
        if short_used[0] + BLOCK * most_short > len(short_):
            break
        if nmiss + BLOCK * most_misses > len(misses_) // 5:
            last_of_block = min(end, stop + 1)
            if nmiss + most_misses > len(misses_) // 5:
                break
        # First what each state of a block comes to, and the memory that its successors take.
        count = 0
        for i in range(first_of_block, last_of_block):
            if elements is not None:
                for w in range(words.shape[0]):
                    state[w] = words[w, i]
            is_latest = False
            for k in range(fixed):
                number = (words[at_word[k], i] >> at_shift[k]) & at_mask[k]
                ids[k] = number
                is_latest |= number > latest[k]
                rows[k] = answers_at[k] + number * stride[k]
            if is_latest:
                note_latest(words, i, ids, latest, latest_words)
            before = nmiss
            state_at[i - first_of_block] = count
            limits = 0
            steps = 0
            mask = np.int64(0)
            for g in range(len(groups) + 1):
                x = 0
                x_end = np.int64(len(others))
                if g < len(groups):
                    k = groups[g, 0]
                    number = number_at(k, ids, state, lazily)
                    cell = short_begin[k] + number
                    x = np.int64(short_at[cell])
                    if x < 0:
                        x = short_used[0]
                        short_used[0] = shorten(
                            k,
                            answers_at[k] + number * stride[k],
                            group,
                            groups[g, 1],
                            groups[g, 2],
                            roots_,
                            tree,
                            answers,
                            leaves,
                            short,
                            x,
                        )
                        short_at[cell] = x
                    short[x + 3] += 1
                    x_end = x + 4 + 2 * short[x]
                    x += 4
                while x < x_end:
                    if g < len(groups):
                        node = np.int64(short[x])
                        instance = np.int64(short[x + 1])
                        x += 2
                    else:
                        instance = np.int64(others[x])
                        node = np.int64(tree[roots_[instance]])
                        x += 1
                    source = lists
                    y = np.int64(0)
                    list_end = np.int64(0)
                    while True:
                        leaf = walk(
                            node, instance, rows, tree, answers, misses, nmiss, i,
                            state, lazily,
                        )  # fmt: skip
                        if leaf < 0:
                            nmiss += 1
                        else:
                            kind = leaves[leaf * LEAF_SIZE]
                            if kind == CHOICES:
                                source = lists
                                y = np.int64(leaves[leaf * LEAF_SIZE + 1])
                                list_end = np.int64(leaves[leaf * LEAF_SIZE + 2])
                            elif kind == EACH:
                                source = chosen
                                y = np.int64(0)
                                e = leaves[leaf * LEAF_SIZE + 1]
                                list_end = choose_present(
                                    e, state, lazily, chosen_from, lists, chosen
                                )
                            elif kind == MARK:
                                mask |= np.int64(1) << np.int64(leaves[leaf * LEAF_SIZE + 1])
                            else:
                                answered[count] = leaf
                                of[count] = instance
                                count += 1
                                if kind == STEP:
                                    steps += 1
                                    for z in range(
                                        leaves[leaf * LEAF_SIZE + 2], leaves[leaf * LEAF_SIZE + 3]
                                    ):
                                        recipe = writes[z * 3 + 1]
                                        base = np.int64(writes[z * 3 + 2])
                                        number = number_at(base, ids, state, lazily)
                                        prefetch(recipe_table_, recipe_at[recipe] + number)
                                elif leaves[leaf * LEAF_SIZE + 2] >= 0:
                                    edges[limits] = leaves[leaf * LEAF_SIZE + 2]
                                    limits += 1
                        if y >= list_end:
                            break
                        instance = np.int64(source[y])
                        node = np.int64(tree[roots_[instance]])
                        y += 1
            if nmiss == before and steps == 0 and mask == 0:
                leaf = walk(
                    tree[roots_[final]], final, rows, tree, answers, misses, nmiss, i,
                    state, lazily,
                )  # fmt: skip
                is_open = False
                if leaf < 0:
                    nmiss += 1
                elif leaves[leaf * LEAF_SIZE] == MARK:
                    is_open = True
                    if leaves[leaf * LEAF_SIZE + 1] == FAILED_BIT:
                        mask |= np.int64(1) << FAILED_BIT
                else:
                    for z in range(len(limits_always)):
                        edges[limits] = limits_always[z]
                        limits += 1
                    for g in range(len(groups)):
                        k = groups[g, 0]
                        number = number_at(k, ids, state, lazily)
                        x = short_at[short_begin[k] + number]
                        z = x + 4 + 2 * short[x] + short[x + 1]
                        for y in range(z, z + short[x + 2]):
                            edges[limits] = short[y]
                            limits += 1
                    for z in range(limits):
                        one = walk(
                            tree[roots_[edges[z]]], edges[z], rows, tree, answers, misses, nmiss,
                            i, state, lazily,
                        )  # fmt: skip
                        if one < 0:
                            nmiss += 1
                        elif leaves[one * LEAF_SIZE] == MARK:
                            if leaves[one * LEAF_SIZE + 1] == FAILED_BIT:
                                mask |= np.int64(1) << FAILED_BIT
                            else:
                                is_open = True
                    if is_open and nmiss == before:
                        mask = np.int64(0)  # the specification asks no further than this
                        ends[0] += 1
                if not is_open and mask == 0 and nmiss == before:
                    mask |= np.int64(1) << DEADLOCK_BIT
            masks[i] = mask
            if nmiss != before:
                masks[i] = -1
        state_at[last_of_block - first_of_block] = count
        # Then the successors.
        for i in range(first_of_block, last_of_block):
            is_lost = masks[i] == -1
            before = nmiss
            first = n
            stop_at = state_at[i - first_of_block + 1]
            if is_lost:
                stop_at = state_at[i - first_of_block]
            for y in range(state_at[i - first_of_block], stop_at):
                leaf = answered[y]
                if leaves[leaf * LEAF_SIZE] != STEP:
                    continue
                effect = leaves[leaf * LEAF_SIZE + 1]
                for w in range(width):
                    at = effect * width + w
                    successors[w, n] = (words[w, i] & keep[at]) | put[at]
                for z in range(leaves[leaf * LEAF_SIZE + 2], leaves[leaf * LEAF_SIZE + 3]):
                    recipe = writes[z * 3 + 1]
                    base = writes[z * 3 + 2]
                    old = (words[at_word[base], i] >> at_shift[base]) & at_mask[base]
                    new = np.int64(-1)
                    if old < recipe_room[recipe]:
                        new = np.int64(recipe_table[recipe_at[recipe] + old])
                    if new < 0:
                        note_miss(misses, nmiss, MISSED_RECIPE, recipe, old, 0, i)
                        nmiss += 1
                    else:
                        k = writes[z * 3]
                        successors[at_word[k], n] |= new << at_shift[k]
                origins[n] = np.int64(i) << LABEL_BITS | of[y]
                n += 1
            if is_lost or nmiss != before:
                n = first
                missed[lost] = i
                lost += 1
                masks[i] = 0
                for g in range(len(groups)):  # it will be counted when it is known
                    k = groups[g, 0]
                    old = (words[at_word[k], i] >> at_shift[k]) & at_mask[k]
                    short[short_at[short_begin[k] + old] + 3] -= 1
                continue
            for y in range(state_at[i - first_of_block], state_at[i - first_of_block + 1]):
                leaf = answered[y]
                if leaves[leaf * LEAF_SIZE] == STEP:
                    fired[leaves[leaf * LEAF_SIZE + 4]] += 1
                else:
                    blocked[leaves[leaf * LEAF_SIZE + 1]] += 1
        stop = last_of_block
    miss_count[0] = nmiss
    kept = len(ids_) + len(rows_) + len(leaves_found_) + len(edges_) + len(chosen_) + len(state_)
    return stop, n, lost + 0 * kept


@compiled
def move_to_other_words(words, count, at_word, at_shift, at_mask, new_word, new_shift, moved):
    """The same states in another packing."""
    for w in range(moved.shape[0]):
        for i in range(count):
            moved[w, i] = 0
    for k in range(len(at_word)):
        word, shift, mask = at_word[k], at_shift[k], at_mask[k]
        to, by = new_word[k], new_shift[k]
        for i in range(count):
            moved[to, i] |= ((words[word, i] >> shift) & mask) << by


# -- simulation -----------------------------------------------------------------------------------


@compiled
def mixed(number):
    """As `simulate.mixed`."""
    number = np.uint64(number)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@compiled
def key_of(words, n, at_word, at_shift, at_mask):
    """A hash of a state, which does not depend on the packing; never 0."""
    key = np.uint64(0)
    for k in range(len(at_word)):
        part = (words[at_word[k], n] >> at_shift[k]) & at_mask[k]
        key = (key ^ np.uint64(part + 1)) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key | np.uint64(1)


@compiled
def place_of(key, keys):
    """Where a key stands among those visited, or the empty place where it belongs."""
    mask = np.int64(len(keys) - 1)
    at = np.int64(key >> np.uint64(8)) & mask
    while keys[at] != 0 and keys[at] != key:
        at = (at + 1) & mask
    return at


@compiled
def visit(at, key, keys, visits, used, most):
    """Count a visit; whether it is the first, as far as is known."""
    if keys[at] == key:
        visits[at] += 1
        return False
    if used[0] < most:
        keys[at] = key
        visits[at] = 1
        used[0] += 1
    return True


@compiled
def visit_all(words, count, at_word, at_shift, at_mask, keys, visits, used, most, fresh):
    """Count a visit of each of some states, and note which visits are the first."""
    for n in range(count):
        key = key_of(words, n, at_word, at_shift, at_mask)
        fresh[n] = visit(place_of(key, keys), key, keys, visits, used, most)


@compiled
def choose(
    origins, labels, successors, count, ranks, chance, walks, at_word, at_shift, at_mask, keys,
    visits, used, most, chosen, fresh,
):  # fmt: skip
    """Choose one of the successors of each state, of those visited least often, and visit it.

    Those of one state stand side by side. `ranks` has a random number for each label, and
    `chance` is one for this step; `walks` has the number of the walk that each state is of.
    """
    n = 0
    while n < count:
        state = origins[n]
        draw = mixed(chance ^ np.uint64(walks[state]))
        least = np.int64(-1)
        lowest = np.uint64(0)
        best_key = np.uint64(0)
        best_at = np.int64(0)
        while n < count and origins[n] == state:
            key = key_of(successors, n, at_word, at_shift, at_mask)
            at = place_of(key, keys)
            times = np.int64(visits[at]) if keys[at] == key else np.int64(0)
            drawn = mixed(ranks[labels[n]] ^ draw)
            if least < 0 or times < least or (times == least and drawn < lowest):
                least, lowest, best_key, best_at = times, drawn, key, at
                chosen[state] = n
            n += 1
        fresh[state] = visit(best_at, best_key, keys, visits, used, most)


@compiled
def move_visits(keys, visits, new_keys, new_visits):
    """Move to a larger table of visits."""
    for i in range(len(keys)):
        if keys[i] != 0:
            at = place_of(keys[i], new_keys)
            new_keys[at] = keys[i]
            new_visits[at] = visits[i]
