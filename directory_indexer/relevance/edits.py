"""Typing errors as edits: a letter left out, put in, taken for another, or swapped with the next."""

from __future__ import annotations

import os.path


def one_edit(word: str, alphabet: str) -> set[str]:
    """Give all that a word becomes by one edit with the letters of an alphabet."""
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    shorter = {left + right[1:] for left, right in splits if right}
    swapped = {left + right[1] + right[0] + right[2:] for left, right in splits if len(right) > 1}
    replaced = {left + letter + right[1:] for left, right in splits if right for letter in alphabet}
    longer = {left + letter + right for left, right in splits for letter in alphabet}
    return (shorter | swapped | replaced | longer) - {word}


def distance(one: str, other: str, *, most: int) -> int | None:
    """Count the edits that make one word of another, if they are no more than `most`.

    This is the distance of optimal string alignment: no letter is edited twice.
    """
    # Taking one letter for another changes two of the letters that occur at all.
    if abs(len(one) - len(other)) > most or len({*one} ^ {*other}) > 2 * most:
        return None
    start = len(os.path.commonprefix((one, other)))
    one, other = one[start:], other[start:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    if not one or not other:
        n_edits = len(one) + len(other)
        return n_edits if n_edits <= most else None
    if most == 0:
        return None
    rests = [(one[1:], other[1:]), (one[1:], other), (one, other[1:])]
    if one[:2] == other[1::-1]:
        rests.append((one[2:], other[2:]))
    further = [n for rest in rests if (n := distance(*rest, most=most - 1)) is not None]
    return 1 + min(further) if further else None
