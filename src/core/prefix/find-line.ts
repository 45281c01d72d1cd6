import { commonLength, type Turn } from './turn.ts'

type Lines = {
  /** The new lines of the session, the latest first. */
  readonly lines: readonly Turn[]
  /** The turn before, of the line that the turn continues; undefined for a line of its own. */
  readonly before?: Turn
}

/**
 * Finds the line of a session that a turn continues: among lines with the same first question, the one that has most in common with it, or
 * else a shorter one with the same beginning. (1) A turn that extends a line with an answer replaces it; without one, it is a branch. (2) A
 * turn that is the beginning of a line is a repetition. (3) A different turn that is not longer is another line: an edited question, a
 * summary, a subordinate agent; unless it ends alike, and `isSimilar` in the message that differs first. (4) A different longer one has
 * diverged.
 */
export function findLine(
  lines: readonly Turn[],
  turn: Turn,
  isSimilar: (line: Turn, index: number) => boolean = () => false,
): Lines {
  const before = closestLine(lines, turn)
  if (before === undefined) return { lines: [turn, ...lines] }
  const others = lines.filter((other) => other !== before)
  const common = commonLength(before, turn)
  const count = turn.messages.length
  const isShorter = count <= before.messages.length
  if (isShorter && common === count) {
    // The latest tools count.
    const isWhole = count === before.messages.length
    const isSame = before.tools === turn.tools && before.settings === turn.settings
    return { lines: [isWhole ? turn : isSame ? before : { ...turn, messages: before.messages }, ...others], before }
  }
  if (common < before.messages.length && isShorter) {
    const endsAlike = before.messages[count - 1] === turn.messages[count - 1] && before.tools === turn.tools
    return endsAlike && isSimilar(before, common) ? { lines: [turn, ...others], before } : { lines: [turn, ...lines] }
  }
  const isBranch = common === before.messages.length && (turn.messages[common] ?? 0) > 0
  return { lines: [turn, ...(isBranch ? [before] : []), ...others], before }
}

function closestLine(lines: readonly Turn[], turn: Turn): Turn | undefined {
  const isAlike = (line: Turn) =>
    line.question === turn.question || (commonLength(line, turn) > 0 && line.messages.length < turn.messages.length)
  // A line that the turn extends wins against one that has as much in common.
  const rank = (line: Turn) => {
    const common = commonLength(line, turn)
    return 2 * common + (common === line.messages.length ? 1 : 0)
  }
  let best: Turn | undefined
  for (const line of lines) if (isAlike(line) && (best === undefined || rank(line) > rank(best))) best = line
  return best
}
