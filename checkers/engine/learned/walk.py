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
SEGMENT_SIZE = 3
"""Before the lists and instances of a segment: component, instances, values."""
LIST_SIZE = 5
"""Before what a list lists: its uses, its length, how many guards block, and how many limits; how
many lists were made of it."""
USES = 16
"""For each further list that is made of a list, that list was used this often."""
NO_LIST = -1
"""In place of a list that is not made yet."""
FEW_VALUES = 1 << 10
"""There are no lists by the value of a component that has more values than this."""
ALONE = -1
"""In place of the component of a segment: its instances are asked one by one."""
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
    """The instance that says whether a behaviour may end, and what rules write."""

    final: int
    writes: Words
    keep: Words
    put: Words
    recipe_at: Words
    recipe_room: Words
    recipe_table: Words


class Lists(NamedTuple):
    """Lists of the instances that remain to be asked, given the values of some components.

    A list has its uses, its length, how many guards block and how many of them are limits, and how
    many lists were made of it since its uses were collected; what counts the guards that block;
    what is to be asked beyond the limits; and **segments**: a component, how many instances ask
    about it next, how many values have a cell, a cell for each value with the list that then
    remains, and for each instance the node where it goes on, and its number. Instances without
    company form the last segment, which has no component.
    """

    entries: Words
    used: Words
    """How many of the entries are in use."""
    values: Words
    """By component, how many values it has; and how many values have lists at most."""
    nodes: Words
    """While a list is written: where the instances go on that remain."""
    instances: Words
    limits: Words
    segments: Words
    """By component: how many instances ask about it, or where the next is written; else 0."""


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
def pointers_to(lists):
    """Pointers to the arrays of lists."""
    entries, used, values, nodes, instances, limits, segments = lists
    return (
        pointer_to(entries), pointer_to(used), pointer_to(values), pointer_to(nodes),
        pointer_to(instances), pointer_to(limits), pointer_to(segments),
    )  # fmt: skip


@compiled
def room_for_list(most, values):
    """The most entries of a list for states that have this many instances and values."""
    return LIST_SIZE + SEGMENT_SIZE + 5 * most + values


@compiled
def next_component(node, tree, k, values):
    """The component that a node asks about, if a list by its value is worth its room."""
    of = np.int64(ALONE)
    if node >= 0 and tree[node] >= 0 and tree[node] != k:
        of = np.int64(tree[node])
        if values[of] > FEW_VALUES:
            of = np.int64(ALONE)
    return of


@compiled
def shorten(k, row, begin, end, known, made, at):
    """Write the list of what remains of some instances, given the value of component `k`.

    The answers for this value stand at `row`. Returns where the list ends.
    """
    roots, tree, answers, leaves, lists = known
    entries, _, values, nodes, instances, limits, segments = made
    remain = 0
    blocking = 0
    limiting = 0
    begin_blocks = at + LIST_SIZE
    for x in range(begin, end, 2):
        node = np.int64(entries[x])
        instance = np.int64(entries[x + 1])
        y = np.int64(0)
        list_end = np.int64(0)
        while True:
            while node >= 0 and tree[node] == k:
                following = child_of(tree, node, np.int64(answers[row + tree[node + 1]]))
                if following == UNKNOWN:
                    break
                node = following
            leaf = (LEAF - node) * LEAF_SIZE
            if node <= LEAF and leaves[leaf] == CHOICES:
                y = np.int64(leaves[leaf + 1])
                list_end = np.int64(leaves[leaf + 2])
            elif node <= LEAF and leaves[leaf] == BLOCKED:
                entries[begin_blocks + blocking] = leaves[leaf + 1]
                blocking += 1
                if leaves[leaf + 2] >= 0:
                    limits[limiting] = leaves[leaf + 2]
                    limiting += 1
            elif node > LEAF or leaves[leaf] != NOTHING:
                nodes[remain] = node
                instances[remain] = instance
                remain += 1
            if y >= list_end:
                break
            instance = np.int64(lists[y])
            node = np.int64(tree[roots[instance]])
            y += 1
    entries[at] = 0
    entries[at + 2] = blocking
    entries[at + 3] = limiting
    entries[at + 4] = 0
    to = begin_blocks + blocking
    for y in range(limiting):
        entries[to] = limits[y]
        to += 1
    # By component how many instances ask about it, and then where the next of them is written.
    # What has no answer for this value is not asked about it once more.
    for x in range(remain):
        of = next_component(nodes[x], tree, k, values)
        if of != ALONE:
            segments[of] += 1
    alone = 0
    first = to
    for x in range(remain):
        node = nodes[x]
        of = next_component(node, tree, k, values)
        if of == ALONE or segments[of] == 1:
            nodes[alone] = node
            instances[alone] = instances[x]
            alone += 1
            continue
        if segments[of] > 0:
            entries[to] = of
            entries[to + 1] = segments[of]
            entries[to + 2] = values[of]
            for y in range(to + SEGMENT_SIZE, to + SEGMENT_SIZE + values[of]):
                entries[y] = NO_LIST
            y = to + SEGMENT_SIZE + values[of]
            to = y + 2 * segments[of]
            segments[of] = -y
        entries[-segments[of]] = node
        entries[1 - segments[of]] = instances[x]
        segments[of] -= 2
    while first < to:
        segments[entries[first]] = 0
        first += SEGMENT_SIZE + entries[first + 2] + 2 * entries[first + 1]
    if alone:
        entries[to] = ALONE
        entries[to + 1] = alone
        entries[to + 2] = 0
        to += SEGMENT_SIZE
        for x in range(alone):
            of = next_component(nodes[x], tree, k, values)
            if of != ALONE:
                segments[of] = 0
            entries[to] = nodes[x]
            entries[to + 1] = instances[x]
            to += 2
    entries[at + 1] = to - at
    return to


@compiled
def begin_list(asked, lists, known):
    """The list of some instances, of which no value is known; returns where it begins."""
    entries, used = lists.entries, lists.used
    roots, tree = known.root_at, known.tree
    answering = (
        pointer_to(roots), pointer_to(tree), pointer_to(known.answers), pointer_to(known.leaves),
        pointer_to(known.lists),
    )  # fmt: skip
    # First as a list of one segment.
    at = used[0]
    begin = at + LIST_SIZE + SEGMENT_SIZE
    end = begin + 2 * len(asked)
    entries[at:begin] = 0
    entries[at + 1] = end - at
    entries[at + LIST_SIZE] = ALONE
    entries[at + LIST_SIZE + 1] = len(asked)
    for x in range(len(asked)):
        entries[begin + 2 * x] = tree[roots[asked[x]]]
        entries[begin + 2 * x + 1] = asked[x]
    used[0] = shorten(ALONE, 0, begin, end, answering, pointers_to(lists), end)
    return end


@compiled
def list_after(before, segment, row, number, known, made, last_begin):
    """The list that a segment of the list `before` becomes by the value of its component.

    NO_LIST if there is none, and `before` is not used enough, or there is no room: the last list
    may begin at `last_begin`.
    """
    entries, used = made[:2]
    if number >= entries[segment + 2]:
        return np.int64(NO_LIST)
    cell = segment + SEGMENT_SIZE + number
    at = np.int64(entries[cell])
    if at == NO_LIST and USES * entries[before + 4] <= entries[before] and used[0] <= last_begin:
        entries[before + 4] += 1
        at = used[0]
        begin = segment + SEGMENT_SIZE + entries[segment + 2]
        end = begin + 2 * entries[segment + 1]
        used[0] = shorten(np.int64(entries[segment]), row, begin, end, known, made, at)
        entries[cell] = at
    return at


@compiled
def count_blocks(entries, used, blocked):
    """Count, for every use of a list, the guards that block; and begin anew."""
    at = np.int64(0)
    while at < used:
        for y in range(at + LIST_SIZE, at + LIST_SIZE + entries[at + 2]):
            blocked[entries[y]] += entries[at]
        entries[at] = 0
        entries[at + 4] = 0
        at += entries[at + 1]


@compiled
def note_latest(words, i, ids, latest, latest_words):
    """Note a state that has the latest value of a component so far."""
    for k in range(len(latest)):
        if ids[k] > latest[k]:
            latest[k] = ids[k]
            for w in range(words.shape[0]):
                latest_words[w, k] = words[w, i]


@compiled
def mark(words, begin, end, layout, first_list, shortened, known, elements, masks, noted, most):
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
    visited_ = np.empty(2 * most, np.int64)
    visited = pointer_to(visited_)
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
    made = pointers_to(shortened)
    last_begin = len(shortened.entries) - room_for_list(most, shortened.values[-1])
    entries = pointer_to(shortened.entries)
    answering = roots_, tree, answers, leaves, lists
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
        visited[0] = first_list
        count = 1
        turn = 0
        while turn < count:
            x = visited[turn]
            turn += 1
            entries[x] += 1
            x_end = x + entries[x + 1]
            x += LIST_SIZE + entries[x + 2] + entries[x + 3]
            while x < x_end:
                k = np.int64(entries[x])
                at = x + SEGMENT_SIZE + entries[x + 2]
                at_end = at + 2 * entries[x + 1]
                if k != ALONE and count < 2 * most:
                    number = number_at(k, ids, state, lazily)
                    following = list_after(
                        visited[turn - 1], x, answers_at[k] + number * stride[k], number,
                        answering, made, last_begin,
                    )  # fmt: skip
                    if following >= 0:
                        visited[count] = following
                        count += 1
                        at = at_end
                while at < at_end:
                    node = np.int64(entries[at])
                    instance = np.int64(entries[at + 1])
                    at += 2
                    source = lists
                    y = np.int64(0)
                    list_end = np.int64(0)
                    while True:
                        leaf = walk(
                            node, instance, rows, tree, answers, misses, nmiss, i, state, lazily
                        )
                        if leaf < 0:
                            nmiss += 1
                        elif leaves[leaf * LEAF_SIZE] == MARK:
                            mask |= np.int64(1) << np.int64(leaves[leaf * LEAF_SIZE + 1])
                        elif leaves[leaf * LEAF_SIZE] == CHOICES:
                            source = lists
                            y = np.int64(leaves[leaf * LEAF_SIZE + 1])
                            list_end = np.int64(leaves[leaf * LEAF_SIZE + 2])
                        elif leaves[leaf * LEAF_SIZE] == EACH:
                            source = chosen
                            y = np.int64(0)
                            e = leaves[leaf * LEAF_SIZE + 1]
                            list_end = choose_present(e, state, lazily, chosen_from, lists, chosen)
                        if y >= list_end:
                            break
                        instance = np.int64(source[y])
                        node = np.int64(tree[roots_[instance]])
                        y += 1
                x = at_end
        if nmiss != before:
            missed[lost] = i
            lost += 1
            mask = 0
        masks[i] = mask
    miss_count[0] = nmiss
    kept = len(ids_) + len(rows_) + len(chosen_) + len(state_) + len(visited_)
    return stop, lost + 0 * kept


@compiled
def expand(
    words, begin, end, layout, asked, first_list, shortened, known, elements, found, noted, most,
    most_misses,
):  # fmt: skip
    """Write the successors of a range of states, of those of which everything is known.

    Answers how far it came, how many successors there are, and how many states it missed.
    A state has at most `most` instances and `most_misses` misses: there is always room for those
    of a block.
    """
    at_word, at_shift, at_mask = layout
    final, writes_, keep_, put_, recipe_at_, recipe_room_, recipe_table_ = asked
    root_at, tree_, answers_, answers_at, stride, leaves_, lists_ = known
    made = pointers_to(shortened)
    last_begin = len(shortened.entries) - room_for_list(most, shortened.values[-1])
    successors, origins, masks, fired, blocked, ends = found
    misses_, miss_count, missed, latest, latest_words = noted
    leaves_found_ = np.empty(most * BLOCK, np.int64)
    of = np.empty(most * BLOCK, np.int64)
    state_at = np.empty(BLOCK + 1, np.int64)
    edges_ = np.empty(2 * most, np.int64)
    visited_ = np.empty(2 * most * BLOCK, np.int64)
    visited_at = np.empty(BLOCK + 1, np.int64)
    visited = pointer_to(visited_)
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
    entries = pointer_to(shortened.entries)
    answering = roots_, tree, answers, leaves, lists
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
        if nmiss + BLOCK * most_misses > len(misses_) // 5:
            last_of_block = min(end, stop + 1)
            if nmiss + most_misses > len(misses_) // 5:
                break
        # First what each state of a block comes to, and the memory that its successors take.
        count = 0
        visits = 0
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
            visited_at[i - first_of_block] = visits
            most_visits = visits + 2 * most
            turn = visits
            visited[turn] = first_list
            visits += 1
            while turn < visits:
                x = visited[turn]
                turn += 1
                x_end = x + entries[x + 1]
                x += LIST_SIZE + entries[x + 2] + entries[x + 3]
                while x < x_end:
                    k = np.int64(entries[x])
                    at = x + SEGMENT_SIZE + entries[x + 2]
                    at_end = at + 2 * entries[x + 1]
                    if k != ALONE and visits < most_visits:
                        number = number_at(k, ids, state, lazily)
                        following = list_after(
                            visited[turn - 1], x, answers_at[k] + number * stride[k], number,
                            answering, made, last_begin,
                        )  # fmt: skip
                        if following >= 0:
                            visited[visits] = following
                            visits += 1
                            at = at_end
                    while at < at_end:
                        node = np.int64(entries[at])
                        instance = np.int64(entries[at + 1])
                        at += 2
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
                                            leaves[leaf * LEAF_SIZE + 2],
                                            leaves[leaf * LEAF_SIZE + 3],
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
                    x = at_end
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
                    for z in range(visited_at[i - first_of_block], visits):
                        x = visited[z] + LIST_SIZE + entries[visited[z] + 2]
                        for y in range(x, x + entries[visited[z] + 3]):
                            edges[limits] = entries[y]
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
        visited_at[last_of_block - first_of_block] = visits
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
                continue  # it will be counted when it is known
            for z in range(visited_at[i - first_of_block], visited_at[i - first_of_block + 1]):
                entries[visited[z]] += 1
            for y in range(state_at[i - first_of_block], state_at[i - first_of_block + 1]):
                leaf = answered[y]
                if leaves[leaf * LEAF_SIZE] == STEP:
                    fired[leaves[leaf * LEAF_SIZE + 4]] += 1
                else:
                    blocked[leaves[leaf * LEAF_SIZE + 1]] += 1
        stop = last_of_block
    miss_count[0] = nmiss
    kept = len(ids_) + len(rows_) + len(leaves_found_) + len(edges_) + len(chosen_) + len(state_)
    kept += len(visited_)
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
