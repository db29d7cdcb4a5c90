"""The compiled part: paths become decision trees, and states are answered by walking them.

A tree is laid out in one array. A node stands at an address: its component, its probe among
those of the component, how many children there is room for, and the children, by the answer. A
child is the address of a node, LEAF - n for leaf n, or UNKNOWN. The answers of all probes of a
component for one value stand side by side in `answers`.
"""

from __future__ import annotations

import numpy as np

from impl.packed.compiled import compiled
from impl.packed.pointer import pointer_to

UNKNOWN = -1
LEAF = -2

SHAPE, WHOLE, SIZE, HAS, EQUALS = range(5)
"""As in `standins`."""

NOTHING, BLOCKED, STEP, CHOICES, MARK = range(5)
"""What a leaf says: nothing; a guard blocks; a successor; more instances to ask; a mark."""

DEADLOCK_BIT = 62
"""Of a mask: no rule is enabled, limits aside, and this is no end."""
FAILED_BIT = 61
"""A rule or a property raised an exception here."""
OPEN_BIT = 60
"""A rule is enabled but for the limits, or a behaviour may end here."""
FINAL_BIT = 59

LEAF_SIZE = 5
NODE_SIZE = 4
"""Before the children of a node: component, probe among its own, room, and probe."""

MISSED_PATH, MISSED_RECIPE = 0, 1

AGAIN, GROW, REBUILD, CONFLICT = 1, 2, 3, 4


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
def add_paths(
    runs, reads, first, last, keys, numbers, counts, probes, local, skipped, tree, sizes,
    root_at, depends,
):  # fmt: skip
    """Put paths into their trees: why it stopped, and before which path.

    A probe that has given one answer so far is skipped. `sizes` says how long the trees are.
    """
    for r in range(first, last):
        if counts[len(counts) - 1] * 2 + 1024 > len(keys):
            return AGAIN, r
        at = root_at[runs[r, 0]]
        for x in range(runs[r, 1], runs[r, 2], 2):
            q = reads[x]
            p = answer_number(q, reads[x + 1], keys, numbers, counts)
            if counts[q] == 1:
                skipped[q] = 1
                continue
            if skipped[q]:
                return REBUILD, r
            if sizes[0] + 8 * p + 64 > len(tree):
                return GROW, r
            depends[runs[r, 0]] |= np.int64(1) << probes[q, 0] % 63
            node = np.int64(tree[at])
            if node <= LEAF:
                return CONFLICT, r
            room = np.int64(0)
            if node != UNKNOWN:
                if tree[node + 3] != q:
                    return CONFLICT, r
                room = np.int64(tree[node + 2])
            if p >= room:
                larger = max(room, 2)
                while larger <= p:
                    larger *= 2
                to = sizes[0]
                sizes[0] += NODE_SIZE + larger
                tree[to] = probes[q, 0]
                tree[to + 1] = local[q]
                tree[to + 2] = larger
                tree[to + 3] = q
                for y in range(larger):
                    child = UNKNOWN
                    if y < room:
                        child = tree[node + NODE_SIZE + y]
                    tree[to + NODE_SIZE + y] = child
                tree[at] = to
                node = to
            at = node + NODE_SIZE + p
        if tree[at] == UNKNOWN:
            tree[at] = LEAF - runs[r, 3]
        elif tree[at] != LEAF - runs[r, 3]:
            return CONFLICT, r
    return 0, last


@compiled
def any_skipped_that_tells_apart(skipped, counts, probe_count):
    """Whether a probe that was skipped has another answer by now."""
    for q in range(probe_count):
        if skipped[q] and counts[q] > 1:
            return True
    return False


@compiled
def walk(instance, rows, root_at, tree, answers, misses, nmiss, i):
    """The leaf that answers an instance; -1 if it is not known, and then a miss is noted."""
    node = np.int64(tree[root_at[instance]])
    while node >= 0:
        p = np.int64(answers[rows[tree[node]] + tree[node + 1]])
        following = np.int64(UNKNOWN)
        if p >= 0 and p < tree[node + 2]:
            following = np.int64(tree[node + NODE_SIZE + p])
        if following == UNKNOWN:
            misses[nmiss * 5] = MISSED_PATH
            misses[nmiss * 5 + 1] = instance
            misses[nmiss * 5 + 2] = node
            misses[nmiss * 5 + 3] = p
            misses[nmiss * 5 + 4] = i
            return np.int64(-1)
        node = following
    if node == UNKNOWN:
        misses[nmiss * 5] = MISSED_PATH
        misses[nmiss * 5 + 1] = instance
        misses[nmiss * 5 + 2] = -1
        misses[nmiss * 5 + 3] = -1
        misses[nmiss * 5 + 4] = i
        return np.int64(-1)
    return LEAF - node


@compiled
def again(
    instance, changed, i, rows, root_at, depends, tree, answers, misses, nmiss, last, place,
):  # fmt: skip
    """As `walk`, but what depends on nothing that has changed since the state before is known."""
    if place[instance] == i - 1 and depends[instance] & changed == 0:
        place[instance] = i
        return np.int64(last[instance])
    leaf = walk(instance, rows, root_at, tree, answers, misses, nmiss, i)
    if leaf >= 0:
        last[instance] = leaf
        place[instance] = i
    return leaf


@compiled
def mark(
    words, begin, end, at_word, at_shift, at_mask, roots, root_at, depends, tree_, answers_,
    answers_at, stride, leaves_, lists_, masks, misses_, miss_count, missed, last_leaf,
    last_place, most,
):  # fmt: skip
    """The mask of what each of a range of states marks; how far it came, and how many it missed.

    A state that is missed has the mask 0.
    """
    ids_ = np.empty(len(at_word), np.int64)
    rows_ = np.empty(len(at_word), np.int64)
    ids = pointer_to(ids_)
    rows = pointer_to(rows_)
    tree = pointer_to(tree_)
    answers = pointer_to(answers_)
    misses = pointer_to(misses_)
    leaves = pointer_to(leaves_)
    lists = pointer_to(lists_)
    roots_ = pointer_to(root_at)
    depends_ = pointer_to(depends)
    last = pointer_to(last_leaf)
    place = pointer_to(last_place)
    for x in range(len(last_place)):
        last_place[x] = -2
    nmiss = miss_count[0]
    lost = 0
    stop = end
    for i in range(begin, end):
        if nmiss + 2 * most > len(misses_) // 5:
            stop = i
            break
        changed = np.int64(0)
        for k in range(len(at_word)):
            number = (words[at_word[k], i] >> at_shift[k]) & at_mask[k]
            if i == begin or number != ids[k]:
                changed |= np.int64(1) << k % 63
                ids[k] = number
                rows[k] = answers_at[k] + number * stride[k]
        before = nmiss
        mask = 0
        for x in range(len(roots)):
            leaf = again(
                roots[x], changed, i, rows, roots_, depends_, tree, answers, misses, nmiss,
                last, place,
            )
            if leaf < 0:
                nmiss += 1
                continue
            kind = leaves[leaf * LEAF_SIZE]
            if kind == MARK:
                mask |= np.int64(1) << np.int64(leaves[leaf * LEAF_SIZE + 1])
            elif kind == CHOICES:
                for y in range(leaves[leaf * LEAF_SIZE + 1], leaves[leaf * LEAF_SIZE + 2]):
                    one = again(
                        lists[y], changed, i, rows, roots_, depends_, tree, answers, misses, nmiss,
                        last, place,
                    )
                    if one < 0:
                        nmiss += 1
                    elif leaves[one * LEAF_SIZE] == MARK:
                        mask |= np.int64(1) << np.int64(leaves[one * LEAF_SIZE + 1])
        if nmiss != before:
            missed[lost] = i
            lost += 1
            mask = 0
        masks[i] = mask
    miss_count[0] = nmiss
    return stop, lost + 0 * (len(ids_) + len(rows_))


@compiled
def expand(
    words, begin, end, at_word, at_shift, at_mask, roots, limits_always, final, root_at,
    depends, tree_, answers_, answers_at, stride, leaves_, lists_, writes_, keep_, put_,
    recipe_at_, recipe_room_, recipe_table_, successors, origins, masks, fired, blocked, ends,
    misses_, miss_count, missed, last_leaf, last_place, most,
):  # fmt: skip
    """Write the successors of a range of states, of those of which everything is known.

    Answers how far it came, how many successors there are, and how many states it missed.
    `masks` says which have failed, or are deadlocks. `fired` counts by rule, `blocked` by guard
    of a rule, `ends` the states at the edge of the bounds.
    """
    found_ = np.empty(most, np.int64)
    edges_ = np.empty(most + len(limits_always), np.int64)
    ids_ = np.empty(len(at_word), np.int64)
    found = pointer_to(found_)
    edges = pointer_to(edges_)
    rows_ = np.empty(len(at_word), np.int64)
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
    depends_ = pointer_to(depends)
    last = pointer_to(last_leaf)
    place = pointer_to(last_place)
    for x in range(len(last_place)):
        last_place[x] = -2
    width = words.shape[0]
    nmiss = miss_count[0]
    n = 0
    lost = 0
    stop = end
    for i in range(begin, end):
        if n + most > successors.shape[1] or nmiss + 2 * most > len(misses_) // 5:
            stop = i
            break
        changed = np.int64(0)
        for k in range(len(at_word)):
            number = (words[at_word[k], i] >> at_shift[k]) & at_mask[k]
            if i == begin or number != ids[k]:
                changed |= np.int64(1) << k % 63
                ids[k] = number
                rows[k] = answers_at[k] + number * stride[k]
        before = nmiss
        first = n
        count = 0
        limits = 0
        steps = 0
        mask = np.int64(0)
        for x in range(len(roots)):
            instance = np.int64(roots[x])
            y = 0
            list_end = 0
            while True:
                leaf = again(
                    instance, changed, i, rows, roots_, depends_, tree, answers, misses, nmiss,
                    last, place,
                )
                if leaf < 0:
                    nmiss += 1
                else:
                    kind = leaves[leaf * LEAF_SIZE]
                    if kind == CHOICES:
                        y = leaves[leaf * LEAF_SIZE + 1]
                        list_end = leaves[leaf * LEAF_SIZE + 2]
                    elif kind == MARK:
                        mask |= np.int64(1) << np.int64(leaves[leaf * LEAF_SIZE + 1])
                    else:
                        found[count] = leaf
                        count += 1
                        if kind == STEP:
                            steps += 1
                        elif leaves[leaf * LEAF_SIZE + 2] >= 0:
                            edges[limits] = leaves[leaf * LEAF_SIZE + 2]
                            limits += 1
                if y >= list_end:
                    break
                instance = np.int64(lists[y])
                y += 1
        if nmiss == before and steps == 0 and mask == 0:
            leaf = walk(final, rows, roots_, tree, answers, misses, nmiss, i)
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
                for z in range(limits):
                    one = walk(edges[z], rows, roots_, tree, answers, misses, nmiss, i)
                    if one < 0:
                        nmiss += 1
                    elif leaves[one * LEAF_SIZE] == MARK:
                        is_open = True
                if is_open and nmiss == before:
                    ends[0] += 1
            if not is_open and nmiss == before:
                mask |= np.int64(1) << DEADLOCK_BIT
        if nmiss == before:
            for y in range(count):
                leaf = found[y]
                if leaves[leaf * LEAF_SIZE] != STEP:
                    continue
                effect = leaves[leaf * LEAF_SIZE + 1]
                for w in range(width):
                    at = effect * width + w
                    successors[w, n] = (words[w, i] & keep[at]) | put[at]
                for z in range(leaves[leaf * LEAF_SIZE + 2], leaves[leaf * LEAF_SIZE + 3]):
                    recipe = writes[z * 3 + 1]
                    old = ids[writes[z * 3 + 2]]
                    new = np.int64(-1)
                    if old < recipe_room[recipe]:
                        new = np.int64(recipe_table[recipe_at[recipe] + old])
                    if new < 0:
                        misses[nmiss * 5] = MISSED_RECIPE
                        misses[nmiss * 5 + 1] = recipe
                        misses[nmiss * 5 + 2] = old
                        misses[nmiss * 5 + 3] = 0
                        misses[nmiss * 5 + 4] = i
                        nmiss += 1
                    else:
                        k = writes[z * 3]
                        successors[at_word[k], n] |= new << at_shift[k]
                origins[n] = np.int64(i) << 16 | (n - first)
                n += 1
        if nmiss != before:
            n = first
            missed[lost] = i
            lost += 1
            masks[i] = 0
            continue
        masks[i] = mask
        for y in range(count):
            leaf = found[y]
            if leaves[leaf * LEAF_SIZE] == STEP:
                fired[leaves[leaf * LEAF_SIZE + 4]] += 1
            else:
                blocked[leaves[leaf * LEAF_SIZE + 1]] += 1
    miss_count[0] = nmiss
    return stop, n, lost + 0 * (len(ids_) + len(rows_) + len(found_) + len(edges_))


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
