"""Whether an accuracy is what another framework's seeds reach."""


def verdict(mine, theirs):
    """In words, and whether it passes: in their range, widened on either side by its width."""
    low, high = min(theirs), max(theirs)
    width = high - low
    spread = f"{low:.2%} to {high:.2%}"
    if low <= mine <= high:
        return f"{mine:.2%} is in the range of {len(theirs)} seeds, {spread}", True
    side = "below" if mine < low else "above"
    inside = low - width <= mine <= high + width
    widened = f"that range widened by its width, {low - width:.2%} to {high + width:.2%}"
    return (f"{mine:.2%} is {side} the range of {len(theirs)} seeds, {spread}, and {'in' if inside else 'NOT in'} {widened}",
            inside)
