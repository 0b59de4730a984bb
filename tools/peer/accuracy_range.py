"""Whether what seeds reach here is what another framework's seeds reach."""

import statistics


def verdict(mine, theirs):
    """Of two lists of accuracies: in words, and whether the median of `mine` passes, in the range of `theirs` that is
    widened on either side by its width."""
    median = statistics.median(mine)
    low, high = min(theirs), max(theirs)
    width = high - low
    who = f"{median:.2%}" if len(mine) == 1 else f"{median:.2%}, the median of {len(mine)} seeds,"
    spread = f"the range of {len(theirs)} seeds of PyTorch, {low:.2%} to {high:.2%}"
    if low <= median <= high:
        return f"{who} is in {spread}", True
    side = "below" if median < low else "above"
    inside = low - width <= median <= high + width
    widened = f"that range widened by its width, {low - width:.2%} to {high + width:.2%}"
    return f"{who} is {side} {spread}, and {'in' if inside else 'NOT in'} {widened}", inside
