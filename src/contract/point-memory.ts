/** The most that the points to return to of a model's slots take together: its state after some tokens, where they cannot be erased. */
export const mostPointBytes = 2 ** 30
/** And how many of them a slot keeps. */
export const mostPoints = 32
