"""Edit distance of typing errors: a letter deleted, inserted, replaced, or swapped with the next."""

from __future__ import annotations

import os.path


def one_edit(word: str, alphabet: str) -> set[str]:
    """Return all words that are one edit away, with the letters of an alphabet."""
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    shorter = {left + right[1:] for left, right in splits if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1}
    replaced = {left + letter + right[1:] for left, right in splits if right for letter in alphabet}
    longer = {left + letter + right for left, right in splits for letter in alphabet}
    return (shorter | swapped | replaced | longer) - {word}


def distance(first: str, second: str, *, most: int) -> int | None:
    """Return the number of edits between two words; None if it is more than `most`.

    This is the optimal string alignment distance: no letter is edited twice.
    """
    # Replacing a letter changes at most two of the letters that occur at all.
    if abs(len(first) - len(second)) > most or len({*first} ^ {*second}) > 2 * most:
        return None
    start = len(os.path.commonprefix((first, second)))
    first, second = first[start:], second[start:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    if not first or not second:
        n_edits = len(first) + len(second)
        return n_edits if n_edits <= most else None
    if most == 0:
        return None
    rests = [(first[1:], second[1:]), (first[1:], second), (first, second[1:])]
    if first[:2] == second[1::-1]:
        rests.append((first[2:], second[2:]))
    further = [n for rest in rests if (n := distance(*rest, most=most - 1)) is not None]
    return 1 + min(further) if further else None
